/** A thread that chunks texts and matches patterns. Unlike the main thread, it can be stopped. */
import { parentPort } from 'node:worker_threads'
import { answerJob, type ReaderJob, transfersOf } from '../../ingest/readers/reader-job.ts'
import { builtinTokenCounter } from '../../models/builtin/word-piece-counter.ts'

const port = parentPort
if (port === null) throw new Error('This file is the entry of a worker thread')

const wordPieces = builtinTokenCounter()

port.on('message', (job: ReaderJob) => {
  const answer = answerJob(job, wordPieces)
  port.postMessage(answer, [...transfersOf(answer)])
})
