/** One column of an Arrow batch while rows are collected, and what columns of all types are made of. */
import type { DuckDBVector } from '@duckdb/node-api'
import { AppError } from '../../../core/errors.ts'
import type { ArrowNode } from './arrow-messages.ts'
import { ByteBuffer, isValid } from './raw-vectors.ts'

/** Rows of a vector. */
export interface RowRange {
  readonly start: number
  readonly count: number
}

export interface ArrowParts {
  readonly nodes: ArrowNode[]
  readonly buffers: Uint8Array[]
}

/** The values of one column, or of a part of one, since it was last cleared. */
export interface ArrowColumn {
  /** About how many bytes appending these rows adds. */
  bytesOf(vector: DuckDBVector, rows: RowRange): number
  append(vector: DuckDBVector, rows: RowRange): void
  /** Its nodes and buffers, children after parents: views, valid until more is appended. */
  finish(into: ArrowParts): void
  clear(): void
}

const BIT_COUNTS = Uint8Array.from({ length: 256 }, (_, byte) => {
  return [...byte.toString(2)].filter((bit) => bit === '1').length
})

/** Which rows have a value: a bit each, 1 for a value. */
export class ValidBits {
  #bits = new ByteBuffer(256)
  length = 0
  nullCount = 0

  append(bits: Uint8Array | null, { start, count }: RowRange): void {
    const from = this.length
    this.length += count
    const bytes = Math.ceil(this.length / 8)
    this.#bits.reserve(bytes - this.#bits.length)
    this.#bits.length = bytes
    const out = this.#bits.bytes
    if (((from | start) & 7) === 0) {
      const [at, read, whole] = [from >> 3, start >> 3, count >> 3]
      if (bits === null) out.fill(0xff, at, at + whole)
      else out.set(bits.subarray(read, read + whole), at)
      for (let index = 0; index < whole; index += 1) {
        this.nullCount += 8 - (BIT_COUNTS[out[at + index] ?? 0] ?? 0)
      }
      const done = whole * 8
      this.#appendSingly(bits, { start: start + done, count: count - done }, from + done)
    } else {
      this.#appendSingly(bits, { start, count }, from)
    }
  }

  #appendSingly(bits: Uint8Array | null, { start, count }: RowRange, from: number): void {
    const out = this.#bits.bytes
    for (let index = 0; index < count; index += 1) {
      const at = from + index
      const mask = 1 << (at & 7)
      if (isValid(bits, start + index)) out[at >> 3] = (out[at >> 3] ?? 0) | mask
      else {
        out[at >> 3] = (out[at >> 3] ?? 0) & ~mask
        this.nullCount += 1
      }
    }
  }

  /** Nothing where there is no null. */
  finish({ nodes, buffers }: ArrowParts): void {
    nodes.push({ length: this.length, nullCount: this.nullCount })
    buffers.push(this.nullCount === 0 ? NOTHING : this.#bits.written())
  }

  clear(): void {
    this.length = 0
    this.nullCount = 0
    this.#bits.length = 0
  }
}

const NOTHING = new Uint8Array(0)

/** Where the values of each row end within those of all rows. */
export class Ends {
  #ends = new Int32Array(256)
  #count = 0

  /** Room for so many more. */
  grown(count: number): { readonly ends: Int32Array; readonly endsAt: number } {
    const endsAt = this.#count + 1
    this.#count += count
    if (this.#count >= this.#ends.length) {
      const grown = new Int32Array(Math.max(this.#count + 1, this.#ends.length * 2))
      grown.set(this.#ends.subarray(0, endsAt))
      this.#ends = grown
    }
    return { ends: this.#ends, endsAt }
  }

  written(): Uint8Array {
    return new Uint8Array(this.#ends.buffer, 0, (this.#count + 1) * 4)
  }

  clear(): void {
    this.#count = 0
  }
}

const OFFSET_MAX = 2 ** 31 - 1

/** @throws AppError `sql_failed` */
export function checkOffset(end: number): void {
  if (end <= OFFSET_MAX) return
  throw new AppError('sql_failed', 'A value of the result is larger than 2 GB')
}
