import type { CellValue } from './document.ts'

/** How a column's values are written in JSON (docs/contract.md 4.11). */
export interface ResultColumn {
  readonly name: string
  /** DuckDB's name of the type: `VARCHAR`, `DECIMAL(18,3)`, `JSON`. */
  readonly type: string
}

/**
 * Rows from the engine. `batches` yields lists of rows ready for `JSON.stringify`. Read it to the end or return from it:
 * that frees the connection.
 */
export interface RowStream {
  readonly columns: readonly ResultColumn[]
  readonly batches: AsyncIterable<readonly (readonly ResultValue[])[]>
  /** All rows of `batches`, if they are few and available: then nothing need be read. */
  readonly ready?: readonly (readonly ResultValue[])[]
  /** The same rows, with texts for what a number of JSON cannot say: read instead of `batches`. */
  readonly exactBatches?: AsyncIterable<readonly (readonly ResultValue[])[]>
  /** The same rows with the types that JSON does not have, for those who store them: read instead of `batches`. */
  readonly typedBatches?: AsyncIterable<readonly (readonly CellValue[])[]>
  /**
   * All rows as one body with these column names: read instead of `batches`, to the end or returned from. Throws if a
   * failure cuts the body short.
   * @param isExact texts for what a number of JSON cannot say, as in `exactBatches`
   */
  readonly encoded?: (
    encoding: RowEncoding,
    names: readonly string[],
    isExact?: boolean,
  ) => AsyncIterable<Uint8Array>
  /** Deviations from the request, for the caller. */
  readonly warnings?: readonly string[]
}

/**
 * `arrow`: the IPC streaming format. `copy…`: the forms of PostgreSQL's COPY, only for columns of numbers, booleans,
 * texts, dates and timestamps. For `ndjson`, names must be distinct.
 */
export type RowEncoding = 'arrow' | 'copy' | 'copy-binary' | 'copy-csv' | 'csv' | 'ndjson'

export type ResultValue =
  | null
  | boolean
  | number
  | string
  | readonly ResultValue[]
  | { readonly [key: string]: ResultValue }

/** The `context` in an answer. */
export interface QueryContext {
  readonly db: string
}

export type QueryResult =
  | { readonly kind: 'table'; readonly rows: RowStream; readonly context: QueryContext }
  | {
      readonly kind: 'ok'
      readonly affectedRows: number | null
      /** Rows of an INSERT not stored because their content is empty. */
      readonly skippedRows?: number
      readonly context: QueryContext
      /** Problems of the stored definition. */
      readonly warnings?: readonly string[]
    }

/** Rows already in memory. */
export function rowsOf(
  names: readonly string[],
  rows: readonly (readonly ResultValue[])[],
): RowStream {
  async function* batches() {
    if (rows.length > 0) yield rows
  }
  return { columns: names.map((name) => ({ name, type: 'VARCHAR' })), batches: batches() }
}

const MAY_HOLD_LARGE_INTEGER = /\d{16}/

/** Integers up to this are exact JavaScript numbers. */
const EXACT_MAX = 2n ** 53n

export function isExactNumber(integer: bigint): boolean {
  return integer <= EXACT_MAX && integer >= -EXACT_MAX
}

interface Source {
  readonly source?: string
}

/**
 * TypeScript's declaration does not know the third argument of a reviver yet (ECMAScript:
 * JSON.parse source text).
 */
const parseJson = JSON.parse as (
  json: string,
  reviver?: (key: string, part: ResultValue, context: Source) => ResultValue,
) => ResultValue

/** The value of a JSON text that the database holds. Integers that a JavaScript number cannot hold stay exact, as texts. */
export function exactJson(text: string): ResultValue {
  try {
    return MAY_HOLD_LARGE_INTEGER.test(text) ? parseJson(text, exactNumber) : parseJson(text)
  } catch {
    // A JSON column may hold what only DuckDB reads as JSON, such as NaN.
    return text
  }
}

function exactNumber(_key: string, part: ResultValue, { source }: Source): ResultValue {
  if (typeof part !== 'number' || source === undefined || !/^-?\d+$/.test(source)) return part
  return Number.isSafeInteger(part) || isExactNumber(BigInt(source)) ? part : source
}
