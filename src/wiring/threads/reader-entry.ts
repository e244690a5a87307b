/** A thread that chunks texts and matches patterns. Unlike the main thread, it can be stopped. */
import { parentPort } from 'node:worker_threads'
import { Analyzers } from '../../core/text/analyzer.ts'
import { answerJob, type ReaderJob, transfersOf } from '../../ingest/readers/reader-job.ts'
import { builtinTokenCounter } from '../../models/builtin/word-piece-counter.ts'

const port = parentPort
if (port === null) throw new Error('This file is the entry of a worker thread')

const tools = { analyzers: new Analyzers(), wordPieces: builtinTokenCounter() }

port.on('message', (job: ReaderJob) => {
  const answer = answerJob(job, tools)
  port.postMessage(answer, [...transfersOf(answer)])
})
