import { join } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { errorText } from '../../core/errors.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import {
  type EmbeddingAnswer,
  type EmbeddingRequest,
  MINI_LM_DIMENSIONS,
  MINI_LM_TOKENS_AT_ONCE,
  MINI_LM_TOKENS_MAX,
} from './embedding-protocol.ts'
import { WordPiece } from './word-piece.ts'

type EmbeddingModel = Pick<MiniLm, 'parts' | 'embed'>

/** Embeds texts part by part, and accepts new requests in between. */
export class EmbeddingLoop {
  readonly #send: (answer: EmbeddingAnswer) => void
  readonly #loadModel: (folder: string) => Promise<EmbeddingModel>
  readonly #queue = new EmbeddingQueue()
  /** Texts not tokenized yet. */
  readonly #arrived = new Map<
    number,
    { readonly texts: readonly string[]; readonly isPart: boolean }
  >()
  #model: EmbeddingModel | null = null
  #isWorking = false

  constructor(
    send: (answer: EmbeddingAnswer) => void,
    loadModel: (folder: string) => Promise<EmbeddingModel> = MiniLm.load,
  ) {
    this.#send = send
    this.#loadModel = loadModel
  }

  async receive(request: EmbeddingRequest): Promise<void> {
    if (request.kind === 'load') await this.#load(request.folder)
    if (request.kind === 'embed') this.#arrived.set(request.id, request)
    if (request.kind === 'cancel') this.#cancel(request.id)
    await this.#work()
  }

  #cancel(id: number): void {
    this.#arrived.delete(id)
    this.#queue.cancel(id)
  }

  async #load(folder: string): Promise<void> {
    try {
      this.#model = await this.#loadModel(folder)
    } catch (error) {
      this.#send({ kind: 'unusable', reason: errorText(error) })
    }
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return
    this.#isWorking = true
    const model = this.#model
    while (model !== null) {
      this.#enqueueArrived(model)
      if (!(await this.#embedNext(model))) break
    }
    this.#isWorking = false
  }

  #enqueueArrived(model: EmbeddingModel): void {
    for (const [id, { texts, isPart }] of this.#arrived) {
      this.#queue.add(
        id,
        texts.map((text) => model.parts(text)),
        isPart,
      )
    }
    this.#arrived.clear()
  }

  /** @returns whether there was work */
  async #embedNext(model: EmbeddingModel): Promise<boolean> {
    const task = this.#queue.next()
    if (task === null) return false
    try {
      const vectors = task.complete(await model.embed(task.tokens))
      if (vectors !== null) this.#answer(task.jobId, vectors)
    } catch (error) {
      this.#queue.cancel(task.jobId)
      this.#send({ kind: 'failed', id: task.jobId, reason: errorText(error) })
    }
    // Two turns of the event loop; new requests are read in the first one.
    await yieldToEventLoop()
    await yieldToEventLoop()
    return true
  }

  #answer(id: number, vectors: readonly Float32Array[]): void {
    const all = new Float32Array(vectors.length * MINI_LM_DIMENSIONS)
    for (const [index, vector] of vectors.entries()) all.set(vector, index * MINI_LM_DIMENSIONS)
    this.#send({ kind: 'vectors', id, vectors: all })
  }
}

/** ONNX Runtime's log level "error". Warnings would appear on the server's standard error. */
const LOG_ERRORS_ONLY = 3

/**
 * all-MiniLM-L6-v2: the mean of the attended tokens' last hidden states, then L2 normalisation.
 * Source: Reimers and Gurevych 2019 (arXiv 1908.10084), Wang et al. 2020 (arXiv 2002.10957).
 *
 * Texts are embedded one by one, never in batches. Activations are quantised per call, so other
 * texts in a batch would shift a vector (by a cosine of up to 0.016), and a chunk would differ from
 * a query with the same words. This costs nothing for chunks of 100 words, but halves the speed for
 * rows of a few words.
 */
class MiniLm {
  readonly #session: InferenceSession
  readonly #wordPiece: WordPiece

  private constructor(session: InferenceSession, wordPiece: WordPiece) {
    this.#session = session
    this.#wordPiece = wordPiece
  }

  /** @param folder contains `model.onnx` and `vocab.txt` */
  static async load(folder: string): Promise<MiniLm> {
    const vocabulary = await Bun.file(join(folder, 'vocab.txt')).text()
    const session = await InferenceSession.create(join(folder, 'model.onnx'), {
      executionProviders: ['cpu'],
      graphOptimizationLevel: 'all',
      // One process per core, because threads of one session wait for each other at every step.
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      logSeverityLevel: LOG_ERRORS_ONLY,
      // Spinning threads would waste a core that the SQL engine needs.
      extra: { session: { intra_op: { allow_spinning: '0' } } },
    })
    return new MiniLm(session, new WordPiece(vocabulary))
  }

  /** The token ids of a text, in the parts that `embed` reads one at a time. */
  parts(text: string): readonly (readonly number[])[] {
    return this.#wordPiece.encodeInParts(text, MINI_LM_TOKENS_MAX, MINI_LM_TOKENS_AT_ONCE)
  }

  /** The vector of one part, with length 1. Blocks the process for 2 to 30 ms. */
  async embed(tokens: readonly number[]): Promise<Float32Array> {
    const shape = [1, tokens.length]
    const ids = BigInt64Array.from(tokens, (id) => BigInt(id))
    const output = await this.#session.run({
      input_ids: new Tensor('int64', ids, shape),
      attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
      token_type_ids: new Tensor('int64', new BigInt64Array(ids.length), shape),
    })
    const hidden = output.last_hidden_state?.data
    if (!(hidden instanceof Float32Array)) throw new Error('The model gave no last_hidden_state')
    return pooled(hidden)
  }
}

/** The mean of the tokens' states, scaled to length 1. */
function pooled(states: Float32Array): Float32Array {
  const vector = new Float32Array(MINI_LM_DIMENSIONS)
  for (let offset = 0; offset < states.length; offset += MINI_LM_DIMENSIONS) {
    for (let index = 0; index < MINI_LM_DIMENSIONS; index += 1) {
      vector[index] = (vector[index] ?? 0) + (states[offset + index] ?? 0)
    }
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return length === 0 ? vector : vector.map((value) => value / length)
}

/** Jobs of at most this many tokens (a query, an answer's sentences) overtake larger ones. */
const SMALL_JOB_TOKENS_MAX = 1024
/** After this many consecutive texts of small jobs, a large job gets its turn. */
const OVERTAKES_MAX = 32

type TokenParts = readonly (readonly number[])[]

interface Job {
  readonly id: number
  readonly texts: readonly TokenParts[]
  readonly sequences: readonly (readonly number[])[]
  readonly vectors: Float32Array[]
  readonly isSmall: boolean
}

/** Chooses the next part to embed: small jobs overtake large ones, equal jobs take turns. */
export class EmbeddingQueue {
  #jobs: Job[] = []
  #overtakes = 0

  /** @param isPart whether this is part of a larger job */
  add(id: number, texts: readonly TokenParts[], isPart = false): void {
    const sequences = texts.flat()
    const tokenCount = sequences.reduce((sum, tokens) => sum + tokens.length, 0)
    const isSmall = !isPart && tokenCount <= SMALL_JOB_TOKENS_MAX
    this.#jobs.push({ id, texts, sequences, vectors: [], isSmall })
  }

  cancel(id: number): void {
    this.#jobs = this.#jobs.filter((job) => job.id !== id)
  }

  next(): {
    readonly jobId: number
    readonly tokens: readonly number[]
    /** @returns all vectors of the job in text order, once the last one is complete */
    complete(vector: Float32Array): readonly Float32Array[] | null
  } | null {
    const job = this.#nextJob()
    const tokens = job?.sequences[job.vectors.length]
    if (job === undefined || tokens === undefined) return null
    this.cancel(job.id)
    // Moves the job to the end of the queue, so that others get their turn. After its last text it
    // is removed.
    if (job.vectors.length + 1 < job.sequences.length) this.#jobs.push(job)
    return {
      jobId: job.id,
      tokens,
      complete(vector) {
        job.vectors.push(vector)
        return job.vectors.length === job.sequences.length ? textVectors(job) : null
      },
    }
  }

  #nextJob(): Job | undefined {
    const small = this.#jobs.find((job) => job.isSmall)
    const large = this.#jobs.find((job) => !job.isSmall)
    const isLargeDue = large !== undefined && this.#overtakes >= OVERTAKES_MAX
    const job = small === undefined || isLargeDue ? large : small
    this.#overtakes = job?.isSmall && large !== undefined ? this.#overtakes + 1 : 0
    return job
  }
}

function textVectors({ texts, vectors }: Job): readonly Float32Array[] {
  let first = 0
  return texts.map((parts) => {
    const own = vectors.slice(first, first + parts.length)
    first += parts.length
    const [vector] = own
    return own.length === 1 && vector !== undefined ? vector : meanVector(own, parts)
  })
}

/** The mean of the parts' vectors, weighted by their number of tokens and scaled to length 1. */
function meanVector(vectors: readonly Float32Array[], parts: TokenParts): Float32Array {
  const mean = new Float32Array(vectors[0]?.length ?? 0)
  for (const [part, vector] of vectors.entries()) {
    const weight = parts[part]?.length ?? 0
    for (const [index, value] of vector.entries()) mean[index] = (mean[index] ?? 0) + weight * value
  }
  const length = Math.hypot(...mean)
  return length === 0 ? mean : mean.map((value) => value / length)
}
