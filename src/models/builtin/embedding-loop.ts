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
import { EmbeddingQueue } from './embedding-queue.ts'
import { WordPiece } from './word-piece.ts'

/** The loop's requirements on its thread. */
export interface EmbeddingThread {
  post(answer: EmbeddingAnswer, transfer: readonly ArrayBuffer[]): void
  end(): void
}

type EmbeddingModel = Pick<MiniLm, 'parts' | 'embed'>

/** Embeds requested texts, part by part, and reads new requests between two parts. */
export class EmbeddingLoop {
  readonly #thread: EmbeddingThread
  readonly #loadModel: (folder: string) => Promise<EmbeddingModel>
  readonly #queue = new EmbeddingQueue()
  /** Texts not tokenized yet. */
  readonly #arrived = new Map<
    number,
    { readonly texts: readonly string[]; readonly isPart: boolean }
  >()
  #model: EmbeddingModel | null = null
  #isWorking = false
  #isStopping = false

  constructor(
    thread: EmbeddingThread,
    loadModel: (folder: string) => Promise<EmbeddingModel> = MiniLm.load,
  ) {
    this.#thread = thread
    this.#loadModel = loadModel
  }

  async receive(request: EmbeddingRequest): Promise<void> {
    if (request.kind === 'load') await this.#load(request.folder)
    if (request.kind === 'embed') this.#arrived.set(request.id, request)
    if (request.kind === 'cancel') this.#cancel(request.id)
    if (request.kind === 'stop') this.#isStopping = true
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
      this.#thread.post({ kind: 'unusable', reason: errorText(error) }, [])
      this.#thread.end()
    }
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return
    this.#isWorking = true
    const model = this.#model
    while (model !== null && !this.#isStopping) {
      this.#enqueueArrived(model)
      if (!(await this.#embedNext(model))) break
    }
    this.#isWorking = false
    if (this.#isStopping) this.#thread.end()
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

  /** @returns whether there was anything to do. */
  async #embedNext(model: EmbeddingModel): Promise<boolean> {
    const task = this.#queue.next()
    if (task === null) return false
    try {
      const vectors = task.complete(await model.embed(task.tokens))
      if (vectors !== null) this.#answer(task.jobId, vectors)
    } catch (error) {
      this.#queue.cancel(task.jobId)
      this.#thread.post({ kind: 'failed', id: task.jobId, reason: errorText(error) }, [])
    }
    // Two turns of the event loop: new requests are read in the first.
    await yieldToEventLoop()
    await yieldToEventLoop()
    return true
  }

  #answer(id: number, vectors: readonly Float32Array[]): void {
    const buffer = new ArrayBuffer(vectors.length * MINI_LM_DIMENSIONS * 4)
    const all = new Float32Array(buffer)
    for (const [index, vector] of vectors.entries()) all.set(vector, index * MINI_LM_DIMENSIONS)
    this.#thread.post({ kind: 'vectors', id, vectors: all }, [buffer])
  }
}

/** ONNX Runtime's level "error": its warnings would go to the server's standard error. */
const LOG_ERRORS_ONLY = 3

/**
 * all-MiniLM-L6-v2: mean of the attended tokens' last hidden state, then L2 normalisation.
 * Source: Reimers and Gurevych 2019 (arXiv 1908.10084), Wang et al. 2020 (arXiv 2002.10957).
 *
 * Texts are embedded one by one, never in batches: activations are quantised per call, so the other
 * texts of a batch would move a vector (by a cosine of up to 0.016), and a chunk would not be equal
 * to a query with its words. That costs nothing for chunks of 100 words, and half
 * the speed for rows of a few words.
 */
class MiniLm {
  readonly #session: InferenceSession
  readonly #wordPiece: WordPiece

  private constructor(session: InferenceSession, wordPiece: WordPiece) {
    this.#session = session
    this.#wordPiece = wordPiece
  }

  /** @param folder holds `model.onnx` and `vocab.txt`. */
  static async load(folder: string): Promise<MiniLm> {
    const vocabulary = await Bun.file(join(folder, 'vocab.txt')).text()
    const session = await InferenceSession.create(join(folder, 'model.onnx'), {
      executionProviders: ['cpu'],
      graphOptimizationLevel: 'all',
      // There is a session per core instead: threads of one wait for each other at every step.
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      logSeverityLevel: LOG_ERRORS_ONLY,
      // Spinning threads would burn a core between batches that the SQL engine needs.
      extra: { session: { intra_op: { allow_spinning: '0' } } },
    })
    return new MiniLm(session, new WordPiece(vocabulary))
  }

  /** Token ids of a text for `embed`, separately for each part read at once. */
  parts(text: string): readonly (readonly number[])[] {
    return this.#wordPiece.encodeInParts(text, MINI_LM_TOKENS_MAX, MINI_LM_TOKENS_AT_ONCE)
  }

  /** The vector of one part, of length 1. It blocks the thread for 2 to 30 ms. */
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

  /** Frees the model's memory. */
  async close(): Promise<void> {
    await this.#session.release()
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
