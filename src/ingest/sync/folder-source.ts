import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import type { TableRows } from '../../core/domain/ports/job-ports.ts'
import type { DocumentReading, ReadFile } from '../../core/domain/ports/reading-ports.ts'
import type { FileBytes } from '../../core/domain/ports/store-ports.ts'
import { AppError, systemCodeOf } from '../../core/errors.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import {
  type FoundFile,
  fileFacts,
  isInFolder,
  listFolder,
  type OpenFolder,
  openFolder,
  REASONS,
} from './folder-walk.ts'
import { rowsOfItem } from './item-rows.ts'
import type { SyncReach, SyncTask } from './sync-sink.ts'

export interface FolderDeps {
  readonly folders: readonly string[]
  readonly bytesMax: number
  readonly files: FileBytes
  readonly tables: TableRows
  /** Returns a reader that takes turns with others. */
  reader(): DocumentReading
  readonly now: () => number
}

/** Read this many files at once, each in its own process. */
const READS_AT_ONCE = 2
const READ_BYTES = 256 * 1024
/** How often to try a file that changes while it is read. */
const ATTEMPTS = 3
/** A file that changed this recently may change again without a new timestamp. */
const UNSETTLED_MS = 2_000

/** Reads the files of a folder. Files with unchanged stamps are not opened. */
export async function readFolder(
  task: SyncTask,
  deps: FolderDeps,
  signal: AbortSignal,
): Promise<SyncReach> {
  const { parameters } = task.source
  const folder = await openFolder(String(parameters.path), deps.folders)
  const texts = (name: string) => {
    const value = parameters[name]
    return Array.isArray(value) ? value.map(String) : []
  }
  const rules = {
    include: texts('include'),
    exclude: texts('exclude'),
    hidden: parameters.hidden === true,
  }
  const { files, unreadable } = await listFolder(folder, rules, signal)
  const changed = files.filter((file) => {
    const known = task.known.get(file.item)
    if (known === undefined || known.stamp !== file.stamp) return true
    if (known.failure === null) task.sink.unchanged(known)
    else task.sink.failed({ item: file.item, message: known.failure, stamp: file.stamp })
    return false
  })
  for (const failure of unreadable) task.sink.failed(failure)
  const bounds = { concurrencyMax: READS_AT_ONCE, signal }
  await mapConcurrent(changed, bounds, (file, ended) => {
    return new FolderReader({ folder, task, reader: deps.reader() }, deps).read(file, ended)
  })
  return {
    found: files.length + unreadable.length,
    mayHaveVanished: (item) => !unreadable.some((one) => isBelow(item, one.item)),
  }
}

function isBelow(item: string, other: string): boolean {
  return other.endsWith('/') ? item.startsWith(other) : item === other
}

interface Reading {
  readonly folder: OpenFolder
  readonly task: SyncTask
  readonly reader: DocumentReading
}

class FolderReader {
  readonly #reading: Reading
  readonly #deps: FolderDeps

  constructor(reading: Reading, deps: FolderDeps) {
    this.#reading = reading
    this.#deps = deps
  }

  /** Reads one file. If it fails, the others are still read. */
  async read(file: FoundFile, signal: AbortSignal): Promise<void> {
    const { item, path } = file
    const { sink } = this.#reading.task
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        if (await this.#attempt(file, signal)) return
      }
      sink.failed({ item, message: 'It is written to while it is read; the next run reads it' })
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof AppError) throw error
      const code = systemCodeOf(error)
      if (code === undefined) throw error
      // The file was removed since the folder was listed. It is handled as vanished.
      if (code === 'ENOENT') return
      sink.failed({ item, message: `${path} could not be read: ${REASONS[code] ?? code}` })
    }
  }

  /** @returns false if the file changed while it was read */
  async #attempt({ item, path }: FoundFile, signal: AbortSignal): Promise<boolean> {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!(await this.#isStillThere(path, handle))) return false
      const found = await handle.stat({ bigint: true })
      const { sink } = this.#reading.task
      if (!found.isFile()) return true
      const facts = fileFacts(found)
      const isSettled = this.#deps.now() - facts.changedMs > UNSETTLED_MS
      const stamp = isSettled ? facts.stamp : null
      const file = { item, stamp, handle, facts }
      if (facts.sizeBytes > this.#deps.bytesMax) {
        const limit = `more than ${this.#deps.bytesMax}, the limit (EIDER_FILE_BYTES_MAX)`
        const message = `It has ${facts.sizeBytes} bytes, ${limit}`
        sink.failed({ item, message, stamp: facts.stamp })
        return true
      }
      return await this.#readCopied(file, signal)
    } finally {
      await handle.close()
    }
  }

  /** False if the file was replaced. Fails if a folder on its path has become a link. */
  async #isStillThere(path: string, handle: FileHandle): Promise<boolean> {
    const way = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path
    const found = await realpath(way).catch((error: unknown) => {
      // The file was replaced after it was opened. The next attempt reads the new one.
      if (systemCodeOf(error) === 'ENOENT') return null
      throw error
    })
    if (found === null) return false
    if (isInFolder(found, this.#reading.folder.root)) return true
    throw Object.assign(new Error('outside of the folder'), { code: 'EACCES' })
  }

  /** Reads a copy, which cannot change while it is read. */
  #readCopied(file: OpenFile, signal: AbortSignal): Promise<boolean> {
    const hasher = createHash('sha256')
    async function* hashed() {
      for await (const piece of filePieces(file, signal)) {
        hasher.update(piece)
        yield piece
      }
    }
    return this.#deps.files.withFolder(async (folder) => {
      const { path } = await folder.write(hashed(), file.facts.sizeBytes)
      const { stamp } = fileFacts(await file.handle.stat({ bigint: true }))
      if (stamp !== file.facts.stamp) return false
      await this.#store({ ...file, hash: hasher.digest('base64url'), path }, signal)
      return true
    })
  }

  async #store(
    file: OpenFile & { readonly hash: string; readonly path: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { item, hash, stamp, path } = file
    const { task, reader } = this.#reading
    const { sink, mapping } = task
    sink.count({ bytes: file.facts.sizeBytes })
    const known = task.known.get(item)
    if (known?.hash === hash) return sink.unchanged(known, stamp)
    if (file.facts.sizeBytes === 0) return sink.content({ item, hash, stamp, rows: [] })
    const name = item.slice(item.lastIndexOf('/') + 1)
    const source = { path, name, contentType: null, url: null, options: {} }
    const reading = { reader, mapping, tables: this.#deps.tables, leaveOut: sink.leaveOut }
    const use = (read: ReadFile) => {
      const rows = rowsOfItem({ id: item }, read, reading, signal)
      return sink.content({ item, hash, stamp, rows })
    }
    try {
      await reader.readFile(source, use, signal)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'file_unreadable') throw error
      sink.failed({ item, message: error.message, stamp })
    }
  }
}

interface OpenFile {
  readonly item: string
  readonly stamp: string | null
  readonly handle: FileHandle
  readonly facts: ReturnType<typeof fileFacts>
}

/** Reads no more than the size that the file had when it was opened. */
async function* filePieces({ handle, facts }: OpenFile, signal: AbortSignal) {
  for (let position = 0; position < facts.sizeBytes; ) {
    signal.throwIfAborted()
    const wanted = Math.min(READ_BYTES, facts.sizeBytes - position)
    const { bytesRead, buffer } = await handle.read(new Uint8Array(wanted), 0, wanted, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
