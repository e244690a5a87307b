import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Cron } from 'croner'
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { BackupStore } from '../../core/domain/ports/store-ports.ts'
import type { Backup, BackupState } from '../../core/domain/server-state.ts'
import { AppError, systemCodeOf } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { KEY_FILES } from '../catalog/secrets.ts'
import { DATABASE_FILE, type Database } from '../duckdb/database.ts'
import { resourceError } from '../duckdb/database-error.ts'
import { CONTENTS_FOLDER, type FileContents, syncPath } from '../tables/file-contents.ts'
import { copyDatabase } from './database-copy.ts'
import {
  describedFile,
  MANIFEST_FILE,
  type Manifest,
  newManifest,
  readManifest,
  rowCountOf,
  sizeBytesOf,
} from './manifest.ts'

export interface BackupOptions {
  /** The folder of backups; each gets a subfolder. */
  readonly directory: string
  /** Whether to copy the key files too. Secrets in the backup cannot be read without them. */
  readonly hasKeys: boolean
  /** How many backups of this data folder to keep; older ones are removed. */
  readonly keep: number
  readonly version: string
}

interface BackupParts {
  readonly database: Database
  /** The data folder, or null if the database is in memory. */
  readonly folder: string | null
  readonly bytes: FileContents
  readonly snapshot: () => CatalogSnapshot
  readonly now: () => number
}

const PARTIAL = '.partial-'
/** Bytes that must stay free on the disk after the backup is written. */
const SPARE_BYTES = 64 * 1024 * 1024

const NEXT_STEP = 'make room, or name another folder in EIDER_BACKUP_DIR'

export class StoredBackups implements BackupStore {
  readonly #parts: BackupParts
  readonly #options: BackupOptions
  readonly #closing = new AbortController()
  #running: Promise<Backup> | null = null
  #last: Backup | null = null
  #failed: BackupState['failed'] = null

  private constructor(parts: BackupParts, options: BackupOptions) {
    this.#parts = parts
    this.#options = options
  }

  static async open(parts: BackupParts, options: BackupOptions): Promise<StoredBackups> {
    const backups = new StoredBackups(parts, options)
    const { folder } = parts
    if (folder === null) return backups
    // A backup folder that cannot be read causes an error when the next backup is made, not here.
    const all = await manifestsIn(options.directory).catch(() => [])
    const folderId = await folderIdOf(folder)
    const newest = all.findLast(({ manifest }) => manifest.folderId === folderId)
    if (newest !== undefined) backups.#last = backupOf(newest.name, newest.manifest)
    return backups
  }

  /** Returns the newest backup of this data folder, and why the last attempt failed. */
  state(): Pick<BackupState, 'last' | 'failed'> {
    return { last: this.#last, failed: this.#failed }
  }

  async create(): Promise<Backup> {
    if (this.#running !== null) {
      throw new AppError('backup_running', 'A backup is already running; try again when it is done')
    }
    const { folder } = this.#parts
    if (folder === null) {
      throw new AppError(
        'invalid_request',
        'A server that keeps its data in memory has no backups; EIDER_DATA_DIR names a folder',
      )
    }
    this.#running = this.#create(folder)
    try {
      this.#last = await this.#running
      this.#failed = null
      return this.#last
    } catch (error) {
      const message = error instanceof AppError ? error.message : 'Internal error'
      this.#failed = { at: timestampOfMillis(this.#parts.now()), message }
      throw error
    } finally {
      this.#running = null
    }
  }

  /** Lists complete backups, newest first. */
  async list(): Promise<readonly Backup[]> {
    const found = await manifestsIn(this.#options.directory)
    return found.map(({ name, manifest }) => backupOf(name, manifest)).reverse()
  }

  /** Aborts a running backup and removes its files. */
  async close(): Promise<void> {
    this.#closing.abort(new AppError('shutting_down', 'The server is shutting down'))
    await this.#running?.catch(() => {})
  }

  async #create(folder: string): Promise<Backup> {
    const { directory } = this.#options
    const createdAt = timestampOfMillis(this.#parts.now())
    const name = createdAt.slice(0, 23).replace(' ', 'T').replaceAll(/[:.]/g, '-')
    const folderId = await folderIdOf(folder)
    const partial = join(directory, `${PARTIAL}${folderId}-${name}`)
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await this.#removePartial(folderId)
      await mkdir(partial, { mode: 0o700 })
      await this.#checkSpace(folder)
      const manifest = await this.#fill({ folder, partial, createdAt, folderId })
      await rename(partial, join(directory, name))
      await syncPath(directory)
      await this.#prune(folderId)
      return backupOf(name, manifest)
    } catch (error) {
      await rm(partial, { recursive: true, force: true }).catch(() => {})
      // The aborted copy fails with a vague error, so throw the clearer one first.
      this.#closing.signal.throwIfAborted()
      throw backupError(error, directory)
    }
  }

  /** Writes all files of the backup. They are on disk when the promise resolves. */
  async #fill(target: {
    readonly folder: string
    readonly partial: string
    readonly createdAt: string
    readonly folderId: string
  }): Promise<Manifest> {
    const { folder, partial, createdAt, folderId } = target
    const { hasKeys, version: eiderVersion } = this.#options
    const contents = contentsOf(this.#parts.snapshot())
    const { tables, kept } = await this.#copyDatabaseAndFiles(folder, partial)
    const names = [DATABASE_FILE, ...(hasKeys ? KEY_FILES : []), ...kept]
    for (const key of hasKeys ? KEY_FILES : [])
      await copyFile(join(folder, key), join(partial, key))
    const files = []
    for (const name of names) {
      await chmod(join(partial, name), 0o600)
      await syncPath(join(partial, name))
      files.push(await describedFile(partial, name))
    }
    const manifest = newManifest({ eiderVersion, createdAt, folderId, contents, tables, files })
    const path = join(partial, MANIFEST_FILE)
    await writeFile(path, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true })
    await syncPath(partial)
    return manifest
  }

  /** Every file in its catalog. None is removed during the copy, and contents never change. */
  #copyDatabaseAndFiles(folder: string, partial: string) {
    return this.#parts.bytes.whileHeld(async () => {
      const tables = await this.#copyDatabase(join(partial, DATABASE_FILE))
      // Copies all files. Opening the backup removes those added after the database was copied.
      const keys = await this.#parts.bytes.keys()
      if (keys.length > 0) await mkdir(join(partial, CONTENTS_FOLDER), { mode: 0o700 })
      const kept = keys.map((key) => `${CONTENTS_FOLDER}/${key}`)
      for (const name of kept) {
        this.#closing.signal.throwIfAborted()
        // Uses copy-on-write where the file system supports it.
        await copyFile(join(folder, name), join(partial, name), constants.COPYFILE_FICLONE)
      }
      return { tables, kept }
    })
  }

  /** Exports the database to the exports folder first, the only folder DuckDB may write to. */
  async #copyDatabase(target: string) {
    const { database } = this.#parts
    const staged = join(database.exportsDirectory, `${crypto.randomUUID()}.duckdb`)
    await mkdir(dirname(staged), { recursive: true, mode: 0o700 })
    try {
      const tables = await copyDatabase(database, staged, this.#closing.signal)
      await moveFile(staged, target)
      return tables
    } finally {
      await rm(staged, { force: true })
      await rm(`${staged}.wal`, { force: true })
    }
  }

  async #checkSpace(folder: string): Promise<void> {
    const database = await stat(join(folder, DATABASE_FILE))
    const size = database.size + this.#parts.bytes.sizeBytes
    for (const place of [folder, this.#options.directory]) {
      const { bavail, bsize } = await statfs(place)
      if (bavail * bsize >= size + SPARE_BYTES) continue
      const wanted = `${mebibytes(size + SPARE_BYTES)} MiB, ${mebibytes(bavail * bsize)} are free`
      throw new AppError('storage_full', `A backup needs up to ${wanted} in ${place}; ${NEXT_STEP}`)
    }
  }

  async #removePartial(folderId: string): Promise<void> {
    const { directory } = this.#options
    for (const name of await readdir(directory)) {
      if (!name.startsWith(`${PARTIAL}${folderId}-`)) continue
      await rm(join(directory, name), { recursive: true, force: true })
    }
  }

  /** Removes old backups of this data folder. Other servers may use the same backup folder. */
  async #prune(folderId: string): Promise<void> {
    const { directory, keep } = this.#options
    const all = await manifestsIn(directory)
    const own = all.filter(({ manifest }) => manifest.folderId === folderId)
    for (const { name } of own.slice(0, Math.max(0, own.length - keep))) {
      // Rename first: if the process dies during removal, the next backup removes the rest.
      const removed = join(directory, `${PARTIAL}${folderId}-${name}`)
      await rename(join(directory, name), removed)
      await rm(removed, { recursive: true, force: true })
    }
  }
}

/** Shared with restored copies, which have the same key. Does not reveal it. */
async function folderIdOf(folder: string): Promise<string> {
  const key = await Bun.file(join(folder, KEY_FILES[0])).bytes()
  return createHash('sha256').update(key).digest('hex').slice(0, 12)
}

function backupOf(name: string, manifest: Manifest): Backup {
  return {
    name,
    sizeBytes: sizeBytesOf(manifest),
    createdAt: manifest.createdAt,
    hasKeys: manifest.files.some((file) => file.name === KEY_FILES[0]),
    rowCount: rowCountOf(manifest),
  }
}

/** Returns the manifests of complete backups in this folder, oldest first. */
async function manifestsIn(
  directory: string,
): Promise<readonly { readonly name: string; readonly manifest: Manifest }[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (systemCodeOf(error) === 'ENOENT') return []
    throw backupError(error, directory)
  })
  const found = []
  for (const name of names.filter((one) => !one.startsWith('.')).sort()) {
    const manifest = await readManifest(join(directory, name)).catch(() => null)
    if (manifest !== null) found.push({ name, manifest })
  }
  return found
}

/** Renames the file, or copies it if the target is on another disk. */
async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (systemCodeOf(error) !== 'EXDEV') throw error
    await copyFile(from, to)
  }
}

function contentsOf(snapshot: CatalogSnapshot): Readonly<Record<string, number>> {
  const { projects, knowledgeBases, agents, views, tables, files } = snapshot
  return {
    projects: projects.length,
    knowledgeBases: knowledgeBases.length,
    agents: agents.length,
    views: views.length,
    tables: tables.length,
    files: files.length,
  }
}

function backupError(error: unknown, directory: string): unknown {
  const resource = resourceError(error)
  if (resource instanceof AppError) return resource
  const code = systemCodeOf(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new AppError('storage_full', `The disk is too full for a backup; ${NEXT_STEP}`, {
      cause: error,
    })
  }
  if (code === undefined) return error
  const message = `The folder of backups ${directory} cannot be used (${code}); name another in EIDER_BACKUP_DIR`
  return new AppError('backup_failed', message, { cause: error })
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 1024 ** 2)
}

interface ScheduleOptions {
  /** A cron expression in the machine's time zone; undefined turns automatic backups off. */
  readonly pattern: string | undefined
  /** Called when a scheduled backup has failed. */
  readonly onFailure: (error: unknown) => void
}

export class BackupSchedule {
  readonly #backups: StoredBackups
  readonly #options: ScheduleOptions
  #cron: Cron | null = null

  constructor(backups: StoredBackups, options: ScheduleOptions) {
    this.#backups = backups
    this.#options = options
  }

  start(): void {
    const { pattern, onFailure } = this.#options
    if (pattern === undefined) return
    // Skips a run while the previous one is still going. The timer does not keep the process alive.
    this.#cron = new Cron(pattern, { protect: true, unref: true, catch: onFailure }, async () => {
      await this.#backups.create()
    })
  }

  state(): BackupState {
    const nextMs = this.#cron?.nextRun()?.getTime()
    return {
      ...this.#backups.state(),
      next: nextMs === undefined ? null : timestampOfMillis(nextMs),
    }
  }

  /** Stops the schedule. A running backup continues. */
  close(): void {
    this.#cron?.stop()
  }
}
