/**
 * Uploads into knowledge bases. They continue while other views are open, and after a lost
 * connection. Files that have arrived become a job, which the server continues even if this page is
 * closed.
 */
import { signal } from '@preact/signals'
import type { OcrWish } from '../../core/domain/ports/reading-ports.ts'
import { isLost } from '../api/connection.ts'
import { sendFile, withoutText } from '../api/files.ts'
import { insertInBackground } from '../api/knowledge-bases.ts'
import type { Job, UploadedFiles } from '../api/records.ts'
import { ApiError, asError } from '../api/request.ts'
import { isLeaving } from '../api/session.ts'
import { tellDone, tellFailed } from '../shell/notices.tsx'
import type { NamedFile } from './picked-files.tsx'
import { forgetUnsent, keepUnsent, readUnsent, takeUnsent } from './unsent.ts'

const SENDING_MAX = 2
/** With more files than this, the first ones are processed while others are being sent. */
const JOB_FILES_MAX = 200
/** How many times an interrupted upload is retried automatically. */
const ATTEMPTS_MAX = 4
const ATTEMPT_PAUSE_MS = 2000

export interface Upload extends NamedFile {
  readonly id: number
  readonly project: string
  readonly knowledgeBase: string
  /** `arrived`: the server has the file. A job starts once the other files have arrived too. */
  readonly state: 'waiting' | 'sending' | 'arrived' | 'failed'
  /** The file's name on the server, if another file already has its own name. */
  readonly sentAs: string
  readonly replaces: boolean
  /** Whether a model reads pages that have no text, or whether to ask if needed. */
  readonly ocr: OcrWish
  readonly sentBytes: number
  /** How many times the connection was lost while the file was being sent. */
  readonly cuts: number
  /** The names on the server: several for a ZIP file, none before it has arrived. */
  readonly storedAs: readonly string[]
  readonly failure?: Error
  /** Set for a file from a ZIP file whose other files have arrived. */
  readonly partOf?: {
    readonly id: number
    readonly zipName: string
    /** The file's own name, under which it is stored. */
    readonly name: string
  }
}

/** The progress of uploads to one knowledge base, counted from when sending last started. */
export interface Sending {
  readonly project: string
  readonly knowledgeBase: string
  readonly files: number
  readonly filesSent: number
  readonly bytes: number
  readonly bytesSent: number
  readonly failed: number
  /** Time since then. */
  readonly ms: number
  /** Whether uploads are paused because the server does not answer. */
  readonly isHeld: boolean
}

export const uploads = signal<readonly Upload[]>([])
/** The newest upload job, so that views notice it. */
export const lastUploadJob = signal<Job | undefined>(undefined)
/** How many jobs are about to start with files that have arrived. */
export const jobsToCome = signal(0)

const stops = new Map<number, AbortController>()
/** For each knowledge base, how much jobs have started with while other files are sent. */
const begunWith = new Map<string, { files: number; bytes: number; sinceMs: number }>()
const pause = { isOn: false }
const ids = { last: 0 }

export function addUploads(
  project: string,
  knowledgeBase: string,
  files: readonly NamedFile[],
): void {
  const added = files.map((file): Upload => {
    const place = { id: nextId(), project, knowledgeBase }
    const sending = { sentAs: file.name, replaces: false, ocr: 'ask', cuts: 0 } as const
    const base = { ...file, ...place, ...sending, storedAs: [] }
    if (file.content.size > 0) return { ...base, state: 'waiting', sentBytes: 0 }
    return { ...base, state: 'failed', sentBytes: 0, failure: new Error('The file is empty') }
  })
  const key = keyOf({ project, knowledgeBase })
  if (!uploads.value.some((one) => keyOf(one) === key && isGoing(one))) beginCount(key)
  uploads.value = [...uploads.value, ...added]
  for (const one of added) if (isGoing(one)) keepUnsent(one.id, one)
  goOn()
}

void readUnsent()

/** Sends the files that closed windows left behind. */
export function resumeUnsent(): void {
  const places = Map.groupBy(takeUnsent(), keyOf)
  for (const [first, ...rest] of places.values()) {
    if (first !== undefined) addUploads(first.project, first.knowledgeBase, [first, ...rest])
  }
}

/** The id of a removed upload is not reused, because it may still be sending. */
function nextId(): number {
  ids.last += 1
  return ids.last
}

interface Retry {
  /** Whether files with the same name may be replaced. */
  readonly replaces?: boolean
  /** The user's answer to whether a model should read the file. */
  readonly ocr?: OcrWish
}

/** Sends the file again, or the ZIP file that contains it. */
export function retryUpload(id: number, { replaces = false, ocr }: Retry = {}): void {
  const failed = uploads.value.find((one) => one.id === id)
  if (failed === undefined) return
  const again = ocr === undefined ? failed : { ...failed, ocr }
  const key = keyOf(again)
  if (!uploads.value.some((one) => keyOf(one) === key && isGoing(one))) beginCount(key)
  if (isOnServer(again))
    change(id, ({ failure: _, ...one }) => ({ ...one, state: 'arrived', cuts: 0 }))
  else sendAgain(again, again.replaces || replaces)
  goOn()
}

/** Or the ZIP file it came from, whose members are listed again when it arrives. */
function sendAgain({ failure: _, partOf, ...upload }: Upload, replaces: boolean): void {
  const { id, zipName: name } = partOf ?? { id: upload.id, zipName: upload.name }
  const others = uploads.value.filter((one) => one.id !== upload.id && one.id !== id)
  const sentAs = partOf === undefined ? upload.sentAs : name
  const next: Upload = { ...upload, id, name, sentAs, replaces, state: 'waiting', ...NOT_SENT }
  uploads.value = [...withoutParts(others, id), next]
}

const NOT_SENT = { sentBytes: 0, cuts: 0, storedAs: [] } as const

/** Only the later step failed: not sent again, unless gone from the server. */
function isOnServer({ storedAs, failure }: Upload): boolean {
  return storedAs.length > 0 && !(failure instanceof ApiError && failure.code === 'file_not_found')
}

function withoutParts(all: readonly Upload[], zipId: number): readonly Upload[] {
  return all.filter(({ partOf }) => partOf?.id !== zipId)
}

/** Uses the file of the same name on the server, as it is. */
export function takeStored(id: number): void {
  change(id, ({ failure: _, ...upload }) => {
    const storedAs = [upload.partOf?.name ?? upload.sentAs]
    return { ...upload, state: 'arrived', storedAs }
  })
  goOn()
}

/** Removes an upload from the list, and aborts it if it is being sent. */
export function forgetUpload(id: number): void {
  forgetUnsent([id])
  uploads.value = uploads.value.filter((one) => one.id !== id)
  stops.get(id)?.abort(new DOMException('Stopped', 'AbortError'))
  goOn()
}

/** One entry for each knowledge base with files that are being sent or were refused. */
export function sendings(): readonly Sending[] {
  const groups = Map.groupBy(uploads.value, keyOf)
  return [...groups].flatMap(([key, group]) => {
    const [one] = group
    if (one === undefined) return []
    const { project, knowledgeBase } = one
    const going = group.filter(isGoing)
    const before = begunWith.get(key) ?? { files: 0, bytes: 0, sinceMs: performance.now() }
    const arrived = going.filter(({ state }) => state === 'arrived')
    const sum = (sizes: readonly number[]) => sizes.reduce((all, size) => all + size, before.bytes)
    return {
      project,
      knowledgeBase,
      files: going.length === 0 ? 0 : before.files + going.length,
      filesSent: before.files + arrived.length,
      bytes: sum(going.map(({ content }) => content.size)),
      bytesSent: sum(going.map(sentOf)),
      failed: group.length - going.length,
      ms: performance.now() - before.sinceMs,
      isHeld: isLost.value,
    }
  })
}

/** The bytes of the file that were sent, without the rest of the request body. */
function sentOf({ state, sentBytes, content }: Upload): number {
  return state === 'arrived' ? content.size : Math.min(sentBytes, content.size)
}

function isGoing({ state }: Upload): boolean {
  return state !== 'failed'
}

function keyOf({ project, knowledgeBase }: Pick<Upload, 'project' | 'knowledgeBase'>): string {
  return JSON.stringify([project, knowledgeBase])
}

function beginCount(key: string): void {
  begunWith.set(key, { files: 0, bytes: 0, sinceMs: performance.now() })
}

function change(id: number, changed: (upload: Upload) => Upload): void {
  uploads.value = uploads.value.map((one) => (one.id === id ? changed(one) : one))
}

function goOn(): void {
  if (pause.isOn || isLost.peek()) return
  const all = uploads.value
  const free = SENDING_MAX - stops.size
  const next = all.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, free))
  for (const upload of next) void send(upload)
  for (const arrived of completeGroups(uploads.value)) void begin(arrived)
}

/** After a lost connection, sending pauses for a moment and until the server is back. */
function waitThenGoOn(): void {
  if (pause.isOn) return
  pause.isOn = true
  setTimeout(() => {
    pause.isOn = false
    goOn()
  }, ATTEMPT_PAUSE_MS)
}

isLost.subscribe((isAway) => {
  if (!isAway) goOn()
})

async function send(upload: Upload): Promise<void> {
  const { id, name, sentAs, content, replaces, ocr } = upload
  const stop = new AbortController()
  stops.set(id, stop)
  change(id, (before) => ({ ...before, state: 'sending' }))
  try {
    if (!replaces && (await isKnown(upload, false))) return
    const { files, failed: left } = await sendFile({
      ...{ name: sentAs, documentId: name, content, replaces, ocr },
      signal: stop.signal,
      onSent: (bytes) => change(id, (before) => ({ ...before, sentBytes: bytes })),
    })
    if (uploads.value.some((one) => one.id === id)) addParts(upload, left)
    for (const found of files.flatMap((file) => withoutText(file) ?? [])) {
      tellFailed(`${name}: ${found}`, OCR_HELP)
    }
    const storedAs = files.map((file) => file.name)
    // A repeated upload replaces what it stored itself.
    change(id, (before) => ({ ...before, state: 'arrived', replaces: true, cuts: 0, storedAs }))
  } catch (error) {
    if (isTaken(error) && (await isKnown(upload, true))) return
    const isFree = isTaken(error) && !uploads.value.some((one) => isTwin(one, upload))
    const free = isFree ? await (await copies()).freeName(upload) : undefined
    if (free?.isAsked === false) {
      // Replaces a copy that this upload left behind.
      const own = { sentAs: free.name, replaces: free.name === sentAs, state: 'waiting' } as const
      change(id, (before) => ({ ...before, ...own }))
      return
    }
    const failure = (await isThere(content)) ? error : new Error(CHANGED)
    const named = { sentAs: free?.name ?? sentAs }
    change(id, (before) => ({ ...failed(before, failure, 'waiting'), ...named }))
    if (!isCut(failure)) forgetUnsent([id])
  } finally {
    stops.delete(id)
    goOn()
  }
}

/** Loaded after the page. */
const copies = () => import('./stored-copies.ts')

function isTaken(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'file_exists'
}

/** Whether an existing copy can be used, so that the file need not be sent. */
async function isKnown({ id, ...upload }: Upload, isFresh: boolean): Promise<boolean> {
  const copy = await (await copies()).knownCopy(upload, isFresh)
  if (copy === undefined) return false
  if (copy.kind === 'document') {
    const as = copy.id === upload.name ? 'unchanged' : `as ${copy.id}`
    tellDone(`${upload.name} is already in ${upload.knowledgeBase}, ${as}`)
    forgetUpload(id)
  } else change(id, (before) => ({ ...before, state: 'arrived', storedAs: [copy.name] }))
  return true
}

/** Whether a file with another content becomes a document with the same id. */
function isTwin(one: Upload, { id, name, ...place }: Upload): boolean {
  return one.id !== id && one.name === name && keyOf(one) === keyOf(place) && isGoing(one)
}

/** Explains how to set the model that reads scans. */
export const OCR_HELP = { label: 'Set an OCR model', href: '/docs/formats#scanned-pages' }

/** Lists unreadable members of a ZIP file individually. */
function addParts(upload: Upload, left: UploadedFiles['failed']): void {
  const parts = left.map(({ name, code, detail }): Upload => {
    // The server uses its error codes here.
    const known = code as ApiError['code']
    const failure = new ApiError({ code: known, status: 400, title: 'Not stored', message: detail })
    const shown = { id: nextId(), name: `${upload.name} › ${name}` }
    const partOf = { id: upload.id, zipName: upload.name, name }
    return { ...upload, ...shown, partOf, state: 'failed', failure }
  })
  uploads.value = [...withoutParts(uploads.value, upload.id), ...parts]
}

const CHANGED = 'The file was changed or moved after it was chosen. Choose it again'

/** If it has changed on disk, reading fails, which looks like a lost connection. */
async function isThere(content: File): Promise<boolean> {
  return await content
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    )
}

function isCut(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unreachable'
}

/** After a lost connection, returns to the state `before` for another attempt, up to a limit. */
function failed(upload: Upload, error: unknown, before: 'waiting' | 'arrived'): Upload {
  const failure = asError(error)
  if (!isCut(failure) || upload.cuts + 1 >= ATTEMPTS_MAX)
    return { ...upload, state: 'failed', failure }
  waitThenGoOn()
  return { ...upload, state: before, cuts: upload.cuts + 1 }
}

/** Once none is being sent or enough have arrived. */
function completeGroups(all: readonly Upload[]): readonly (readonly Upload[])[] {
  return [...Map.groupBy(all, keyOf).values()].flatMap((group) => {
    const arrived = group.filter(({ state }) => state === 'arrived')
    const isComplete = group.every(({ state }) => state === 'arrived' || state === 'failed')
    return arrived.length >= (isComplete ? 1 : JOB_FILES_MAX) ? [arrived] : []
  })
}

/** From here on, the files belong to the job. */
async function begin(arrived: readonly Upload[]): Promise<void> {
  const [first] = arrived
  if (first === undefined) return
  const begun = new Set(arrived.map(({ id }) => id))
  const count = begunWith.get(keyOf(first))
  if (count !== undefined) {
    count.files += arrived.length
    count.bytes += arrived.reduce((sum, { content }) => sum + content.size, 0)
  }
  uploads.value = uploads.value.filter(({ id }) => !begun.has(id))
  jobsToCome.value += 1
  try {
    const files = arrived.flatMap(({ storedAs }) => storedAs)
    lastUploadJob.value = await insertInBackground(first.project, first.knowledgeBase, { files })
    forgetUnsent([...begun])
  } catch (error) {
    beginCount(keyOf(first))
    uploads.value = [...uploads.value, ...arrived.map((upload) => failed(upload, error, 'arrived'))]
  } finally {
    jobsToCome.value -= 1
  }
}

addEventListener('beforeunload', (event) => {
  // Signing out discards everything anyway.
  if (uploads.value.some(isGoing) && !isLeaving.value) event.preventDefault()
})
