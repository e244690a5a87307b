/** What SQL needs of databases elsewhere. `sources/` implements it. Everything is read only. */
import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTable,
  SourceTableName,
} from '../flow/data-source.ts'
import type { RowStream } from '../query-result.ts'
import type { RunLimits } from './engine-ports.ts'

/** A SELECT in the source's own SQL. */
export interface SourceSelect {
  readonly sql: string
  /** Of its placeholders, in the source's own way of writing them. */
  readonly values: readonly SourceValue[]
}

export type SourceValue = null | boolean | number | bigint | string

/**
 * Each method throws AppError `source_failed` that names the source and the cause without a secret, `address_refused`,
 * `timeout`; a signal that aborts ends the work at the server, too, within a second.
 */
export interface DataSources {
  /** Connects and asks for nothing. */
  check(source: DataSource, signal: AbortSignal): Promise<void>
  tables(source: DataSource, signal: AbortSignal): Promise<readonly SourceTable[]>
  /** All tables with their columns, asked for together where the source can. */
  describeTables(source: DataSource, signal: AbortSignal): Promise<readonly DescribedSourceTable[]>
  /** @throws AppError `table_not_found` */
  columns(
    source: DataSource,
    table: SourceTableName,
    signal: AbortSignal,
  ): Promise<readonly SourceColumn[]>
  /** What a caller's own SELECT would give, without running it. */
  describe(source: DataSource, sql: string, signal: AbortSignal): Promise<readonly SourceColumn[]>
  /** Streams rows from a cursor, their values as answers show them. A reader that leaves early closes it. */
  read(
    source: DataSource,
    select: SourceSelect,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<RowStream>
  /** Writes the rows into a file that DuckDB reads: for statements that read more than this. */
  stage(
    source: DataSource,
    select: SourceSelect,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<StagedRows>
  /** Forgets what is known of this source's tables: they may have been changed there. */
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
