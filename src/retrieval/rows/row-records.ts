/**
 * Stores rows of chunks as bytes. A record has a header of hexadecimal digits, then its texts in
 * UTF-8. The database itself can write records, many in one value, so that the main thread only
 * reads their headers.
 */

import { chunkTables } from '../../core/domain/document.ts'
import type { KnowledgeBase, MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { RowReader } from '../../core/domain/ports/retrieval-ports.ts'
import type { ChunkRowsRequest, ShownChunk } from '../../core/domain/ports/search-ports.ts'
import { exactJson, type ResultValue } from '../../core/domain/query-result.ts'

/** `document_id`, `chunk_id`, `chunk_content`, `metadata`, and columns as a JSON list. */
const PARTS = 5
const KEY_DIGITS = 14
const LENGTH_DIGITS = 8
const HEAD_BYTES = KEY_DIGITS + PARTS * LENGTH_DIGITS

/** The index of each part. */
const ID = 0
const CHUNK_ID = 1
const CONTENT = 2
const METADATA = 3
const COLUMNS_PART = 4

/** For one row of a table of chunks, as text. @param columns as JSON or `''` */
function recordSql(columns: string): string {
  const parts = ['document_id', 'chunk_id', 'chunk_content', 'metadata::VARCHAR', columns]
  const lengths = parts.map((part) => `, strlen(${part})`).join('')
  const head = `{:0${KEY_DIGITS}x}${`{:0${LENGTH_DIGITS}x}`.repeat(PARTS)}`
  return `format('${head}', chunk_key${lengths}) || ${parts.join(' || ')}`
}

function recordBytes(given: {
  readonly key: number
  readonly id: string
  readonly chunkId: string
  readonly content: string
  /** A JSON object. */
  readonly metadata: string
  /** A JSON list; empty if unknown. */
  readonly columns: string
}): Buffer {
  const { key, ...row } = given
  const texts = [row.id, row.chunkId, row.content, row.metadata, row.columns]
  const lengths = texts.map((text) => hex(Buffer.byteLength(text), LENGTH_DIGITS))
  return Buffer.from(`${hex(key, KEY_DIGITS)}${lengths.join('')}${texts.join('')}`)
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}

export function recordKey(bytes: Buffer, at: number): number {
  return hexNumber(bytes, at, KEY_DIGITS)
}

export function recordLength(bytes: Buffer, at: number): number {
  let length = HEAD_BYTES
  for (let part = 0; part < PARTS; part += 1) length += partLength(bytes, at, part)
  return length
}

function partLength(bytes: Buffer, at: number, part: number): number {
  return hexNumber(bytes, at + KEY_DIGITS + part * LENGTH_DIGITS, LENGTH_DIGITS)
}

const ZERO = 48
const NINE = 57
/** The character code of `a` minus ten. */
const RECORD_LETTERS = 87

/** Parses digits that this program or the database wrote, without checking them. */
function hexNumber(bytes: Buffer, at: number, digits: number): number {
  let number = 0
  for (let index = at; index < at + digits; index += 1) {
    const code = bytes[index] ?? ZERO
    number = number * 16 + code - (code <= NINE ? ZERO : RECORD_LETTERS)
  }
  return number
}

/** One row, whose texts are read from its record on demand. */
export class RecordRow implements ShownChunk {
  readonly #bytes: Buffer
  readonly #at: number
  readonly #places: readonly number[]

  /** @param places the indexes of the requested metadata columns among all */
  constructor(bytes: Buffer, at: number, places: readonly number[]) {
    this.#bytes = bytes
    this.#at = at
    this.#places = places
  }

  get id(): string {
    return this.#text(ID)
  }

  get chunkId(): string {
    return this.#text(CHUNK_ID)
  }

  get content(): string {
    return this.#text(CONTENT)
  }

  get metadata(): ResultValue {
    return exactJson(this.#text(METADATA))
  }

  /** Whether it has everything that was requested. */
  get isWhole(): boolean {
    return this.#places.length === 0 || partLength(this.#bytes, this.#at, COLUMNS_PART) > 0
  }

  get columns(): readonly ResultValue[] {
    if (this.#places.length === 0) return []
    // This program wrote it: a list of values as responses show them.
    const values = JSON.parse(this.#text(COLUMNS_PART)) as readonly ResultValue[]
    return this.#places.map((place) => values[place] ?? null)
  }

  #text(part: number): string {
    let start = this.#at + HEAD_BYTES
    for (let before = 0; before < part; before += 1) {
      start += partLength(this.#bytes, this.#at, before)
    }
    return this.#bytes.toString('utf8', start, start + partLength(this.#bytes, this.#at, part))
  }
}

/** By key; removed ones are missing. @throws AppError like `SqlEngine.run` */
export async function readRecords(
  reader: RowReader,
  { knowledgeBase, keys, columns, limits }: ChunkRowsRequest,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, Buffer>> {
  const list = ['chunk_key', 'document_id', 'chunk_id', 'chunk_content', 'metadata::VARCHAR']
  const sql = `SELECT ${[...list, ...columns.map(quote)].join(', ')}
    FROM ${chunkTables(knowledgeBase).chunks} WHERE chunk_key IN ($keys)`
  const { batches } = await reader.run({ sql, values: { keys }, isShort: true }, limits, signal)
  const records = new Map<number, Buffer>()
  for await (const rows of batches) {
    for (const [key, id, chunkId, content, metadata, ...values] of rows) {
      const record = {
        key: Number(key),
        id: String(id),
        chunkId: String(chunkId),
        content: String(content),
        metadata: String(metadata),
        columns: JSON.stringify(values),
      }
      records.set(record.key, recordBytes(record))
    }
  }
  return records
}

/** For rows that are read in the background. */
const READ_LIMITS = { timeoutMs: 60_000 }

/** Returns the smallest key from here on; null if there is none. */
export async function nextKey(
  reader: RowReader,
  kb: KnowledgeBase,
  from: number,
  signal: AbortSignal,
): Promise<number | null> {
  const sql = `SELECT min(chunk_key) FROM ${chunkTables(kb).chunks} WHERE chunk_key >= $from`
  const { batches } = await reader.run(
    { sql, values: { from }, isShort: true },
    READ_LIMITS,
    signal,
  )
  let least: number | null = null
  for await (const rows of batches) {
    for (const [key = null] of rows) least = key === null ? null : Number(key)
  }
  return least
}

/** As consecutive records. @param range `from` up to but not including `to` */
export async function readRange(
  reader: RowReader,
  kb: KnowledgeBase,
  range: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<Buffer> {
  const sql = `SELECT string_agg(${recordSql(columnsSql(kb.storedMetadata))}, '')
    FROM ${chunkTables(kb).chunks} WHERE chunk_key >= $from AND chunk_key < $to`
  const statement = { sql, values: range, isShort: true }
  const { batches } = await reader.run(statement, READ_LIMITS, signal)
  const texts: string[] = []
  for await (const rows of batches) {
    for (const [text = null] of rows) if (typeof text === 'string') texts.push(text)
  }
  return Buffer.from(texts.join(''))
}

/** As responses show it. Values of other types go through the code for responses. */
const SHOWN_VALUES: Readonly<Record<string, (column: string) => string>> = {
  BOOLEAN: (column) => column,
  BIGINT: (column) => column,
  DOUBLE: (column) => `CASE WHEN isfinite(${column}) THEN ${column} END`,
  VARCHAR: (column) => column,
}

/** JavaScript numbers represent integers exactly up to this, and down to its negative. */
const EXACT_MAX = 2n ** 53n

/** Returns the metadata column values as a JSON list; empty if they must be read one at a time. */
function columnsSql(columns: readonly MetadataColumn[]): string {
  const values: string[] = []
  const conditions: string[] = []
  for (const { column, type } of columns) {
    const name = quote(column)
    const value = SHOWN_VALUES[type]?.(name)
    if (value === undefined) return `''`
    values.push(value)
    if (type === 'BIGINT') {
      conditions.push(`coalesce(${name} BETWEEN -${EXACT_MAX} AND ${EXACT_MAX}, true)`)
    }
  }
  const list = values.length === 0 ? `'[]'` : `json_array(${values.join(', ')})::VARCHAR`
  if (conditions.length === 0) return list
  return `CASE WHEN ${conditions.join(' AND ')} THEN ${list} ELSE '' END`
}
