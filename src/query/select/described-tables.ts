/** What a statement must know of tables elsewhere before it can be planned. */
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import type { SourceFrom } from '../../sql/pushdown/source-read.ts'

/** A table as a statement names it, or the text of a SELECT for the source. */
export interface WantedTable {
  readonly sourceId: number
  readonly sourceName: string
  readonly wanted:
    | { readonly kind: 'table'; readonly names: readonly string[] }
    | { readonly kind: 'native'; readonly sql: string }
}

export type DescribedTable =
  | { readonly from: SourceFrom; readonly columns: readonly SourceColumn[] }
  /** There is no such table; the hint ends the message. */
  | { readonly from: null; readonly hint: string }

/** By `wantedTableKey` the table that was wanted. */
export type DescribedTables = ReadonlyMap<string, DescribedTable>

export function wantedTableKey({ sourceId, wanted }: WantedTable): string {
  const names = wanted.kind === 'table' ? wanted.names : [wanted.sql]
  return JSON.stringify([sourceId, wanted.kind, ...names])
}

/** Planning cannot go on before this table is described. */
export class UndescribedTable extends Error {
  readonly table: WantedTable

  constructor(table: WantedTable) {
    super(`${table.sourceName} is to be asked for its columns`)
    this.table = table
  }
}
