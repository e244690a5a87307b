/**
 * The rows of chunks as bytes: one record is a head of digits, then its texts in UTF-8. The database can write records
 * itself, many in one value, which costs the main thread no more than reading their heads.
 */
import type { ShownChunk } from '../../core/domain/ports/search-ports.ts'
import { exactJson, type ResultValue } from '../../core/domain/query-result.ts'

/** `document_id`, `chunk_id`, `chunk_content`, `metadata`, and the values of the metadata columns as a JSON list. */
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

/** What a record is made of. */
export interface RowTexts {
  readonly key: number
  readonly id: string
  readonly chunkId: string
  readonly content: string
  /** JSON. */
  readonly metadata: string
  /** A JSON list; empty: not known. */
  readonly columns: string
}

/** The expression of one record over a table of chunks, as text. @param columns of the metadata columns, JSON or `''` */
export function recordSql(columns: string): string {
  const parts = ['document_id', 'chunk_id', 'chunk_content', 'metadata::VARCHAR', columns]
  const lengths = parts.map((part) => `, strlen(${part})`).join('')
  const head = `{:0${KEY_DIGITS}x}${`{:0${LENGTH_DIGITS}x}`.repeat(PARTS)}`
  return `format('${head}', chunk_key${lengths}) || ${parts.join(' || ')}`
}

export function recordBytes({ key, ...row }: RowTexts): Buffer {
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
/** What is to be taken from the code of `a` for ten. */
const RECORD_LETTERS = 87

/** Digits of our own or of the database: they need no check. */
function hexNumber(bytes: Buffer, at: number, digits: number): number {
  let number = 0
  for (let index = at; index < at + digits; index += 1) {
    const code = bytes[index] ?? ZERO
    number = number * 16 + code - (code <= NINE ? ZERO : RECORD_LETTERS)
  }
  return number
}

/** One row, whose texts are read from its record when they are asked for. */
export class RecordRow implements ShownChunk {
  readonly #bytes: Buffer
  readonly #at: number
  readonly #places: readonly number[]

  /** @param places of the metadata columns that are asked for, among all of them */
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

  /** Whether all that was asked for is known. */
  get isWhole(): boolean {
    return this.#places.length === 0 || partLength(this.#bytes, this.#at, COLUMNS_PART) > 0
  }

  get columns(): readonly ResultValue[] {
    if (this.#places.length === 0) return []
    // Written by this program: a list of values as answers show them.
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
