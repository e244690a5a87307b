import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Subprocess } from 'bun'
import type { Embedder } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import {
  type EmbeddingAnswer,
  type EmbeddingRequest,
  MINI_LM_CHARS_MAX,
  MINI_LM_DIMENSIONS,
  MINI_LM_TOKENS_AT_ONCE,
  MINI_LM_TOKENS_MAX,
} from './embedding-protocol.ts'

/** How many vectors of single texts, such as queries, are cached, at about 2 KB each. */
const RECENT_TEXTS_MAX = 256
const RECENT_TEXT_CHARS_MAX = 2000

interface BuiltinEmbedderOptions {
  readonly modelFolder: string
  readonly entryUrl: string
  /** Not the server's own environment, because that contains keys. */
  readonly environment: Readonly<Record<string, string>>
  /** Each has its own copy of the model. The second one starts when there is much to embed. */
  readonly processesMax: number
}

/** More processes would leave no core for anything else. */
const PROCESSES_MAX = 2

export function builtinEmbedderOptions(
  environment: BuiltinEmbedderOptions['environment'] = {},
): BuiltinEmbedderOptions {
  return {
    modelFolder: fileURLToPath(new URL('../../../assets/all-MiniLM-L6-v2-int8', import.meta.url)),
    entryUrl: new URL('../../wiring/threads/embedder-entry.ts', import.meta.url).href,
    environment,
    processesMax: Math.min(PROCESSES_MAX, availableParallelism()),
  }
}

/** Every text is surrounded by [CLS] and [SEP]. */
const FRAME_TOKENS = 2

/** A larger job is split into parts of this size, so that no process is idle. */
const WHOLE_JOB_CHARS_MAX = 4096
const TEXTS_PER_PART = 8
/** One part is being embedded while the next one waits. */
const PARTS_PER_PROCESS = 2
/** The second process takes about 80 MB. It ends after this long without a large job. */
const SECOND_IDLE_MS = 60_000

/** In separate processes: ONNX Runtime ends its process when a memory allocation fails. */
export class BuiltinEmbedder implements Embedder {
  readonly reach = {
    tokensMax: MINI_LM_TOKENS_MAX + FRAME_TOKENS,
    frameTokens: FRAME_TOKENS,
    tokensAtOnce: MINI_LM_TOKENS_AT_ONCE,
    tokenizer: 'word_piece',
  } as const
  readonly #options: BuiltinEmbedderOptions
  readonly #recent = new LruMap<string, Float32Array>({ sizeMax: RECENT_TEXTS_MAX })
  readonly #processes: EmbeddingProcess[] = []
  #secondIdle: Timer | undefined
  #isClosed = false

  constructor(options: BuiltinEmbedderOptions = builtinEmbedderOptions()) {
    this.#options = options
  }

  /** Loads the model, so that the first text need not wait for it. */
  start(): void {
    this.#running(1)
  }

  /** 384 dimensions, length 1. @throws AppError `provider_failed`, `too_busy`, `shutting_down` */
  async embed(
    texts: readonly string[],
    signal: AbortSignal,
    onEmbedded: (textCount: number) => void = () => {},
  ): Promise<readonly Float32Array[]> {
    signal.throwIfAborted()
    if (texts.length === 0) return []
    const query = texts.length === 1 ? texts[0] : undefined
    const known = query === undefined ? undefined : this.#recent.get(query)
    if (known !== undefined) return [known.slice()]
    const shortened = texts.map((text) => text.slice(0, MINI_LM_CHARS_MAX))
    const vectors = await this.#embedAll(shortened, signal, onEmbedded)
    const [vector] = vectors
    if (query !== undefined && vector !== undefined && query.length <= RECENT_TEXT_CHARS_MAX) {
      // A copy, because the caller may change its vector.
      this.#recent.set(query, vector.slice())
    }
    return vectors
  }

  /** Ends the processes; pending texts fail with `shutting_down`. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#secondIdle)
    await Promise.all(this.#processes.map((process) => process.close()))
  }

  async #embedAll(
    texts: readonly string[],
    signal: AbortSignal,
    onEmbedded: (textCount: number) => void,
  ): Promise<readonly Float32Array[]> {
    const { processesMax } = this.#options
    const chars = texts.reduce((sum, { length }) => sum + length, 0)
    if (processesMax === 1 || texts.length === 1 || chars <= WHOLE_JOB_CHARS_MAX) {
      const vectors = await this.#running(1).embed(texts, { isPart: false }, signal)
      onEmbedded(texts.length)
      return vectors
    }
    const parts: (readonly string[])[] = []
    for (let start = 0; start < texts.length; start += TEXTS_PER_PART) {
      parts.push(texts.slice(start, start + TEXTS_PER_PART))
    }
    const bounds = { concurrencyMax: PARTS_PER_PROCESS * processesMax, signal }
    const vectors = await mapConcurrent(parts, bounds, async (part, ended) => {
      const some = await this.#running(processesMax).embed(part, { isPart: true }, ended)
      onEmbedded(part.length)
      return some
    })
    clearTimeout(this.#secondIdle)
    this.#secondIdle = setTimeout(() => this.#endSecond(), SECOND_IDLE_MS)
    this.#secondIdle.unref()
    return vectors.flat()
  }

  #endSecond(): void {
    const second = this.#processes[1]
    if (second?.waitingTexts !== 0) return
    this.#processes.length = 1
    void second.close()
  }

  #running(processes: number): EmbeddingProcess {
    if (this.#isClosed) throw new AppError('shutting_down', 'The embedding model is closed')
    const count = Math.max(processes, this.#processes.length)
    for (let index = 0; index < count; index += 1) {
      if (this.#processes[index]?.hasEnded !== false) {
        this.#processes[index] = new EmbeddingProcess(this.#options)
      }
    }
    return this.#processes.reduce((least, other) => {
      return other.waitingTexts < least.waitingTexts ? other : least
    })
  }
}

/** The limit for waiting jobs; further ones are refused. */
const JOBS_MAX = 1000

class EmbeddingProcess {
  readonly #process: Subprocess
  readonly #pending = new Map<
    number,
    {
      readonly textCount: number
      resolve(vectors: readonly Float32Array[]): void
      reject(error: unknown): void
    }
  >()
  #nextId = 1
  #hasEnded = false
  #waitingTexts = 0

  constructor({ entryUrl, environment, modelFolder }: BuiltinEmbedderOptions) {
    const path = fileURLToPath(entryUrl)
    this.#process = Bun.spawn([process.execPath, '--no-env-file', path], {
      // A folder without files that Bun would load on its own, such as .env.
      cwd: dirname(path),
      env: environment,
      stdio: ['ignore', 'ignore', 'ignore'],
      serialization: 'advanced',
      // The process runs Eider's own code and sends nothing else.
      ipc: (answer: unknown) => this.#receive(answer as EmbeddingAnswer),
      onExit: (_process, exitCode, signal) => {
        this.#end(failed('stopped unexpectedly', `exit code ${exitCode}, signal ${signal}`))
      },
    })
    // So that an idle process does not keep the server running.
    this.#process.unref()
    this.#send({ kind: 'load', folder: modelFolder })
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  get waitingTexts(): number {
    return this.#waitingTexts
  }

  async embed(
    texts: readonly string[],
    { isPart }: { readonly isPart: boolean },
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    if (this.#pending.size >= JOBS_MAX) {
      throw new AppError('too_busy', `More than ${JOBS_MAX} embedding requests are waiting`)
    }
    const id = this.#nextId
    this.#nextId += 1
    const answer = Promise.withResolvers<readonly Float32Array[]>()
    this.#pending.set(id, { ...answer, textCount: texts.length })
    this.#process.ref()
    this.#waitingTexts += texts.length
    this.#send({ kind: 'embed', id, texts, isPart })
    const stopListening = onAbort(signal, () => {
      this.#send({ kind: 'cancel', id })
      answer.reject(signal.reason)
    })
    try {
      return await answer.promise
    } finally {
      stopListening()
      this.#pending.delete(id)
      this.#waitingTexts -= texts.length
      if (this.#pending.size === 0) this.#process.unref()
    }
  }

  async close(): Promise<void> {
    this.#end(new AppError('shutting_down', 'The embedding model is being closed'))
    await this.#process.exited
  }

  #send(request: EmbeddingRequest): void {
    try {
      this.#process.send(request)
    } catch {
      // The process has ended, which onExit reports.
    }
  }

  #receive(answer: EmbeddingAnswer): void {
    if (answer.kind === 'unusable') {
      this.#end(failed('could not be loaded: its files are missing or damaged', answer.reason))
      return
    }
    // An aborted job was removed, but its answer may still arrive.
    const job = this.#pending.get(answer.id)
    if (job === undefined) return
    if (answer.kind === 'failed') job.reject(failed('failed', answer.reason))
    else job.resolve(vectorsOf(answer.vectors, job.textCount))
  }

  #end(error: AppError): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#process.kill('SIGKILL')
    for (const job of this.#pending.values()) job.reject(error)
  }
}

/** The reason may contain server file names, so it is only logged. */
function failed(what: string, reason: unknown): AppError {
  return new AppError('provider_failed', `The built-in embedding model ${what}`, { cause: reason })
}

function vectorsOf(all: Float32Array, textCount: number): readonly Float32Array[] {
  return Array.from({ length: textCount }, (_, index) => {
    return all.subarray(index * MINI_LM_DIMENSIONS, (index + 1) * MINI_LM_DIMENSIONS)
  })
}
