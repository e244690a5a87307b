import { createHash } from 'node:crypto'
import type { TableRows } from '../../core/domain/ports/job-ports.ts'
import type { DocumentReading, ReadFile } from '../../core/domain/ports/reading-ports.ts'
import type { FileBytes } from '../../core/domain/ports/store-ports.ts'
import type { AppError } from '../../core/errors.ts'
import { isObject, parsedJson } from '../../core/json.ts'
import { pageAddress } from '../crawl/crawl-frontier.ts'
import { isOfPage, ofAddress, PageError } from '../crawl/left-out-pages.ts'
import { Robots } from '../crawl/robots.ts'
import type { ListedAddress } from '../crawl/sitemaps.ts'
import {
  type DownloadedFile,
  type FileFetcher,
  fileNameOf,
  type PageFetcher,
  type Validators,
} from '../sources/guarded-fetch.ts'
import { rowsOfItem } from './item-rows.ts'
import type { SyncReach, SyncTask } from './sync-sink.ts'

export interface WebDeps {
  readonly downloads: PageFetcher & FileFetcher
  readonly bytesMax: number
  readonly files: FileBytes
  readonly tables: TableRows
  reader(): DocumentReading
}

/** Reads one file or page, at an address that must answer. */
export async function readAddress(
  task: SyncTask,
  deps: WebDeps,
  signal: AbortSignal,
): Promise<SyncReach> {
  const url = pageAddress(new URL(String(task.source.parameters.url))).href
  const robots = new Robots(deps.downloads)
  const reader = deps.reader()
  await new AddressReader({ task, robots, reader }, deps).read({ url, lastmod: null }, signal)
  return { found: 1, mayHaveVanished: (item) => item !== url }
}

/** Reads pages and files. Their documents are named by the final address. */
export class AddressReader {
  readonly #task: SyncTask
  readonly #robots: Robots
  readonly #reader: DocumentReading
  readonly #deps: WebDeps

  constructor(
    given: {
      readonly task: SyncTask
      readonly robots: Robots
      readonly reader: DocumentReading
    },
    deps: WebDeps,
  ) {
    const { task, robots, reader } = given
    this.#task = task
    this.#robots = robots
    this.#reader = reader
    this.#deps = deps
  }

  /**
   * @throws AppError `crawl_failed`, `address_refused`, `file_unreadable`, also for a single page
   */
  async read({ url, lastmod }: ListedAddress, signal: AbortSignal): Promise<void> {
    const { known, sink, source } = this.#task
    const before = known.get(url)
    const stamp = stampOf(before?.stamp)
    const isTold = stamp !== null && before !== undefined && before.hash !== null
    if (isTold && lastmod !== null && stamp.lastmod === lastmod) return sink.unchanged(before)
    sink.count({ pages: 1 })
    const headers = headersIn(source.parameters.headers)
    const use = async (file: DownloadedFile) => {
      if (!file.isNew && before !== undefined) {
        sink.unchanged(before, JSON.stringify({ ...stamp, lastmod }))
      } else await this.#take({ url, lastmod }, file, signal)
    }
    await this.#deps.downloads.download(url, use, {
      signal,
      headers,
      ...(isTold ? { known: stamp } : {}),
      beforeRequest: (next) => this.#robots.permit(next, signal),
    })
  }

  #take({ url, lastmod }: ListedAddress, file: DownloadedFile, signal: AbortSignal): Promise<void> {
    const { known, sink, mapping } = this.#task
    const { files, tables, bytesMax } = this.#deps
    const hasher = createHash('sha256')
    async function* hashed() {
      let sizeBytes = 0
      for await (const piece of file.content) {
        signal.throwIfAborted()
        sizeBytes += piece.byteLength
        if (sizeBytes > bytesMax) throw tooLarge(url, bytesMax)
        hasher.update(piece)
        yield piece
      }
      sink.count({ bytes: sizeBytes })
    }
    return files.withFolder(async (folder) => {
      const { path, sizeBytes } = await folder.write(hashed())
      const hash = hasher.digest('base64url')
      const stamp = JSON.stringify({ ...file.validators, lastmod })
      const before = known.get(url)
      if (before?.hash === hash) return sink.unchanged(before, stamp)
      if (sizeBytes === 0) throw new PageError('held no text', `${url} returned an empty answer`)
      const id = pageAddress(new URL(file.url)).href
      const reading = { reader: this.#reader, mapping, tables, leaveOut: sink.leaveOut }
      const use = (read: ReadFile) => {
        const rows = rowsOfItem({ id, columns: { url: id } }, read, reading, signal)
        return sink.content({ item: url, hash, stamp, rows })
      }
      const { contentType } = file
      const name = fileNameOf(file) || 'page'
      await this.#reader
        .readFile({ path, name, contentType, url: file.url, options: optionsOf(file) }, use, signal)
        .catch((error: unknown) => Promise.reject(ofAddress(error, url)))
    })
  }
}

/** Returns options to read the page by its content type. */
function optionsOf({ contentType }: DownloadedFile) {
  const [type = ''] = (contentType ?? '').split(';')
  const isPage = /^(?:text\/html|application\/xhtml\+xml)$/i.test(type.trim())
  return isPage ? { format: 'html' as const } : {}
}

function tooLarge(url: string, bytesMax: number): AppError {
  const limit = `more than ${bytesMax} bytes, the limit (EIDER_FILE_BYTES_MAX)`
  return new PageError('was too large', `${url} has ${limit}`)
}

function headersIn(headers: unknown): Readonly<Record<string, string>> {
  if (typeof headers !== 'object' || headers === null) return {}
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

/** Null if unknown. */
function stampOf(stamp: string | null | undefined):
  | (Validators & {
      readonly lastmod: string | null
    })
  | null {
  const read = parsedJson(stamp ?? '')
  if (!isObject(read)) return null
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  const { etag, lastModified, lastmod } = read
  return { etag: text(etag), lastModified: text(lastModified), lastmod: text(lastmod) }
}

/** Answers of a page that no longer exists. */
const GONE = /answered (?:404|410)$/

/** Handles a failed page among many: reports it as removed if the answer says so. */
export function missPage(task: SyncTask, url: string, error: unknown): void {
  if (!isOfPage(error)) throw error
  if (GONE.test(error.message) && task.known.has(url)) task.sink.gone(url)
  else task.sink.failed({ item: url, message: error.message })
}
