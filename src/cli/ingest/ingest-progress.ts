/** Sends the files of an ingest and shows its progress. */

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { KNOWLEDGE_BASE } from '../../api/http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import { type NamedObject, pathOf, type Requesting } from '../command.ts'
import { durationText } from '../jobs-over-http.ts'
import { ProgressLine } from '../output.ts'
import {
  type FileRoot,
  type FileRules,
  findFiles,
  isBelowRoot,
  type LocalFile,
} from './local-files.ts'
import { type IngestCounts, type KnownFiles, sendFiles } from './send-files.ts'

/** How often to ask the server how far a long file is. */
const ASK_MS = 1000

/** No time is estimated before this, because the first answers arrive late and all at once. */
const BASE_SECONDS = 3
const BASE_SHARE = 0.1

/** Estimates the time left from bytes, because files differ in size. */
export class TimeLeft {
  readonly #totalBytes: number
  #doneBytes = 0

  constructor(files: readonly Pick<LocalFile, 'sizeBytes'>[]) {
    this.#totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  }

  /** @returns the seconds left after this file; null if unknown */
  after({ sizeBytes }: Pick<LocalFile, 'sizeBytes'>, seconds: number): number | null {
    this.#doneBytes += sizeBytes
    const share = this.#doneBytes / this.#totalBytes
    if (seconds < BASE_SECONDS || !(share >= BASE_SHARE)) return null
    return (seconds / share) * (1 - share)
  }
}

type InsertCounts = Pick<
  Wire<typeof KNOWLEDGE_BASE>,
  'insert_finished_at' | 'insert_embedded_chunks'
>

export interface LocalIngest {
  readonly kb: NamedObject
  readonly known: KnownFiles
  readonly roots: readonly FileRoot[]
  readonly rules: FileRules
  readonly isReplacing: boolean
  readonly isRemoving: boolean
  readonly fields: Readonly<Record<string, string>>
}

export async function ingestLocal(
  ingest: LocalIngest,
  counts: IngestCounts,
  context: Requesting,
): Promise<void> {
  const { roots, rules, isRemoving, known } = ingest
  const { output, signal } = context
  const named = roots.filter((root) => root.kind !== 'file' || existsSync(root.path))
  const found = await findFiles(named, rules, signal)
  for (const { path, message } of found.failed) {
    counts.failed.push({ path, code: 'file_failed', message })
  }
  counts.left_out = found.leftOut
  counts.skipped = found.leftOutCount
  if (found.files.length === 0) output.say('There is nothing to read there')
  await sendAll(found.files, ingest, counts, context)
  if (!isRemoving) return
  const present = new Set(found.files.map(({ id }) => id))
  const gone = known.paths.filter((id) => {
    // A file that exists but is excluded or unreadable does not count as removed.
    const root = roots.find((one) => isBelowRoot(id, one))
    return root !== undefined && !present.has(id) && !existsSync(resolve(root.base, id))
  })
  await known.remove(gone, signal)
  counts.removed += gone.length
}

export async function sendAll(
  files: readonly LocalFile[],
  { kb, known, isReplacing, fields }: LocalIngest,
  counts: IngestCounts,
  context: Requesting,
): Promise<void> {
  const progress = new ProgressLine(context.output)
  const estimate = new TimeLeft(files)
  const startedAt = performance.now()
  let done = 0
  let stepAt = startedAt
  const onFile = (file: LocalFile) => {
    stepAt = performance.now()
    done += 1
    const seconds = (stepAt - startedAt) / 1000
    const left = estimate.after(file, seconds)
    const parts = [
      `${done}/${files.length} files`,
      `${counts.chunks} chunks`,
      `${(counts.chunks / seconds).toFixed(0)} chunks/s`,
      ...(left === null ? [] : [`${durationText(left)} left`]),
      file.id,
    ]
    progress.show(parts.join(', '))
  }
  let isAsking = false
  let isOver = false
  const asking = setInterval(async () => {
    // A slow server gets one request at a time.
    if (isAsking || performance.now() - stepAt < ASK_MS) return
    isAsking = true
    const path = pathOf('knowledge_bases', kb)
    const found = await context.client.send<InsertCounts>('GET', path).catch(() => null)
    isAsking = false
    if (isOver || found?.insert_finished_at !== null) return
    const embedded = found.insert_embedded_chunks ?? 0
    progress.show(`${done}/${files.length} files, ${embedded} chunks of the current file embedded`)
  }, ASK_MS)
  try {
    await sendFiles(files, { kb, known, counts, isReplacing, fields, onFile }, context)
  } finally {
    isOver = true
    clearInterval(asking)
    progress.end()
  }
}
