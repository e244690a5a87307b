/** The embedding thread: holds the built-in model and embeds what the main thread sends. */
import type { EmbeddingAnswer, EmbeddingRequest } from '../models/builtin/embedding-protocol.ts'
import { EmbeddingQueue } from '../models/builtin/embedding-queue.ts'
import { MINI_LM_DIMENSIONS, MiniLm } from '../models/builtin/mini-lm.ts'

/** Of `onmessage` and `postMessage` alone, with the messages of the protocol. */
interface EmbeddingThread {
  onmessage: ((event: { readonly data: EmbeddingRequest }) => void) | null
  postMessage(answer: EmbeddingAnswer, transfer: readonly ArrayBuffer[]): void
}

// Within a worker the global scope is the thread; the DOM's types know only a window.
const thread = globalThis as unknown as EmbeddingThread

const queue = new EmbeddingQueue()
/** Texts that came before the model was there or are not cut into tokens yet. */
const arrived = new Map<number, readonly string[]>()
let model: MiniLm | null = null
let isWorking = false
let isStopping = false

thread.onmessage = ({ data }) => {
  if (data.kind === 'load') void load(data.folder)
  if (data.kind === 'embed') arrived.set(data.id, data.texts)
  if (data.kind === 'cancel') {
    arrived.delete(data.id)
    queue.cancel(data.id)
  }
  if (data.kind === 'stop') isStopping = true
  void work()
}

async function load(folder: string): Promise<void> {
  try {
    model = await MiniLm.load(folder)
  } catch (error) {
    thread.postMessage({ kind: 'unusable', reason: reasonOf(error) }, [])
    process.exit(0)
  }
  void work()
}

/** Embeds batch by batch until nothing waits. Between batches the thread reads its messages. */
async function work(): Promise<void> {
  if (model === null || isWorking) return
  isWorking = true
  while (!isStopping) {
    for (const [id, texts] of arrived) enqueue(model, id, texts)
    arrived.clear()
    if (!(await embedNext(model))) break
  }
  isWorking = false
  if (isStopping) process.exit(0)
}

function enqueue(ready: MiniLm, id: number, texts: readonly string[]): void {
  const sequences = texts.map((text) => ready.tokens(text))
  queue.add(id, sequences)
}

async function embedNext(ready: MiniLm): Promise<boolean> {
  const batch = queue.next()
  if (batch === null) return false
  try {
    const vectors = batch.complete(await ready.embed(batch.sequences))
    if (vectors !== null) answer(batch.jobId, vectors)
  } catch (error) {
    queue.cancel(batch.jobId)
    thread.postMessage({ kind: 'failed', id: batch.jobId, reason: reasonOf(error) }, [])
  }
  // `MiniLm.embed` runs in a later turn of the event loop, so messages had theirs.
  await new Promise((resolve) => setImmediate(resolve))
  return true
}

function answer(id: number, vectors: readonly Float32Array[]): void {
  const buffer = new ArrayBuffer(vectors.length * MINI_LM_DIMENSIONS * 4)
  const all = new Float32Array(buffer)
  for (const [index, vector] of vectors.entries()) all.set(vector, index * MINI_LM_DIMENSIONS)
  thread.postMessage({ kind: 'vectors', id, vectors: all }, [buffer])
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
