/** The planning thread: large statements, whose trees would hold the main thread, joined to the thread's messages. */
import { parentPort } from 'node:worker_threads'
import type { ToPlanningThread } from '../query/select/planning-protocol.ts'
import { PlanningThread } from '../query/select/planning-thread.ts'

const port = parentPort
if (port === null) throw new Error('This file is the entry of a worker thread')

const thread = new PlanningThread((message) => port.postMessage(message))

port.on('message', (message: ToPlanningThread) => {
  void thread.receive(message)
})
