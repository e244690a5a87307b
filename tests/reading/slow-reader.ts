/** A reader process in which every file takes a moment. */
import { writeFileSync } from 'node:fs'
import type { ReadingJob } from '../../src/reading/processes/reading-messages.ts'

process.on('message', ({ id, folder }: ReadingJob) => {
  setTimeout(() => {
    writeFileSync(`${folder}/documents.jsonl`, '')
    const summary = {
      format: 'text',
      recognized: {},
      warnings: [],
      tables: [],
      documentCount: 0,
      archive: null,
    }
    process.send?.({ kind: 'read', id, summary })
  }, 2)
})
