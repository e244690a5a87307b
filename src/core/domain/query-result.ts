import type { CellValue } from './document.ts'

/** How a column's values are written in JSON (docs/contract.md 4.11). */
export interface ResultColumn {
  readonly name: string
  /** The DuckDB type: `VARCHAR`, `DECIMAL(18,3)`, `JSON`. */
  readonly type: string
}

/** Ready for `JSON.stringify`. Read to the end or call `return`, which frees the connection. */
export interface RowStream {
  readonly columns: readonly ResultColumn[]
  readonly batches: AsyncIterable<readonly (readonly ResultValue[])[]>
  /** All rows of `batches`, if there are few and they are already available. */
  readonly ready?: readonly (readonly ResultValue[])[]
  /** Values that a JSON number cannot express as strings. Read instead of `batches`. */
  readonly exactBatches?: AsyncIterable<readonly (readonly ResultValue[])[]>
  /** The same rows with types that JSON lacks, for storing them. Read instead of `batches`. */
  readonly typedBatches?: AsyncIterable<readonly (readonly CellValue[])[]>
  /**
   * All rows as one body with these column names. Read instead of `batches`, to the end or until
   * `return`. Throws if a failure truncates the body.
   * @param isExact whether values that a JSON number cannot express become strings, as in
   * `exactBatches`
   */
  readonly encoded?: (
    encoding: RowEncoding,
    names: readonly string[],
    isExact?: boolean,
  ) => AsyncIterable<Uint8Array>
  /** Tells the caller how the result differs from the request. */
  readonly warnings?: readonly string[]
}

/** `arrow`: IPC streaming. `copy…`: PostgreSQL's COPY, for few types. `ndjson`: distinct names. */
export type RowEncoding = 'arrow' | 'copy' | 'copy-binary' | 'copy-csv' | 'csv' | 'ndjson'

export type ResultValue =
  | null
  | boolean
  | number
  | string
  | readonly ResultValue[]
  | { readonly [key: string]: ResultValue }

export interface QueryContext {
  readonly db: string
}

export type QueryResult =
  | { readonly kind: 'table'; readonly rows: RowStream; readonly context: QueryContext }
  | {
      readonly kind: 'ok'
      readonly affectedRows: number | null
      /** How many rows of an INSERT were not stored because their content is empty. */
      readonly skippedRows?: number
      readonly context: QueryContext
      /** Problems with the stored definition. */
      readonly warnings?: readonly string[]
    }

/** A `RowStream` over rows already in memory. */
export function rowsOf(
  names: readonly string[],
  rows: readonly (readonly ResultValue[])[],
): RowStream {
  async function* batches() {
    if (rows.length > 0) yield rows
  }
  return { columns: names.map((name) => ({ name, type: 'VARCHAR' })), batches: batches() }
}

const LARGE_INTEGER = /(?<![\d.])\d{16}/
/** Also exponents, but not those in hexadecimal texts, which a quote follows. */
const LARGE_NUMBER = /(?<![\d.])\d{16}|[eE]\+?\d{3,}[\s,\]}]/

/** JavaScript numbers represent integers up to this value exactly. */
const EXACT_MAX = 2n ** 53n

export function isExactNumber(integer: bigint): boolean {
  return integer <= EXACT_MAX && integer >= -EXACT_MAX
}

interface Source {
  readonly source?: string
}

/** TypeScript does not declare the reviver's third argument yet. */
const parseJson = JSON.parse as (
  json: string,
  reviver?: (key: string, part: ResultValue, context: Source) => ResultValue,
) => ResultValue

/** Integers that a JavaScript number cannot hold become strings, and so do numbers like 1e400. */
export function parsedExactly(text: string, isLarge = LARGE_NUMBER): ResultValue {
  return isLarge.test(text) ? parseJson(text, exactNumber) : parseJson(text)
}

export function exactJson(text: string): ResultValue {
  try {
    return isDeep(text) ? text : parsedExactly(text, LARGE_INTEGER)
  } catch {
    // A JSON column may contain values that only DuckDB accepts as JSON, such as NaN.
    return text
  }
}

/** JavaScript writes JSON of 40,000 levels, if at all, in two seconds. */
const DEPTH_MAX = 10_000
const QUOTE = 0x22
const BACKSLASH = 0x5c

function isDeep(text: string): boolean {
  if (text.length < DEPTH_MAX) return false
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < text.length && depth <= DEPTH_MAX; at += 1) {
    const sign = text.charCodeAt(at)
    if (isQuoted && sign === BACKSLASH) at += 1
    else if (sign === QUOTE) isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (sign === 0x5b || sign === 0x7b) depth += 1
    else if (sign === 0x5d || sign === 0x7d) depth -= 1
  }
  return depth > DEPTH_MAX
}

function exactNumber(_key: string, part: ResultValue, { source }: Source): ResultValue {
  if (typeof part !== 'number' || source === undefined) return part
  if (!Number.isFinite(part)) return source
  if (!/^-?\d+$/.test(source)) return part
  return Number.isSafeInteger(part) || isExactNumber(BigInt(source)) ? part : source
}
