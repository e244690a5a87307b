/**
 * Files on their way into knowledge bases. They go on when another view is opened. What has arrived of a knowledge base's
 * files becomes one job, with which the server goes on whether this page is open or not.
 */
import { signal } from '@preact/signals'
import { sendFile } from '../../api/files.ts'
import { insertInBackground } from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import { ApiError, asError } from '../../api/request.ts'
import type { NamedFile } from './picked-files.ts'

const SENDING_MAX = 2
/** Of more files than these the first are stored while the rest is sent. */
const JOB_FILES_MAX = 200

export interface Upload extends NamedFile {
  readonly id: number
  readonly project: string
  readonly knowledgeBase: string
  /** `arrived`: the server has the file; a job begins when the others of its knowledge base have arrived, too. */
  readonly state: 'waiting' | 'sending' | 'arrived' | 'failed'
  readonly replaces: boolean
  readonly sentBytes: number
  readonly failure?: Error
}

export const uploads = signal<readonly Upload[]>([])
/** The last job that files became, by which a view knows that there is a new one. */
export const lastUploadJob = signal<Job | undefined>(undefined)

const stops = new Map<number, AbortController>()

export function addUploads(
  project: string,
  knowledgeBase: string,
  files: readonly NamedFile[],
): void {
  const first = (uploads.value.at(-1)?.id ?? 0) + 1
  const added = files.map((file, index): Upload => {
    const base = { ...file, id: first + index, project, knowledgeBase, replaces: false }
    if (file.content.size > 0) return { ...base, state: 'waiting', sentBytes: 0 }
    return { ...base, state: 'failed', sentBytes: 0, failure: new Error('The file is empty') }
  })
  uploads.value = [...uploads.value, ...added]
  goOn()
}

/** Sends it again; with `replaces`, a file that has its name gives way. */
export function retryUpload(id: number, replaces: boolean): void {
  change(id, ({ failure: _, ...upload }) => {
    return { ...upload, state: 'waiting', replaces: upload.replaces || replaces, sentBytes: 0 }
  })
  goOn()
}

/** Takes it off the list, and stops it where it is being sent. */
export function forgetUpload(id: number): void {
  uploads.value = uploads.value.filter((one) => one.id !== id)
  stops.get(id)?.abort(new DOMException('Stopped', 'AbortError'))
  goOn()
}

export function isNameTaken({ failure }: Upload): boolean {
  return failure instanceof ApiError && failure.code === 'file_exists'
}

export function isUploading(): boolean {
  return uploads.value.some(({ state }) => state !== 'failed')
}

function change(id: number, changed: (upload: Upload) => Upload): void {
  uploads.value = uploads.value.map((one) => (one.id === id ? changed(one) : one))
}

function goOn(): void {
  const all = uploads.value
  const free = SENDING_MAX - stops.size
  const next = all.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, free))
  for (const upload of next) void send(upload)
  for (const arrived of completeGroups(uploads.value)) void begin(arrived)
}

async function send({ id, name, content, replaces }: Upload): Promise<void> {
  const stop = new AbortController()
  stops.set(id, stop)
  change(id, (upload) => ({ ...upload, state: 'sending' }))
  try {
    await sendFile({
      name,
      content,
      replaces,
      signal: stop.signal,
      onSent: (bytes) => change(id, (upload) => ({ ...upload, sentBytes: bytes })),
    })
    // Where it has to be sent once more, it takes the place of what it has itself stored.
    change(id, (upload) => ({ ...upload, state: 'arrived', replaces: true }))
  } catch (error) {
    change(id, (upload) => failed(upload, error))
  } finally {
    stops.delete(id)
    goOn()
  }
}

function failed(upload: Upload, error: unknown): Upload {
  const failure = asError(error)
  return { ...upload, state: 'failed', failure }
}

/** Arrived files of each knowledge base of which no other is still on its way, or of which there are enough for a job. */
function completeGroups(all: readonly Upload[]): readonly (readonly Upload[])[] {
  const groups = new Map<string, Upload[]>()
  for (const upload of all) {
    const key = JSON.stringify([upload.project, upload.knowledgeBase])
    groups.set(key, [...(groups.get(key) ?? []), upload])
  }
  return [...groups.values()].flatMap((group) => {
    const arrived = group.filter(({ state }) => state === 'arrived')
    const isComplete = group.every(({ state }) => state === 'arrived' || state === 'failed')
    return arrived.length >= (isComplete ? 1 : JOB_FILES_MAX) ? [arrived] : []
  })
}

/** Files that a job has begun with are its own from then on. */
async function begin(arrived: readonly Upload[]): Promise<void> {
  const [first] = arrived
  if (first === undefined) return
  const ids = new Set(arrived.map(({ id }) => id))
  uploads.value = uploads.value.filter(({ id }) => !ids.has(id))
  try {
    const files = arrived.map(({ name }) => name)
    lastUploadJob.value = await insertInBackground(first.project, first.knowledgeBase, { files })
  } catch (error) {
    uploads.value = [...uploads.value, ...arrived.map((upload) => failed(upload, error))]
  }
}

addEventListener('beforeunload', (event) => {
  if (isUploading()) event.preventDefault()
})
