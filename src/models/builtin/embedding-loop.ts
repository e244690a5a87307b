import { yieldToEventLoop } from '../../runtime/scheduling.ts'
import {
  type EmbeddingAnswer,
  type EmbeddingRequest,
  MINI_LM_DIMENSIONS,
} from './embedding-protocol.ts'
import { EmbeddingQueue } from './embedding-queue.ts'
import { MiniLm } from './mini-lm.ts'

/** What the loop needs of the thread it runs in. */
export interface EmbeddingThread {
  post(answer: EmbeddingAnswer, transfer: readonly ArrayBuffer[]): void
  end(): void
}

type EmbeddingModel = Pick<MiniLm, 'parts' | 'embed'>

/** Embeds what is asked for, part by part of each text, and reads its requests between two of them. */
export class EmbeddingLoop {
  readonly #thread: EmbeddingThread
  readonly #loadModel: (folder: string) => Promise<EmbeddingModel>
  readonly #queue = new EmbeddingQueue()
  /** Texts that are not cut into tokens yet. */
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
      this.#thread.post({ kind: 'unusable', reason: reasonOf(error) }, [])
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
      this.#thread.post({ kind: 'failed', id: task.jobId, reason: reasonOf(error) }, [])
    }
    // Two turns of the event loop: the requests that came meanwhile are read in the first.
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

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
