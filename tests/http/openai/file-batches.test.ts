import { expect, test } from 'bun:test'
import { batchRecord } from '../../../src/api/http/openai/file-batch-routes.ts'
import type { Job, JobState } from '../../../src/core/domain/flow/job.ts'
import { knowledgeBase } from '../../support/knowledge-base.ts'

/** A batch of two files. @param rows how many of them are stored */
function batch(state: JobState, rows: number) {
  const job: Job = {
    id: 1,
    kind: 'insert',
    state,
    projectName: 'mindsdb',
    knowledgeBase: 'kb',
    title: 'Attach two files',
    createdAt: '2026-01-01 00:00:00.000000',
    startedAt: null,
    finishedAt: null,
    progress: { rows, documents: rows, chunks: rows, total: 2 },
    rate: null,
    remainingSeconds: null,
    embeddedChunks: null,
    error: null,
    errors: [],
    errorCount: 0,
  }
  const files = [1, 2].map((id) => ({ id, attributes: {}, preprocessing: null }))
  return batchRecord(knowledgeBase(), { job, files, isBatch: true, failed: new Set() })
}

// OpenAI's clients poll until no file is in progress, and then return the batch as it is.
test('a batch is complete as soon as no file is in progress', () => {
  expect(batch('running', 1)).toMatchObject({
    status: 'in_progress',
    file_counts: { in_progress: 1, completed: 1 },
  })
  expect(batch('running', 2)).toMatchObject({
    status: 'completed',
    file_counts: { in_progress: 0, completed: 2 },
  })
  expect(batch('cancelled', 1)).toMatchObject({
    status: 'cancelled',
    file_counts: { cancelled: 1, completed: 1 },
  })
})
