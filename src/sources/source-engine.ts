/** What each kind of database does for the port `DataSources`: the same, for one engine. */
import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTable,
  SourceTableName,
} from '../core/domain/flow/source-parameters.ts'
import type { SourceSelect } from '../core/domain/ports/engine-ports.ts'
import type { ResultColumn, ResultValue } from '../core/domain/query-result.ts'
import { AppError } from '../core/errors.ts'
import type { Guard } from '../core/runtime/address-policy.ts'
import type { StagingFolder } from './staged-csv.ts'

/** What a call may take: until its signal aborts, which it does at the deadline, too. */
export interface SourceWork {
  readonly signal: AbortSignal
  /** Until the deadline, for the server's own clock. */
  remainingMs(): number
}

/** Of engines that are servers. */
export interface ServerDeps {
  readonly guard: Guard
  readonly staging: StagingFolder
}

/** One kind of databases. Failures name the source; what the signal says comes first. */
export interface SourceEngine {
  check(source: DataSource, work: SourceWork): Promise<void>
  /** Those with their columns: one question for all. */
  tables(source: DataSource, work: SourceWork): Promise<readonly DescribedSourceTable[]>
  columns(
    source: DataSource,
    table: SourceTableName,
    work: SourceWork,
  ): Promise<readonly SourceColumn[]>
  describe(source: DataSource, sql: string, work: SourceWork): Promise<readonly SourceColumn[]>
  open(source: DataSource, select: SourceSelect, work: SourceWork): Promise<SourceRows>
  /** Writes all rows where DuckDB can read them. */
  copy(source: DataSource, select: SourceSelect, work: SourceWork): Promise<CopiedRows>
  forget(source: Pick<DataSource, 'id'>): Promise<void>
  close(): Promise<void>
}

/** Rows at a cursor. One call at a time. */
export interface SourceRows {
  readonly columns: readonly ResultColumn[]
  /** null: there are no more. */
  next(): Promise<readonly (readonly ResultValue[])[] | null>
  /** Gives the connection back, or ends it where the signal has aborted. Nothing happens the second time. */
  close(): Promise<void>
}

export interface CopiedRows {
  /** The file, or a folder of it alone. */
  readonly path: string
  /** Of DuckDB, over the file. */
  readonly select: string
  readonly columns: readonly SourceColumn[]
  readonly sizeBytes: number
}

/** @throws AppError `table_not_found` */
export function requireColumns(
  columns: readonly SourceColumn[],
  source: DataSource,
  table: SourceTableName,
): readonly SourceColumn[] {
  if (columns.length > 0) return columns
  const name = table.schema === null ? table.name : `${table.schema}.${table.name}`
  throw new AppError('table_not_found', `Data source ${source.name} has no table ${name}`)
}

/** Tables with their columns, out of columns with their tables in the order of the tables. */
export function tablesOf(
  rows: readonly { readonly table: SourceTable; readonly column: SourceColumn | undefined }[],
): readonly DescribedSourceTable[] {
  const tables = new Map<string, SourceTable & { readonly columns: SourceColumn[] }>()
  for (const { table, column } of rows) {
    const key = JSON.stringify([table.schema, table.name])
    const found = tables.get(key) ?? { ...table, columns: [] }
    if (column !== undefined) found.columns.push(column)
    tables.set(key, found)
  }
  return [...tables.values()]
}
