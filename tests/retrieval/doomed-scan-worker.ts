/** A scanning thread that ends with each scan, without a message. */
import { parentPort } from 'node:worker_threads'
import type { ToScanThread } from '../../src/retrieval/vectors/scan-thread.ts'

const port = parentPort
if (port === null) throw new Error('This file is the entry of a worker thread')

port.on('message', (message: ToScanThread) => {
  if (message.kind === 'scan') process.exit(1)
})
