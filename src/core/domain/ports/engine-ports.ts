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

/** What running SQL needs of the engine below it: statements in, rows out. `store/duckdb/` implements it. */

/** A value bound to a placeholder `$name`. A Float32Array is a vector. */
export type BoundValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Float32Array
  | readonly BoundValue[]

export interface BoundSql {
  /** `key IN ($name)` with a list of bigint uses the column's index, if it has one. */
  readonly sql: string
  readonly values: Readonly<Record<string, BoundValue>>
  /** True when its answer has few rows, which are then made all at once. */
  readonly isShort?: boolean
}

/** A SELECT of the keys of the chunks that conditions keep, as `__chunk_key`. */
export interface PrefilterSql extends BoundSql {
  /** False if repeating the statement may select other chunks without a write: its conditions read the clock. */
  readonly isCacheable: boolean
  /** The same conditions, for memory to check; null: only the database can. */
  readonly condition: ColumnCondition | null
}

export interface RunLimits {
  /** Covers waiting, running and reading the rows. */
  readonly timeoutMs: number
  /** How much of it is already spent; unset: nothing. */
  readonly spentMs?: number
  /** Name of the setting behind it, for the message; unset: none. */
  readonly setting?: string
  /** When set, `timeoutMs` ends with the first rows, and this counts from them: for a reader that works on the rows. */
  readonly readingMs?: number
}

/** DuckDB as a reader of SQL and a runner of guarded SELECTs. */
export interface SqlEngine {
  /**
   * The syntax tree of one SELECT as JSON text (`json_serialize_sql`).
   * @throws AppError `sql_syntax` (with line and column), `sql_not_supported` for anything but a SELECT
   */
  parse(sql: string): Promise<string>
  /** Turns a syntax tree back into SQL. */
  print(tree: string): Promise<string>
  /**
   * Runs one statement in a READ ONLY transaction and streams its rows. Waits for a slot first; the deadline covers waiting
   * and reading the rows. The caller must have guarded the statement. Between rows it holds no slot. A statement that proves
   * slow in a slot for short ones is restarted in another.
   * @throws AppError `timeout`, `too_busy`, `out_of_memory`, `sql_failed`, `sql_unknown_name`
   */
  run(statement: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<RowStream>
  /**
   * Gives rows that did not come from `run` an `encoded`, which reads all of them first: each column gets the type of its
   * values.
   */
  withEncoding(rows: RowStream): RowStream
  /** Runs one SELECT like `run` and gives all its rows as a Parquet file, with DuckDB's own types. */
  exportParquet(select: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<ExportedRows>
}

/** A complete file that no longer has a name: a caller that begins to read must read to its end, or return. */
export interface ExportedRows {
  readonly pieces: AsyncGenerator<Uint8Array, void, void>
}

/** Records running work, to be known after a crash. Recording costs a microsecond. */
export interface RunningWork {
  /** @param what a method and a path, for people */
  begin(what: string): RunningEntry
  /** @throws AppError `sql_too_costly` for a statement like one that ended the server, for a while */
  refuseSuspect(sql: string): void
  restarts(): RestartState
}

export interface RunningEntry {
  /** Starts recording this statement. Values are not recorded, and only two words of statements other than SELECT. */
  statement(sql: string): void
  end(): void
}

const NO_ENTRY: RunningEntry = { statement: () => {}, end: () => {} }

/** Nothing is noted. */
export const NOTHING_NOTED: RunningWork = {
  begin: () => NO_ENTRY,
  refuseSuspect: () => {},
  restarts: () => ({ count: 0, last: null }),
}

/** SQL's requirements on remote databases. `sources/` implements it. Everything is read-only. */

/** A SELECT in the source's own SQL. */
export interface SourceSelect {
  readonly sql: string
  /** The values of its placeholders, in the source's own notation. */
  readonly values: readonly SourceValue[]
}

export type SourceValue = null | boolean | number | bigint | string

/**
 * Each method throws AppError `source_failed` that names the source and the cause without a secret, `address_refused`,
 * `timeout`; aborting the signal ends the work within a second, on the server, too.
 */
export interface DataSources {
  /** Connects and asks for nothing. */
  check(source: DataSource, signal: AbortSignal): Promise<void>
  tables(source: DataSource, signal: AbortSignal): Promise<readonly SourceTable[]>
  /** All tables with their columns, in one request if the source can. */
  describeTables(source: DataSource, signal: AbortSignal): Promise<readonly DescribedSourceTable[]>
  /** @throws AppError `table_not_found` */
  columns(
    source: DataSource,
    table: SourceTableName,
    signal: AbortSignal,
  ): Promise<readonly SourceColumn[]>
  /** The columns of a caller's own SELECT, without running it. */
  describe(source: DataSource, sql: string, signal: AbortSignal): Promise<readonly SourceColumn[]>
  /** Streams rows from a cursor, their values as answers show them. A reader that leaves early closes it. */
  read(
    source: DataSource,
    select: SourceSelect,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<RowStream>
  /** Writes the rows into a file for DuckDB, for statements that read more than this. */
  stage(
    source: DataSource,
    select: SourceSelect,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<StagedRows>
  /** Forgets this source's cached tables, which may have changed there. */
  forgetTables(source: Pick<DataSource, 'id'>): void
  /** Forgets connections and what is known of this source's tables: it was changed or dropped. */
  forget(source: Pick<DataSource, 'id'>): Promise<void>
  close(): Promise<void>
}

export interface StagedRows {
  /** A SELECT of DuckDB over the file, with these columns and types. */
  readonly select: string
  readonly columns: readonly SourceColumn[]
  readonly sizeBytes: number
  /** Removes the file. */
  release(): Promise<void>
}
