/**
 * Shows the progress of an ingest: a bar on a terminal, otherwise a line every ten seconds, or
 * nothing in quiet mode.
 */

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { SingleBar } from 'cli-progress'
import type { KNOWLEDGE_BASE } from '../../api/http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import { type CommandContext, type NamedObject, pathOf } from '../command.ts'
import { durationText } from '../jobs-over-http.ts'
import type { Output } from '../output.ts'
import { safeLine, truncated } from '../terminal-text.ts'
import {
  type FileRoot,
  type FileRules,
  findFiles,
  isBelowRoot,
  type LocalFile,
} from './local-files.ts'
import { type IngestCounts, type KnownFiles, sendFiles, UNCONFIRMED } from './send-files.ts'

const LINE_MS = 10_000

/** How often to ask the server how far a long file is. */
const ASK_MS = 1000

interface Progress {
  step(file: LocalFile): void
  /** Called every second with the chunks of the current file that are embedded but not stored. */
  embedded(chunkCount: number): void
  stop(): void
}

interface Total {
  readonly files: readonly LocalFile[]
  readonly counts: IngestCounts
}

async function progressOf(total: Total, output: Output): Promise<Progress> {
  if (output.isQuiet || total.files.length === 0) {
    return { step: () => {}, embedded: () => {}, stop: () => {} }
  }
  return process.stderr.isTTY === true ? bar(total) : lines(total, output)
}

async function bar({ files, counts }: Total): Promise<Progress> {
  const { default: cliProgress } = await import('cli-progress')
  const startedAt = performance.now()
  const shown: SingleBar = new cliProgress.SingleBar({
    format: '{bar} {percentage}% {value}/{total} files  {rate} chunks/s  {left}  {what}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
    linewrap: false,
    stream: process.stderr,
    fps: 8,
  })
  const estimate = new TimeLeft(files)
  let done = 0
  shown.start(files.length, 0, { rate: '0', left: '', what: '' })
  return {
    step(file) {
      done += 1
      const seconds = (performance.now() - startedAt) / 1000
      const rate = (counts.chunks / seconds).toFixed(0)
      const room = Math.max(10, (process.stderr.columns ?? 80) - 76)
      shown.update(done, {
        rate,
        left: leftText(estimate.after(file, seconds)),
        what: truncated(safeLine(file.id), room),
      })
    },
    embedded: (chunkCount) => shown.update({ what: `${chunkCount} chunks embedded` }),
    stop: () => shown.stop(),
  }
}

function lines({ files, counts }: Total, output: Output): Progress {
  const startedAt = performance.now()
  const estimate = new TimeLeft(files)
  let last = startedAt
  let done = 0
  return {
    step(file) {
      done += 1
      const seconds = (performance.now() - startedAt) / 1000
      const left = estimate.after(file, seconds)
      const now = performance.now()
      if (now - last < LINE_MS) return
      last = now
      const parts = [
        `${done}/${files.length} files`,
        `${counts.chunks} chunks`,
        `${(counts.chunks / seconds).toFixed(0)} chunks/s`,
        ...(left === null ? [] : [leftText(left)]),
      ]
      output.say(parts.join(', '))
    },
    embedded(chunkCount) {
      const now = performance.now()
      if (now - last < LINE_MS) return
      last = now
      output.say(`${done}/${files.length} files, ${chunkCount} chunks of the current file embedded`)
    },
    stop: () => {},
  }
}

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

function leftText(seconds: number | null): string {
  return seconds === null ? '' : `${durationText(seconds)} left`
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

type Parts = Pick<CommandContext, 'client' | 'output' | 'signal'>

export async function ingestLocal(
  ingest: LocalIngest,
  counts: IngestCounts,
  context: Parts,
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
  await sendUnconfirmed(found.files, ingest, counts, context)
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

/** Asks at a terminal whether the OCR model should read the scans, then sends those files again. */
async function sendUnconfirmed(
  files: readonly LocalFile[],
  ingest: LocalIngest,
  counts: IngestCounts,
  context: Parts,
): Promise<void> {
  const { output, signal } = context
  const isAsked = process.stdin.isTTY === true && process.stderr.isTTY === true && !output.isJson
  const scans = counts.failed.filter(({ code }) => code === UNCONFIRMED)
  if (scans.length === 0 || !isAsked) return
  for (const { path, message } of scans) {
    output.warn(`${safeLine(path)}: ${safeLine(message)}`)
  }
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const question = `Read ${scans.length === 1 ? 'it' : 'them'}? (y/N) `
  const answer = await terminal.question(question, { signal }).finally(() => terminal.close())
  const paths = new Set(scans.map(({ path }) => path))
  counts.failed = counts.failed.filter(({ code }) => code !== UNCONFIRMED)
  const fields = { ...ingest.fields, ocr: /^y(es)?$/i.test(answer.trim()) ? 'yes' : 'no' }
  const again = files.filter(({ id }) => paths.has(id))
  await sendAll(again, { ...ingest, fields }, counts, context)
}

export async function sendAll(
  files: readonly LocalFile[],
  { kb, known, isReplacing, fields }: LocalIngest,
  counts: IngestCounts,
  context: Parts,
): Promise<void> {
  const progress = await progressOf({ files, counts }, context.output)
  let stepAt = performance.now()
  const onFile = (file: LocalFile) => {
    stepAt = performance.now()
    progress.step(file)
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
    progress.embedded(found.insert_embedded_chunks ?? 0)
  }, ASK_MS)
  try {
    await sendFiles(files, { kb, known, counts, isReplacing, fields, onFile }, context)
  } finally {
    isOver = true
    clearInterval(asking)
    progress.stop()
  }
}
