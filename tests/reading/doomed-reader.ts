/** A reader process that harms itself in the way that the file's name says. */
import { writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { ReadingJob } from '../../src/reading/processes/reading-messages.ts'

const guardUrl = new URL('../../src/wiring/threads/reading-guard-entry.ts', import.meta.url)
const guard = new Worker(guardUrl)

const held: Uint8Array[] = []

const DEEDS: Readonly<Record<string, (job: ReadingJob) => void>> = {
  hang: () => {
    for (;;) held.length = 0
  },
  swell: () => {
    for (;;) held.push(new Uint8Array(16 * 1024 * 1024).fill(1))
  },
  flood: ({ folder }) => {
    for (let count = 0; ; count += 1) writeFileSync(`${folder}/${count}`, new Uint8Array(65_536))
  },
  crash: () => process.kill(process.pid, 'SIGSEGV'),
  exit: () => process.exit(3),
  nonsense: ({ id }) => process.send?.({ kind: 'read', id, summary: { format: 'a' } }),
  escape: ({ id }) => {
    const table = { name: null, path: '../../catalog', columns: [], rowCount: 1 }
    const found = { format: 'csv', recognized: {}, warnings: [], documentCount: 0 }
    process.send?.({ kind: 'read', id, summary: { ...found, tables: [table], archive: null } })
  },
  broken: ({ id, folder }) => {
    writeFileSync(`${folder}/documents.jsonl`, '{"content":')
    const found = { format: 'text', recognized: {}, warnings: [], documentCount: 1 }
    process.send?.({ kind: 'read', id, summary: { ...found, tables: [], archive: null } })
  },
  environment: ({ id, folder }) => {
    const line = {
      id: null,
      content: JSON.stringify(Object.keys(process.env)),
      title: null,
      syntax: 'text',
      parts: null,
      columns: { pid: process.pid },
      links: [],
    }
    writeFileSync(`${folder}/documents.jsonl`, `${JSON.stringify(line)}\n`)
    const found = { format: 'text', recognized: {}, warnings: [], documentCount: 1 }
    process.send?.({ kind: 'read', id, summary: { ...found, tables: [], archive: null } })
  },
}

process.on('message', (job: ReadingJob) => {
  guard.postMessage({ folder: job.folder, limits: job.limits })
  // The guard has been informed.
  setTimeout(() => DEEDS[job.source.name]?.(job), 30)
})
