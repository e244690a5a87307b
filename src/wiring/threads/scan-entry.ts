/** A thread that searches vectors in shared memory. */
import { parentPort } from 'node:worker_threads'
import { ScanThread, type ToScanThread } from '../../retrieval/vectors/scan-thread.ts'

const scanPort = parentPort
if (scanPort === null) throw new Error('This file is the entry of a worker thread')

const thread = new ScanThread((answer) => scanPort.postMessage(answer))

scanPort.on('message', (message: ToScanThread) => thread.receive(message))
