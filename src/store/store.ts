import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { findProject } from '../core/domain/access/catalog-snapshot.ts'
import { DEFAULT_PROJECT } from '../core/domain/names.ts'
import type { CommitListener } from '../core/domain/ports/retrieval-ports.ts'
import type { AppError } from '../core/errors.ts'
import { allRows } from '../core/runtime/all-rows.ts'
import { MemoryCeiling } from '../core/runtime/process-limits.ts'
import { type BackupOptions, StoredBackups } from './backup/backups.ts'
import { loadCatalog, openCheckedSecrets } from './catalog/catalog-rows.ts'
import type { StoreParts } from './catalog/catalog-state.ts'
import { MIGRATIONS, type Migration, migrate } from './catalog/migrate.ts'
import { modeWarnings, type Secrets } from './catalog/secrets.ts'
import { StoredDataSources } from './catalog/stored-data-sources.ts'
import { StoredDerivedFiles } from './derived-files.ts'
import { addContextTables } from './documents/chunk-columns.ts'
import { KeywordLanguages, markOlderTerms } from './documents/keyword-languages.ts'
import type { ListedDocuments } from './documents/listed-documents.ts'
import { StoredChunks } from './documents/stored-chunks.ts'
import { StoredReembedding } from './documents/stored-reembedding.ts'
import type { StoredVectors } from './documents/stored-vectors.ts'
import { Database } from './duckdb/database.ts'
import { refusedByDuckDb } from './duckdb/database-error.ts'
import { StoredEngine } from './duckdb/engine.ts'
import { lockNoteOf } from './duckdb/locked-instance.ts'
import { machineBytes, memoryBytesOf } from './duckdb/memory-watchdog.ts'
import type { StuckStatement } from './duckdb/open-statements.ts'
import { Extensions } from './hnsw/extensions.ts'
import { HnswFactory } from './hnsw/hnsw-accelerator.ts'
import { documentStores } from './postgres/fresh-stores.ts'
import { StorageMoves } from './postgres/storage-moves.ts'
import { WorkingCopies } from './postgres/working-copies.ts'
import { type AuditLimits, StoredAudit } from './records/stored-audit.ts'
import { type ConversationLimits, StoredConversations } from './records/stored-conversations.ts'
import { StoredJobs } from './records/stored-jobs.ts'
import { StoredKeys } from './records/stored-keys.ts'
import { type ScheduleLimits, StoredSchedules } from './records/stored-schedules.ts'
import { StoredSources } from './records/stored-sources.ts'
import { StoredTraces, type TraceLimits } from './records/stored-traces.ts'
import { StoredRevokedTokens, StoredUsers } from './records/stored-users.ts'
import { StoredCatalog } from './stored-catalog.ts'
import { FileContents } from './tables/file-contents.ts'
import { StoredImportFiles, type StoredKnowledgeBaseFiles } from './tables/knowledge-base-files.ts'
import { StoredFiles } from './tables/stored-files.ts'
import { StoredTables } from './tables/stored-tables.ts'
import { DiskSpace } from './upkeep/disk-space.ts'
import type { StoredSizes } from './upkeep/stored-sizes.ts'
import { Upkeep } from './upkeep/upkeep.ts'

export interface StoreOptions {
  /** The data folder. `:memory:` keeps nothing on disk. */
  readonly directory: string
  /** For example `512MB`, `4GiB`, or `60%` of the machine's memory. */
  readonly memoryLimit?: string
  /** The number of threads of the SQL engine; 0 means one per core. */
  readonly threads?: number
  /** How much data statements may spill to disk, for example `10GiB`. */
  readonly spillLimit?: string
  /** Space to keep free on the data folder's disk, for example `256MB`. None by default. */
  readonly diskReserve?: string
  /** Returns the free bytes on a folder's disk. By default, asks the operating system. */
  readonly freeBytesOf?: (directory: string) => number
  /** Threads for DuckDB's calls (`UV_THREADPOOL_SIZE`). Two are kept free of clients' statements. */
  readonly threadPoolSize?: number
  /** A folder for DuckDB extensions besides DuckDB's own. It may not exist. */
  readonly extensionDirectory?: string
  /** Whether DuckDB may download a missing extension. */
  readonly isExtensionInstallAllowed?: boolean
  /** Where this process will listen, to show to a process that finds the folder in use. */
  readonly address?: string
  /** Called once if DuckDB has shut the database down and only a restart helps. */
  readonly onFatal?: (error: AppError) => void
  /** Called with warnings for the operator. The folder can still be used. */
  readonly onWarning?: (message: string) => void
  readonly backups?: Partial<BackupOptions>
  readonly schedules?: Partial<ScheduleLimits>
  readonly traces?: Partial<TraceLimits>
  readonly conversations?: Partial<ConversationLimits>
  readonly audit?: Partial<AuditLimits>
  /** `onStuck` is called if a statement still runs this long after its client got an answer. */
  readonly stuckMs?: number
  readonly onStuck?: (stuck: StuckStatement) => void
  /** Handles memory with its own limit. */
  readonly ceiling?: MemoryCeiling
  /** Called if the process outgrows its memory and must restart, if no container limit is set. */
  readonly onMemoryFull?: (error: AppError) => void
  /** Returns the process's resident memory in bytes. */
  readonly rss?: () => number
  readonly now?: () => number
  readonly migrations?: readonly Migration[]
}

export interface Store {
  readonly catalog: StoredCatalog
  readonly dataSourceCatalog: StoredDataSources
  readonly sources: StoredSources
  readonly chunks: StoredChunks
  /** Copies of knowledge bases whose rows are in PostgreSQL. */
  readonly copies: WorkingCopies
  readonly moves: StorageMoves
  readonly jobs: StoredJobs
  readonly schedules: StoredSchedules
  readonly documents: ListedDocuments
  readonly traces: StoredTraces
  readonly conversations: StoredConversations
  readonly transfers: StoredKnowledgeBaseFiles
  readonly importFiles: StoredImportFiles
  readonly reembeddingStore: StoredReembedding
  readonly keywordLanguages: KeywordLanguages
  readonly files: StoredFiles
  readonly tables: StoredTables
  readonly engine: StoredEngine
  readonly vectors: StoredVectors
  readonly hnsw: HnswFactory
  readonly derived: StoredDerivedFiles
  readonly mapFiles: StoredDerivedFiles
  readonly extensions: Extensions
  readonly revokedTokens: StoredRevokedTokens
  readonly keys: StoredKeys
  readonly users: StoredUsers
  readonly audit: StoredAudit
  readonly secrets: Secrets
  readonly contents: FileContents
  readonly backups: StoredBackups
  readonly upkeep: Upkeep
  readonly sizes: StoredSizes
  /** The folder for incoming uploads, emptied at startup. Null: nothing is kept on disk. */
  readonly uploadsFolder: string | null
  readonly ceiling: MemoryCeiling
  /** The folder where remote rows are staged for DuckDB, and the space to keep free on its disk. */
  readonly staging: { readonly directory: string; readonly reserveBytes: number }
  /** Sets the listener for commits; there is only one. */
  setListener(listener: CommitListener): void
  /** Close listeners and readers first. */
  close(): Promise<void>
}

const DEFAULT_MEMORY_LIMIT = '60%'

const STATEMENTS_WAITING_MAX = 1000
const THREADS_KEPT_FREE = 2
/**
 * More statements would only compete for cores. No slot is taken while a client reads its result.
 */
const STATEMENTS_PER_CORE = 4

/** Or creates one. @throws StartError for the person who starts the program */
export async function openStore(options: StoreOptions): Promise<Store> {
  const directory = options.directory === ':memory:' ? null : resolve(options.directory)
  const now = options.now ?? Date.now
  const space = new DiskSpace({
    directory,
    reserveBytes: reserveBytesOf(options),
    freeBytesOf: options.freeBytesOf,
  })
  const database = await Database.open({
    directory,
    memoryLimit: options.memoryLimit ?? DEFAULT_MEMORY_LIMIT,
    threads: options.threads ?? 0,
    spillLimit: space.boundedSpill(options.spillLimit ?? '50GiB'),
    note: lockNoteOf(now(), options.address),
    ...(options.onFatal === undefined ? {} : { onFatal: options.onFatal }),
  })
  try {
    const { ceiling = new MemoryCeiling() } = options
    const parts = { ...options, now, folder: directory, space, ceiling }
    const store = await storeOver(database, parts)
    database.expectLog()
    // Set after opening, because a store must open even if the disk is full.
    database.checkBeforeWrites((wantedBytes) => space.check(wantedBytes))
    const warning = space.refusal()
    if (warning !== undefined) options.onWarning?.(warning)
    const staging = { directory: database.exportsDirectory, reserveBytes: reserveBytesOf(options) }
    return { ...store, staging }
  } catch (error) {
    await database.close()
    throw refusedByDuckDb(options.directory, error) ?? error
  }
}

function reserveBytesOf({ diskReserve }: StoreOptions): number {
  return memoryBytesOf(diskReserve ?? '0MB')
}

async function storeOver(
  database: Database,
  options: StoreOptions & {
    readonly now: () => number
    readonly folder: string | null
    readonly space: DiskSpace
    readonly ceiling: MemoryCeiling
  },
): Promise<Omit<Store, 'staging'>> {
  const { now, folder, space, ceiling } = options
  const secrets = await migratedFolder(database, folder, options)
  const state = await loadCatalog(database, secrets)
  database.claim()
  const checkSpace = (bytes: number) => database.checkSpace(bytes)
  const contents = await FileContents.open(
    { directory: folder, checkSpace },
    state.snapshot().files,
  )
  const parts = { database, state, secrets, now }
  await completeOlderFolder(parts)
  const languages = new KeywordLanguages(parts)
  const jobs = await StoredJobs.open({ database, secrets, now, directory: folder })
  const engine = new StoredEngine(database, engineOptionsOf(options))
  const extensions = await extensionsOf(database, options)
  const hnsw = new HnswFactory(engine, extensions, ceiling)
  const catalog = await catalogOver(parts, languages)
  const chunks = new StoredChunks(parts, languages, jobs)
  const copies = await WorkingCopies.open(parts, chunks)
  const importFiles = await importFilesOf(jobs, folder)
  const own = { database, folder, now, bytes: contents, snapshot: () => state.snapshot() }
  const records = await recordStores(parts, options)
  const backups = await StoredBackups.open(own, backupOptionsOf(options))
  const upkeep = startedUpkeep(database, space, folder)
  return {
    catalog,
    dataSourceCatalog: new StoredDataSources(parts),
    sources: await StoredSources.open(parts),
    copies,
    moves: new StorageMoves(parts, chunks, copies),
    jobs,
    ...documentStores({ database, engine, chunks, copies }),
    importFiles,
    ...records,
    schedules: await StoredSchedules.open(parts, options.schedules),
    reembeddingStore: new StoredReembedding(parts),
    files: new StoredFiles({ ...parts, engine, contents }),
    tables: new StoredTables({ ...parts, engine }),
    engine,
    ceiling,
    hnsw,
    ...derivedStores(folder, checkSpace),
    extensions,
    ...(await loginStores(parts)),
    secrets,
    backups,
    upkeep,
    contents,
    uploadsFolder: contents.incomingFolder,
    keywordLanguages: languages,
    setListener: (listener) => state.setListener(listener),
    close: () => {
      const others = [
        copies,
        chunks,
        languages,
        backups,
        extensions,
        upkeep,
        hnsw,
        engine,
        database,
      ]
      return closeInTurn([...Object.values(records), ...others, contents, jobs, importFiles])
    },
  }
}

function startedUpkeep(database: Database, space: DiskSpace, folder: string | null): Upkeep {
  const upkeep = new Upkeep({ database, space })
  if (folder !== null) upkeep.start()
  return upkeep
}

function derivedStores(folder: string | null, checkSpace: (bytes: number) => void) {
  return {
    derived: new StoredDerivedFiles(folder, checkSpace),
    mapFiles: new StoredDerivedFiles(folder, checkSpace, 'maps'),
  }
}

async function loginStores({
  database,
  now,
}: StoreParts): Promise<Pick<Store, 'revokedTokens' | 'users'>> {
  const revokedTokens = await StoredRevokedTokens.open(database, now)
  return { revokedTokens, users: await StoredUsers.open(database, now) }
}

async function recordStores(
  parts: StoreParts,
  options: StoreOptions,
): Promise<Pick<Store, 'traces' | 'conversations' | 'keys' | 'audit'>> {
  const traces = await StoredTraces.open(parts, options.traces)
  const conversations = await StoredConversations.open(parts, options.conversations)
  const { database, now } = parts
  const audit = await StoredAudit.open(database, now, options.audit)
  return { traces, conversations, keys: await StoredKeys.open(database, now), audit }
}

/** Opens the folder and migrates it to the newest version. */
async function migratedFolder(
  database: Database,
  folder: string | null,
  { migrations = MIGRATIONS, onWarning }: StoreOptions,
): Promise<Secrets> {
  const secrets = await openCheckedSecrets(database, folder)
  await migrate(database, migrations)
  if (folder !== null) for (const one of modeWarnings(folder)) onWarning?.(one)
  return secrets
}

async function catalogOver(parts: StoreParts, languages: KeywordLanguages): Promise<StoredCatalog> {
  const catalog = new StoredCatalog(parts, languages)
  if (findProject(catalog.snapshot(), DEFAULT_PROJECT) === undefined) {
    await catalog.createProject(DEFAULT_PROJECT)
  }
  return catalog
}

/** Creates tables that are missing in knowledge bases from an older version. */
async function completeOlderFolder(parts: StoreParts): Promise<void> {
  await addContextTables(parts.database, parts.state.snapshot().knowledgeBases)
  await markOlderTerms(parts)
}

const BACKUPS_FOLDER = 'backups'

function backupOptionsOf(options: StoreOptions): BackupOptions {
  const { directory, ...others } = options.backups ?? {}
  return {
    directory: resolve(directory ?? join(options.directory, BACKUPS_FOLDER)),
    hasKeys: true,
    keep: Number.POSITIVE_INFINITY,
    version: 'unknown',
    ...others,
  }
}

async function extensionsOf(database: Database, options: StoreOptions): Promise<Extensions> {
  return new Extensions({
    ...(await buildOf(database)),
    directory: options.extensionDirectory ?? null,
    isInstallAllowed: options.isExtensionInstallAllowed ?? false,
  })
}

/** Returns DuckDB's version and platform, which an extension must match. */
async function buildOf(database: Database) {
  const sql = 'SELECT library_version, platform FROM pragma_version(), pragma_platform()'
  const [[version, platform] = []] = await database.lease((connection) => allRows(connection, sql))
  return { version: String(version), platform: String(platform) }
}

function engineOptionsOf(options: StoreOptions & { readonly ceiling: MemoryCeiling }) {
  const cores = availableParallelism()
  const free = (options.threadPoolSize ?? cores) - THREADS_KEPT_FREE
  return {
    statementsMax: Math.max(1, Math.min(free, Math.max(cores, 2) * STATEMENTS_PER_CORE)),
    waitingMax: STATEMENTS_WAITING_MAX,
    stuckMs: options.stuckMs ?? 2_000,
    onStuck: options.onStuck ?? (() => {}),
    memoryLimits: {
      engineBytesMax: memoryBytesOf(options.memoryLimit ?? DEFAULT_MEMORY_LIMIT),
      machineBytes: machineBytes(),
    },
    memory: {
      rss: options.rss ?? (() => process.memoryUsage.rss()),
      ceiling: options.ceiling,
      onFull: options.onMemoryFull ?? (() => {}),
    },
  }
}

async function importFilesOf(jobs: StoredJobs, folder: string | null): Promise<StoredImportFiles> {
  const requests: unknown[] = []
  for (const { id, kind } of jobs.list()) {
    if (kind === 'import') requests.push((await jobs.workOf(id)).request)
  }
  return StoredImportFiles.open(folder, requests)
}

async function closeInTurn(parts: readonly { close(): void | Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.close()
}
