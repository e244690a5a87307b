/** A reader thread: what others wrote becomes text and chunks here, where it can be stopped. */
import { parentPort } from 'node:worker_threads'
import { Analyzers } from '../analysis/analyzer.ts'
import { answerJob, type ReaderJob, transfersOf } from '../ingest/readers/reader-job.ts'

const port = parentPort
if (port === null) throw new Error('This file is the entry of a worker thread')

const analyzers = new Analyzers()

port.on('message', async (job: ReaderJob) => {
  const answer = await answerJob(job, analyzers)
  port.postMessage(answer, [...transfersOf(answer)])
})
