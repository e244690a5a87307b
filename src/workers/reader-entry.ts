/** The reader thread: what others wrote becomes text here, where it can be stopped. */
import { parentPort } from 'node:worker_threads'
import { answerJob, type ReaderJob } from '../ingest/readers/reader-job.ts'

const port = parentPort
if (port === null) throw new Error('This file is the entry of a worker thread')

port.on('message', async (job: ReaderJob) => {
  port.postMessage(await answerJob(job))
})
