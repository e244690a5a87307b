import type { ColumnCondition } from '../column-condition.ts'
import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTable,
  SourceTableName,
} from '../flow/source-parameters.ts'
import type { RowStream } from '../query-result.ts'
import type { RestartState } from '../server-state.ts'

/**
 * What SQL execution needs from the engine: it runs statements and returns rows. Implemented in
 * `store/duckdb/`.
 */

/** A value bound to a placeholder `$name`. A Float32Array is bound as a vector. */
export type BoundValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Float32Array
  | readonly BoundValue[]

export interface BoundSql {
  /** With a list of bigint values, `key IN ($name)` uses the column's index, if there is one. */
  readonly sql: string
  readonly values: Readonly<Record<string, BoundValue>>
  /** Whether the result has few rows, so that all are read at once. */
  readonly isShort?: boolean
}

/** A SELECT that returns the keys of matching chunks as `__chunk_key`. */
export interface PrefilterSql extends BoundSql {
  /**
   * False if the conditions read the clock: the same statement may then select other chunks
   * although nothing was written.
   */
  readonly isCacheable: boolean
  /** The same conditions for checking in memory; null if only the database can check them. */
  readonly condition: ColumnCondition | null
}

export interface RunLimits {
  /** Covers waiting, execution and reading the rows. */
  readonly timeoutMs: number
  /** How much of the limit is already spent; unset means none. */
  readonly spentMs?: number
  /** The setting that the message names; unset if there is none. */
  readonly setting?: string
  /**
   * If set, `timeoutMs` ends at the first rows and this limit starts there. For readers that
   * process rows as they arrive.
   */
  readonly readingMs?: number
}

/** Parses SQL and runs guarded SELECTs in DuckDB. */
export interface SqlEngine {
  /**
   * The syntax tree of one SELECT as JSON text (`json_serialize_sql`).
   * @throws AppError `sql_syntax` (with line and column), `sql_not_supported` for anything but a SELECT
   */
  parse(sql: string): Promise<string>
  print(tree: string): Promise<string>
  /**
   * Runs one statement in a READ ONLY transaction and streams its rows. Waits for a concurrency
   * slot first; the deadline includes waiting and reading the rows. The caller must have guarded
   * the statement. The slot is free while no rows are being fetched. A statement that turns out
   * slow in a slot for short ones is restarted in another.
   * @throws AppError `timeout`, `too_busy`, `out_of_memory`, `sql_failed`, `sql_unknown_name`
   */
  run(statement: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<RowStream>
  /**
   * Adds `encoded` to rows that did not come from `run`. It reads all rows first, to find each
   * column's type.
   */
  withEncoding(rows: RowStream): RowStream
  /** Runs one SELECT like `run` and returns all rows as a Parquet file, with DuckDB's own types. */
  exportParquet(select: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<ExportedRows>
}

/** A complete, unlinked file. A caller that starts reading must read to the end or return. */
export interface ExportedRows {
  readonly pieces: AsyncGenerator<Uint8Array, void, void>
}

/** Records running work, so that it is known after a crash. Recording takes about a microsecond. */
export interface RunningWork {
  /** @param what describes the work for people, for example by the request's method and path */
  begin(what: string): RunningEntry
  /**
   * Refuses, for a while, a statement similar to one that crashed the server. @throws AppError
   * `sql_too_costly`
   */
  refuseSuspect(sql: string): void
  restarts(): RestartState
}

export interface RunningEntry {
  /**
   * Records that this statement is starting. Values are never recorded, and only the first two
   * words of statements other than SELECT.
   */
  statement(sql: string): void
  end(): void
}

const NO_ENTRY: RunningEntry = { statement: () => {}, end: () => {} }

/** Used where nothing needs recording. */
export const NOTHING_NOTED: RunningWork = {
  begin: () => NO_ENTRY,
  refuseSuspect: () => {},
  restarts: () => ({ count: 0, last: null }),
}

/** What SQL execution needs from remote databases, all read-only. Implemented in `sources/`. */

/** A SELECT in the source's SQL dialect. */
export interface SourceSelect {
  readonly sql: string
  /** Values of the placeholders, which are in the source's notation. */
  readonly values: readonly SourceValue[]
  /** More rows are not needed. null or unset: all are. */
  readonly rowsMax?: number | null
}

export type SourceValue = null | boolean | number | bigint | string

/**
 * Each method throws AppError `source_failed` with the source's name and a cause without secrets,
 * `address_refused`, or `timeout`. Aborting the signal stops the work within a second, also on the
 * remote server.
 */
export interface DataSources {
  /** Only tests the connection. */
  check(source: DataSource, signal: AbortSignal): Promise<void>
  tables(source: DataSource, signal: AbortSignal): Promise<readonly SourceTable[]>
  /** All tables with their columns, in one request if the source supports it. */
  describeTables(source: DataSource, signal: AbortSignal): Promise<readonly DescribedSourceTable[]>
  /** @throws AppError `table_not_found` */
  columns(
    source: DataSource,
    table: SourceTableName,
    signal: AbortSignal,
  ): Promise<readonly SourceColumn[]>
  /** The columns of a user's SELECT, without running it. */
  describe(source: DataSource, sql: string, signal: AbortSignal): Promise<readonly SourceColumn[]>
  /** Writes the rows into a file for DuckDB. */
  stage(
    source: DataSource,
    select: SourceSelect,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<StagedRows>
  /** Drops the cached table list, because the source's tables may have changed. */
  forgetTables(source: Pick<DataSource, 'id'>): void
  /** Drops connections and cached tables, because the data source was changed or dropped. */
  forget(source: Pick<DataSource, 'id'>): Promise<void>
  close(): Promise<void>
}

export interface StagedRows {
  /** A DuckDB SELECT over the file, with these columns and types. */
  readonly select: string
  readonly columns: readonly SourceColumn[]
  readonly sizeBytes: number
  release(): Promise<void>
}
