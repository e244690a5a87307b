import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { findProject } from '../domain/catalog-snapshot.ts'
import type { VectorIndexStates } from '../domain/ports.ts'
import { DEFAULT_PROJECT } from '../domain/project.ts'
import type { AppError } from '../errors.ts'
import { AskedIndexes } from './asked-indexes.ts'
import { StoredCatalog } from './catalog.ts'
import { StoredChunks } from './chunks.ts'
import { Database } from './database.ts'
import { StoredEngine } from './engine.ts'
import { Extensions } from './extensions.ts'
import { clearUploads } from './file-reader.ts'
import { StoredFiles } from './files.ts'
import { indexOlderKnowledgeBases } from './index-older-knowledge-bases.ts'
import { loadCatalog } from './load-catalog.ts'
import { lockNoteOf } from './lock-note.ts'
import { memoryBytesOf } from './memory-limit.ts'
import { MIGRATIONS, type Migration, migrate } from './migrate.ts'
import { StoredNextVectors } from './next-vectors.ts'
import { openRevokedTokens, type RevokedTokens } from './revoked-tokens.ts'
import { openSecrets, type Secrets } from './secrets.ts'
import { StoredTables } from './tables.ts'
import { StoredIndexStates } from './vector-index-states.ts'
import { VectorIndexes } from './vector-indexes.ts'

export interface StoreOptions {
  /** The data folder; `:memory:` keeps nothing. */
  readonly directory: string
  /** `512MB`, `4GiB` or `60%` of the machine. */
  readonly memoryLimit?: string
  /** Threads of the SQL engine; 0: one per core. */
  readonly threads?: number
  /** What statements may spill to disk, as `10GiB`. */
  readonly spillLimit?: string
  /**
   * Threads on which DuckDB's calls run (`UV_THREADPOOL_SIZE`): two of them are kept free of
   * callers' statements.
   */
  readonly threadPoolSize?: number
  /** SQL statements that may wait for a free place. */
  readonly statementsWaitingMax?: number
  /** Memory for copies of vectors, as `512MB` or `20%` of the machine; `0MB`: none. */
  readonly vectorMemory?: string
  /** Vectors of a knowledge base that memory holds whole; of more, only their codes. */
  readonly wholeVectorsMax?: number
  /** Where DuckDB's extensions are kept, beside its own folder; it need not exist. */
  readonly extensionDirectory?: string
  /** DuckDB may fetch the extension that is missing. */
  readonly isExtensionInstallAllowed?: boolean
  /** Where this process is going to listen: told to whoever finds the folder in use. */
  readonly address?: string
  /** Called once when the database has stopped itself, as after a full disk: only a restart helps. */
  readonly onFatal?: (error: AppError) => void
  readonly now?: () => number
  readonly migrations?: readonly Migration[]
}

/** Everything that is stored, behind the ports of the domain. */
export interface Store {
  readonly catalog: StoredCatalog
  readonly chunks: StoredChunks
  readonly nextVectors: StoredNextVectors
  readonly files: StoredFiles
  readonly tables: StoredTables
  readonly engine: StoredEngine
  readonly vectorIndexes: VectorIndexes
  readonly indexStates: VectorIndexStates
  readonly extensions: Extensions
  readonly revokedTokens: RevokedTokens
  readonly secrets: Secrets
  /** Ends statements, waits for writes, moves the log into the file. */
  close(): Promise<void>
}

const THREADS_KEPT_FREE = 2

/**
 * Opens the data folder, new or old. @throws StartError with a message for whoever starts the
 * program
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const directory = options.directory === ':memory:' ? null : resolve(options.directory)
  const now = options.now ?? Date.now
  const database = await Database.open({
    directory,
    memoryLimit: options.memoryLimit ?? '60%',
    threads: options.threads ?? 0,
    spillLimit: options.spillLimit ?? '50GiB',
    note: lockNoteOf(now(), options.address),
    ...(options.onFatal === undefined ? {} : { onFatal: options.onFatal }),
  })
  try {
    return await storeOver(database, { ...options, now, folder: directory })
  } catch (error) {
    await database.close()
    throw error
  }
}

interface OpenedOptions extends StoreOptions {
  readonly now: () => number
  readonly folder: string | null
}

async function storeOver(database: Database, options: OpenedOptions): Promise<Store> {
  const { now, folder } = options
  if (folder !== null) await clearUploads(folder)
  await migrate(database, options.migrations ?? MIGRATIONS)
  const secrets = openSecrets(folder)
  const state = await loadCatalog(database, secrets)
  await indexOlderKnowledgeBases(database, state.snapshot().knowledgeBases)
  const parts = { database, state, secrets, now }
  const engine = new StoredEngine(database, engineOptionsOf(options))
  const extensions = new Extensions({
    ...(await buildOf(database)),
    directory: options.extensionDirectory ?? null,
    isInstallAllowed: options.isExtensionInstallAllowed ?? false,
  })
  const vectorIndexes = new VectorIndexes({
    database,
    state,
    engine,
    asked: new AskedIndexes({ engine, extensions }),
    bytesMax: memoryBytesOf(options.vectorMemory ?? '20%'),
    wholeVectorsMax: options.wholeVectorsMax ?? 250_000,
  })
  const catalog = new StoredCatalog(parts)
  if (findProject(state.snapshot(), DEFAULT_PROJECT) === undefined) {
    await catalog.createProject(DEFAULT_PROJECT)
  }
  return {
    catalog,
    chunks: new StoredChunks({ ...parts, vectorIndexes }),
    nextVectors: new StoredNextVectors(parts),
    files: new StoredFiles({ ...parts, directory: folder, engine }),
    tables: new StoredTables({ ...parts, engine }),
    engine,
    vectorIndexes,
    indexStates: new StoredIndexStates({
      state,
      extensions,
      nearest: vectorIndexes,
      reportOf: (kb) => vectorIndexes.reportOf(kb),
    }),
    extensions,
    revokedTokens: await openRevokedTokens(database, now),
    secrets,
    close: async () => {
      extensions.close()
      await vectorIndexes.close()
      await engine.close()
      await database.close()
    },
  }
}

/** Of DuckDB: what an extension must be made for. */
async function buildOf(database: Database) {
  const sql = 'SELECT library_version, platform FROM pragma_version(), pragma_platform()'
  const reader = await database.lease((connection) => connection.runAndReadAll(sql))
  const [version, platform] = reader.getRows()[0] ?? []
  return { version: String(version), platform: String(platform) }
}

function engineOptionsOf(options: StoreOptions) {
  const poolSize = options.threadPoolSize ?? availableParallelism()
  return {
    statementsMax: Math.max(1, poolSize - THREADS_KEPT_FREE),
    waitingMax: options.statementsWaitingMax ?? 1000,
  }
}
