import type { CellValue } from './document.ts'

/** How a column's values are written in JSON (docs/contract.md 4.11). */
export interface ResultColumn {
  readonly name: string
  /** DuckDB's name of the type: `VARCHAR`, `DECIMAL(18,3)`, `JSON`. */
  readonly type: string
}

/**
 * Rows as they come from the engine. `batches` yields lists of rows whose values are ready for `JSON.stringify`. It must
 * be read to its end or returned from: that frees the connection.
 */
export interface RowStream {
  readonly columns: readonly ResultColumn[]
  readonly batches: AsyncIterable<readonly (readonly ResultValue[])[]>
  /** The same rows with the types that JSON does not have, for those who store them: read instead of `batches`. */
  readonly typedBatches?: AsyncIterable<readonly (readonly CellValue[])[]>
  /** What was not done as asked, for the caller. */
  readonly warnings?: readonly string[]
}

export type ResultValue =
  | null
  | boolean
  | number
  | string
  | readonly ResultValue[]
  | { readonly [key: string]: ResultValue }

/** What a client hears back as `context`. */
export interface QueryContext {
  readonly db: string
}

export type QueryResult =
  | { readonly kind: 'table'; readonly rows: RowStream; readonly context: QueryContext }
  | { readonly kind: 'ok'; readonly affectedRows: number | null; readonly context: QueryContext }

/** Rows that are at hand already. */
export function rowsOf(
  names: readonly string[],
  rows: readonly (readonly ResultValue[])[],
): RowStream {
  async function* batches() {
    if (rows.length > 0) yield rows
  }
  return { columns: names.map((name) => ({ name, type: 'VARCHAR' })), batches: batches() }
}
