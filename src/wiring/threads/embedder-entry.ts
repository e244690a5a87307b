/** The embedding thread: the built-in model and its queue, joined to the thread's messages. */
import { parentPort } from 'node:worker_threads'
import { EmbeddingLoop } from '../../models/builtin/embedding-loop.ts'
import type { EmbeddingRequest } from '../../models/builtin/embedding-protocol.ts'

const embedderPort = parentPort
if (embedderPort === null) throw new Error('This file is the entry of a worker thread')

const loop = new EmbeddingLoop({
  post: (answer, transfer) => embedderPort.postMessage(answer, [...transfer]),
  end: () => process.exit(0),
})

embedderPort.on('message', (request: EmbeddingRequest) => {
  void loop.receive(request)
})
