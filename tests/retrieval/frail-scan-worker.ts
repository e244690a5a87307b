/** A scanning thread that ends with its first scan when it is first started. */
import { parentPort } from 'node:worker_threads'
import { ScanThread, type ToScanThread } from '../../src/retrieval/vectors/scan-thread.ts'

const port = parentPort
if (port === null) throw new Error('This file is the entry of a worker thread')

const thread = new ScanThread((answer) => port.postMessage(answer))
const life = { isFirst: false }

port.on('message', (message: ToScanThread) => {
  if (message.kind === 'open') {
    // The slot's memory outlives the thread, and its last number counts the starts.
    life.isFirst = Atomics.add(new Int32Array(message.cancelled), 3, 1) === 0
  } else if (life.isFirst) {
    throw new Error('the first life of this thread ends here')
  }
  thread.receive(message)
})
