import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  FileBytes,
  IncomingFile,
  IncomingFolder,
} from '../../core/domain/ports/store-ports.ts'
import type { UploadedFile } from '../../core/domain/uploaded-file.ts'
import { AppError, systemCodeOf } from '../../core/errors.ts'
import { resourceError } from '../duckdb/database-error.ts'

/** The folder with the original bytes of uploaded files, each named by its key. */
export const CONTENTS_FOLDER = 'files'
/** The folder for incoming files, emptied at startup. */
const INCOMING_FOLDER = 'uploads'

/** Write this many bytes between two checks of free space. */
const BYTES_PER_LOOK = 16 * 1024 * 1024

interface FileContentsOptions {
  /** The data folder. If null, the system's temporary folder is used until the store is closed. */
  readonly directory: string | null
  /** @throws AppError `storage_full` if this many bytes do not fit */
  readonly checkSpace: (wantedBytes: number) => void
}

/** On disk before the catalog refers to it, removed after: a kill leaves only unused files. */
export class FileContents implements FileBytes {
  readonly #directory: string | null
  readonly #checkSpace: (wantedBytes: number) => void
  #temporary: Promise<string> | null = null
  /** The number of callers that need all files to stay, for example a backup. */
  #holders = 0
  #condemned: string[] = []
  #sizeBytes = 0

  constructor({ directory, checkSpace }: FileContentsOptions) {
    this.#directory = directory
    this.#checkSpace = checkSpace
  }

  /** From a killed process. Call only when this process owns the data folder. */
  static async open(
    options: FileContentsOptions,
    files: readonly UploadedFile[],
  ): Promise<FileContents> {
    const contents = new FileContents(options)
    await contents.#clear(files)
    return contents
  }

  async withFolder<T>(use: (folder: IncomingFolder) => Promise<T>): Promise<T> {
    const path = join(await this.#folder(INCOMING_FOLDER), randomUUID())
    await mkdir(path, { mode: 0o700 })
    let count = 0
    const folder: IncomingFolder = {
      path,
      write: (pieces, sizeBytes = 0) => {
        count += 1
        return this.#write(join(path, `sent-${count}`), pieces, sizeBytes)
      },
    }
    try {
      return await use(folder)
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  }

  async #write(
    path: string,
    pieces: AsyncIterable<Uint8Array>,
    expectedBytes: number,
  ): Promise<IncomingFile> {
    this.#checkSpace(expectedBytes)
    const file = await open(path, 'wx', 0o600)
    let sizeBytes = 0
    let nextLook = BYTES_PER_LOOK
    try {
      for await (const piece of pieces) {
        await file.appendFile(piece)
        sizeBytes += piece.byteLength
        if (sizeBytes < nextLook) continue
        nextLook = sizeBytes + BYTES_PER_LOOK
        this.#checkSpace(BYTES_PER_LOOK)
      }
    } catch (error) {
      throw resourceError(error)
    } finally {
      await file.close()
    }
    return { path, sizeBytes }
  }

  /** On disk when the promise resolves. @returns its key */
  async keep({ path, sizeBytes }: IncomingFile): Promise<string> {
    const folder = await this.#folder(CONTENTS_FOLDER)
    const key = randomUUID()
    await syncPath(path)
    await rename(path, join(folder, key))
    await syncPath(folder)
    this.#sizeBytes += sizeBytes
    return key
  }

  /** Only for files that the catalog does not refer to. */
  async remove(key: string): Promise<void> {
    if (this.#holders > 0) {
      this.#condemned.push(key)
      return
    }
    const path = join(await this.#folder(CONTENTS_FOLDER), key)
    const sizeBytes = await stat(path).then(
      ({ size }) => size,
      () => 0,
    )
    await rm(path, { force: true })
    this.#sizeBytes -= sizeBytes
  }

  async removeIfKept({ contentKey }: UploadedFile): Promise<void> {
    if (contentKey !== null) await this.remove(contentKey)
  }

  async contentOf({ name, contentKey }: UploadedFile): Promise<IncomingFile> {
    if (contentKey === null) {
      const why = 'it was made by a statement, or sent before files were kept'
      throw new AppError('file_not_found', `The bytes of ${name} are not there: ${why}`)
    }
    const path = join(await this.#folder(CONTENTS_FOLDER), contentKey)
    try {
      return { path, sizeBytes: (await stat(path)).size }
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') throw error
      throw new AppError('file_not_found', `The bytes of ${name} are missing in the data folder`)
    }
  }

  /** Keeps all files in place while `use` runs, so that they can be copied. */
  async whileHeld<T>(use: () => Promise<T>): Promise<T> {
    this.#holders += 1
    try {
      return await use()
    } finally {
      this.#holders -= 1
      if (this.#holders === 0) for (const key of this.#condemned.splice(0)) await this.remove(key)
    }
  }

  async keys(): Promise<readonly string[]> {
    return readdir(await this.#folder(CONTENTS_FOLDER))
  }

  /** The folder of incoming files, or null if there is no data folder. */
  get incomingFolder(): string | null {
    return this.#directory === null ? null : join(this.#directory, INCOMING_FOLDER)
  }

  get sizeBytes(): number {
    return Math.max(0, this.#sizeBytes)
  }

  async #clear(files: readonly UploadedFile[]): Promise<void> {
    if (this.#directory === null) return
    await rm(join(this.#directory, INCOMING_FOLDER), { recursive: true, force: true })
    const known = new Set(files.map(({ contentKey }) => contentKey))
    const folder = join(this.#directory, CONTENTS_FOLDER)
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name)
      if (known.has(name)) this.#sizeBytes += (await stat(path)).size
      else await rm(path, { recursive: true, force: true })
    }
  }

  async close(): Promise<void> {
    const temporary = await this.#temporary
    if (temporary !== null) await rm(temporary, { recursive: true, force: true })
  }

  async #folder(name: string): Promise<string> {
    this.#temporary ??= this.#directory === null ? mkdtemp(join(tmpdir(), 'eider-files-')) : null
    const folder = join((await this.#temporary) ?? this.#directory ?? '', name)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return folder
  }
}

/** Resolves when the file or folder was flushed to disk. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
