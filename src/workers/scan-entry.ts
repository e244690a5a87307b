/** A scanning thread: vectors in shared memory, joined to the thread's messages. */
import { parentPort } from 'node:worker_threads'
import { ScanThread, type ToScanThread } from '../retrieval/vectors/scan-thread.ts'

const port = parentPort
if (port === null) throw new Error('This file is the entry of a worker thread')

const thread = new ScanThread((answer) => port.postMessage(answer))

port.on('message', (message: ToScanThread) => thread.receive(message))
