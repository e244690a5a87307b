import { rm } from 'node:fs/promises'
import type {
  DataSource,
  DataSourceEngine,
  SourceColumn,
  SourceTable,
  SourceTableName,
} from '../core/domain/flow/source-parameters.ts'
import type {
  DataSources,
  RunLimits,
  SourceSelect,
  StagedRows,
} from '../core/domain/ports/engine-ports.ts'
import type { RemoteBegin, RemoteDatabases, RunRemote } from '../core/domain/ports/storage-ports.ts'
import { AppError } from '../core/errors.ts'
import { startDeadline } from '../core/runtime/cancellation.ts'
import { LruMap } from '../core/runtime/lru-map.ts'
import { MINUTE_MS } from '../core/time.ts'
import type { SourceEngine, SourceWork } from './source-engine.ts'

export type Engines = Readonly<Record<DataSourceEngine, SourceEngine>>

const CATALOG_MS = 20_000
/** Facts about a source's tables are cached for this long. */
const KNOWN_MS = 30_000
const KNOWN_MAX = 10_000

/** All data sources of all engines, with deadlines, streams, and a cache of table facts. */
export class Sources implements DataSources, RemoteDatabases {
  readonly #engines: Engines
  readonly #nowMs: () => number
  readonly #answers = new LruMap<string, { readonly untilMs: number; readonly answer: unknown }>({
    sizeMax: KNOWN_MAX,
  })
  /** The generation of each source's cached facts. Raising it drops earlier ones. */
  readonly #generations = new Map<number, number>()

  constructor({ engines, nowMs }: { readonly engines: Engines; readonly nowMs: () => number }) {
    this.#engines = engines
    this.#nowMs = nowMs
  }

  check(source: DataSource, signal: AbortSignal): Promise<void> {
    return this.#timed(source, CATALOG_LIMITS, signal, (engine, work) => engine.check(source, work))
  }

  tables(source: DataSource, signal: AbortSignal): Promise<readonly SourceTable[]> {
    return this.describeTables(source, signal)
  }

  describeTables(source: DataSource, signal: AbortSignal) {
    return this.#known(source, 'tables', signal, (engine, work) => engine.tables(source, work))
  }

  columns(source: DataSource, table: SourceTableName, signal: AbortSignal) {
    const key = JSON.stringify([table.schema, table.name])
    return this.#known(source, key, signal, (engine, work) => engine.columns(source, table, work))
  }

  describe(source: DataSource, sql: string, signal: AbortSignal): Promise<readonly SourceColumn[]> {
    return this.#timed(source, CATALOG_LIMITS, signal, (engine, work) => {
      return engine.describe(source, sql, work)
    })
  }

  stage(
    source: DataSource,
    select: SourceSelect,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<StagedRows> {
    return this.#timed(source, limits, signal, async (engine, work) => {
      const { path, ...copied } = await engine.copy(source, select, work)
      return { ...copied, release: () => rm(path, { recursive: true, force: true }) }
    })
  }

  transaction<T>(
    source: DataSource,
    begin: RemoteBegin,
    signal: AbortSignal,
    use: (run: RunRemote) => Promise<T>,
  ): Promise<T> {
    return this.#timed(source, begin.limits ?? STORAGE_LIMITS, signal, (engine, work) => {
      if (engine.transaction !== undefined) return engine.transaction(source, begin, work, use)
      throw storesNothing(source)
    })
  }

  select(
    source: DataSource,
    begin: Omit<RemoteBegin, 'mode'>,
    signal: AbortSignal,
    select: SourceSelect,
  ): ReturnType<RunRemote> {
    return this.#timed(source, begin.limits ?? STORAGE_LIMITS, signal, (engine, work) => {
      if (engine.select !== undefined) return engine.select(source, begin, work, select)
      throw storesNothing(source)
    })
  }

  forgetTables({ id }: Pick<DataSource, 'id'>): void {
    this.#generations.set(id, (this.#generations.get(id) ?? 0) + 1)
  }

  async forget({ id }: Pick<DataSource, 'id'>): Promise<void> {
    this.forgetTables({ id })
    await Promise.all(Object.values(this.#engines).map((engine) => engine.forget({ id })))
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#engines).map((engine) => engine.close()))
  }

  /** Failures are not cached. */
  async #known<T>(
    source: DataSource,
    what: string,
    signal: AbortSignal,
    ask: (engine: SourceEngine, work: SourceWork) => Promise<T>,
  ): Promise<T> {
    const generation = this.#generations.get(source.id) ?? 0
    const key = `${source.id} ${generation} ${source.updatedAt} ${what}`
    const found = this.#answers.get(key)
    // The value under a key is always the result of its own request.
    if (found !== undefined && found.untilMs > this.#nowMs()) return found.answer as T
    const answer = await this.#timed(source, CATALOG_LIMITS, signal, ask)
    this.#answers.set(key, { untilMs: this.#nowMs() + KNOWN_MS, answer })
    return answer
  }

  async #timed<T>(
    source: DataSource,
    limits: RunLimits,
    signal: AbortSignal,
    use: (engine: SourceEngine, work: SourceWork) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted()
    const { deadline, work } = this.#deadline(source, limits, signal)
    try {
      return await use(this.#engines[source.engine], work)
    } finally {
      deadline.end()
    }
  }

  #deadline(source: DataSource, { timeoutMs, setting }: RunLimits, signal: AbortSignal) {
    const deadline = startDeadline({
      timeoutMs,
      signals: [signal],
      timeoutError: (ms) => timeoutError(source, ms, setting),
    })
    const until = this.#nowMs() + timeoutMs
    const work: SourceWork = { signal: deadline.signal, remainingMs: () => until - this.#nowMs() }
    return { deadline, work }
  }
}

const CATALOG_LIMITS: RunLimits = { timeoutMs: CATALOG_MS }
/** Copying many chunks or indexing them takes a while. */
const STORAGE_LIMITS: RunLimits = { timeoutMs: 10 * MINUTE_MS }

function storesNothing({ name, engine }: DataSource): AppError {
  const message = `Data source ${name} (${engine}) holds no knowledge bases; postgres does`
  return new AppError('sql_not_supported', message)
}

function timeoutError(source: DataSource, ms: number, setting: string | undefined): AppError {
  const which = setting === undefined ? '' : ` (${setting})`
  return new AppError('timeout', `Data source ${source.name} took longer than ${ms} ms${which}`)
}
