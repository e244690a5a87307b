/** The reading thread: what others wrote becomes text here, where it can be stopped. */
import { parentPort } from 'node:worker_threads'
import { answerReading } from '../ingest/readers/answer-reading.ts'
import type { ReadingJob } from '../ingest/readers/reading-protocol.ts'

const port = parentPort
if (port === null) throw new Error('This file is the entry of a worker thread')

port.on('message', async (job: ReadingJob) => {
  port.postMessage(await answerReading(job))
})
