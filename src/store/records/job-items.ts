/** Stores the items sent with job requests: one file per job, one line of JSON per item. */

import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { SLICE_MS, TimeSlice } from '../../core/runtime/serial-queue.ts'
import { resourceError } from '../duckdb/database-error.ts'
import { syncPath } from '../tables/file-contents.ts'

const FOLDER = 'jobs'
const ENDING = '.ndjson'
/** Write this many characters between two checks of free space. */
const PIECE_CHARS = 1024 * 1024

interface JobItemsOptions {
  /** The data folder. If null, the system's temporary folder is used until the store is closed. */
  readonly directory: string | null
  /** @throws AppError `storage_full` if this many bytes do not fit */
  readonly checkSpace: (wantedBytes: number) => void
}

export class JobItems {
  readonly #options: JobItemsOptions
  #folder: Promise<string> | null = null

  constructor(options: JobItemsOptions) {
    this.#options = options
  }

  /** The items are on disk when the promise resolves. @throws AppError `storage_full` */
  async keep(jobId: number, items: readonly unknown[]): Promise<void> {
    const folder = await this.#opened()
    const path = join(folder, `${jobId}${ENDING}`)
    const draft = `${path}.draft`
    try {
      const file = await open(draft, 'w', 0o600)
      try {
        for await (const piece of jsonPieces(items)) {
          this.#options.checkSpace(piece.length)
          await file.appendFile(piece)
        }
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(draft, path)
      await syncPath(folder)
    } catch (error) {
      await rm(draft, { force: true })
      throw resourceError(error)
    }
  }

  /** On demand. @throws AppError `job_items_missing` if the file is missing or too short */
  async *read(jobId: number, firstIndex: number, count: number): AsyncGenerator<unknown> {
    // Few starts of the server need it.
    const { createInterface } = await import('node:readline')
    const path = join(await this.#opened(), `${jobId}${ENDING}`)
    const input = createReadStream(path)
    // Without this, an error before the first line would be unhandled and end the process.
    const failed = new Promise<never>((_, reject) => input.on('error', reject))
    failed.catch(() => {})
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
    let index = 0
    try {
      const iterator = lines[Symbol.asyncIterator]()
      while (index < count) {
        const { value, done } = await Promise.race([iterator.next(), failed])
        if (done === true) throw lostItems(jobId)
        if (index >= firstIndex) yield parsedItem(value, jobId)
        index += 1
      }
    } catch (error) {
      throw error instanceof AppError ? error : lostItems(jobId, error)
    } finally {
      lines.close()
      input.destroy()
    }
  }

  async remove(jobId: number): Promise<void> {
    await rm(join(await this.#opened(), `${jobId}${ENDING}`), { force: true })
  }

  /** Removes files that belong to no job, for example after the process was killed. */
  async clear(jobIds: ReadonlySet<number>): Promise<void> {
    const { directory } = this.#options
    if (directory === null) return
    const known = new Set([...jobIds].map((id) => `${id}${ENDING}`))
    for (const name of await readdir(join(directory, FOLDER)).catch(() => [])) {
      if (!known.has(name)) await rm(join(directory, FOLDER, name), { force: true })
    }
  }

  async close(): Promise<void> {
    if (this.#options.directory !== null || this.#folder === null) return
    await rm(await this.#folder, { recursive: true, force: true })
  }

  #opened(): Promise<string> {
    this.#folder ??= folderIn(this.#options.directory)
    return this.#folder
  }
}

async function folderIn(directory: string | null): Promise<string> {
  if (directory === null) return mkdtemp(join(tmpdir(), 'eider-jobs-'))
  const folder = join(directory, FOLDER)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return folder
}

async function* jsonPieces(items: readonly unknown[]): AsyncGenerator<string> {
  const slice = new TimeSlice(SLICE_MS)
  const { signal } = new AbortController()
  let piece = ''
  for (const item of items) {
    piece += `${JSON.stringify(item)}\n`
    if (piece.length >= PIECE_CHARS) {
      yield piece
      piece = ''
    }
    if (slice.isSpent) await slice.yieldIfSpent(signal)
  }
  if (piece !== '') yield piece
}

function parsedItem(line: string, jobId: number): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw lostItems(jobId, error)
  }
}

function lostItems(jobId: number, cause?: unknown): AppError {
  const advice = 'send them again with a new insert'
  const message = `The rows that came with job ${jobId} are no longer in the data folder: ${advice}`
  return new AppError('job_items_missing', message, { cause })
}
