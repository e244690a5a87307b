/** What running SQL needs of the engine below it: statements in, rows out. `store/duckdb/` implements it. */
import type { RowStream } from '../query-result.ts'

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
  /** `key IN ($name)` with a list of bigint reads these rows by the column's index, where it has one. */
  readonly sql: string
  readonly values: Readonly<Record<string, BoundValue>>
  /** True when its answer has few rows, which are then made all at once. */
  readonly isShort?: boolean
}

/** A SELECT of the keys of the chunks that conditions keep, as `__chunk_key`. */
export interface PrefilterSql extends BoundSql {
  /** False where a later statement may keep other chunks although none was written: its conditions read the clock. */
  readonly isCacheable: boolean
}

export interface RunLimits {
  /** For waiting, running and reading the rows. */
  readonly timeoutMs: number
  /** How much of it has gone by already; unset: nothing. */
  readonly spentMs?: number
  /** The name of the setting that says so, for the message; unset: none does. */
  readonly setting?: string
  /** When set, `timeoutMs` ends with the first rows, and this counts from them: for a reader that works on the rows. */
  readonly readingMs?: number
}

/** DuckDB as a reader of SQL and a runner of guarded SELECTs. */
export interface SqlEngine {
  /**
   * The syntax tree of one SELECT as JSON text (`json_serialize_sql`).
   * @throws AppError `sql_syntax` (with line and column), `sql_not_supported` for what is not a SELECT
   */
  parse(sql: string): Promise<string>
  /** SQL for a syntax tree: the way back. */
  print(tree: string): Promise<string>
  /**
   * Runs one statement in a READ ONLY transaction and streams its rows. Waits for a free place first; the deadline
   * covers the wait and the reading of the rows. The caller must have guarded the statement. Between its rows it holds no
   * place. One that was slow to begin, in a place for short ones, is run again in another.
   * @throws AppError `timeout`, `too_busy`, `out_of_memory`, `sql_failed`, `sql_unknown_name`
   */
  run(statement: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<RowStream>
  /** Rows that did not come from `run`, with `encoded`, which reads all of them first: each column has the type of its values. */
  withEncoding(rows: RowStream): RowStream
  /** Runs one SELECT like `run` and gives all its rows as a Parquet file, with DuckDB's own types. */
  exportParquet(select: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<ExportedRows>
}

/** A file that is made already and has no name any more: whoever begins to read must read to its end, or return. */
export interface ExportedRows {
  readonly pieces: AsyncGenerator<Uint8Array, void, void>
}
