/** The thread that parses large statements, which would block the main thread. */
import { parentPort } from 'node:worker_threads'
import { PlanningThread, type ToPlanningThread } from '../../query/select/planning-protocol.ts'

const plannerPort = parentPort
if (plannerPort === null) throw new Error('This file is the entry of a worker thread')

const thread = new PlanningThread((message) => plannerPort.postMessage(message))

plannerPort.on('message', (message: ToPlanningThread) => {
  void thread.receive(message)
})
