/** The column for each type: texts, lists, structs and maps here. */
import type { DuckDBVector } from '@duckdb/node-api'
import { converterOf, numberFields } from '../../../core/domain/shown-values.ts'
import {
  type ArrowColumn,
  type ArrowParts,
  checkOffset,
  Ends,
  type RowRange,
  ValidBits,
} from './arrow-column.ts'
import {
  BitColumn,
  FixedColumn,
  IndexColumn,
  IntervalColumn,
  NullColumn,
  WideColumn,
} from './arrow-fixed-columns.ts'
import type { ArrowField } from './arrow-types.ts'
import {
  ByteBuffer,
  childVector,
  copyTexts,
  fieldVectors,
  innerVector,
  isValid,
  listEntries,
  textBytes,
  validBits,
} from './raw-vectors.ts'

export function columnFor(field: ArrowField): ArrowColumn {
  const { type, children } = field
  const [child] = children
  if (field.dictionary !== undefined) return new IndexColumn()
  if (field.shown !== undefined) return new ShownColumn(converterOf(field.shown))
  switch (type.kind) {
    case 'null':
      return new NullColumn()
    case 'bool':
      return new BitColumn()
    case 'utf8':
    case 'binary':
      return new TextColumn()
    case 'decimal':
      return new WideColumn()
    case 'interval':
      return new IntervalColumn()
    case 'list':
    case 'map':
      if (child === undefined) throw new Error('a list has items')
      return new ListColumn(columnFor(child), type.kind === 'map')
    case 'fixed_list':
      if (child === undefined) throw new Error('a list has items')
      return new FixedListColumn(columnFor(child), type.length)
    case 'struct':
      return new StructColumn(children.map(columnFor))
    default:
      return new FixedColumn(widthOf(type))
  }
}

function widthOf(type: ArrowField['type']): number {
  if (type.kind === 'int' || type.kind === 'float') return type.bits / 8
  return type.kind === 'date' ? 4 : 8
}

/** Texts and blobs. */
class TextColumn implements ArrowColumn {
  protected readonly valid = new ValidBits()
  protected readonly bytes = new ByteBuffer()
  protected readonly ends = new Ends()

  bytesOf(vector: DuckDBVector, { start, count }: RowRange): number {
    return textBytes(vector, start, count) + count * 4
  }

  append(vector: DuckDBVector, rows: RowRange): void {
    checkOffset(this.bytes.length + textBytes(vector, rows.start, rows.count))
    this.valid.append(validBits(vector), rows)
    copyTexts(vector, rows, this.bytes, this.ends.grown(rows.count))
  }

  finish(into: ArrowParts): void {
    this.valid.finish(into)
    into.buffers.push(this.ends.written(), this.bytes.written())
  }

  clear(): void {
    this.valid.clear()
    this.ends.clear()
    this.bytes.length = 0
  }
}

/** Guessed for values that are made one by one. */
const SHOWN_BYTES = 40

/** Values that are made one by one: what JSON says of them, a text as it is. */
class ShownColumn extends TextColumn {
  readonly #convert: ReturnType<typeof converterOf>
  readonly #encoder = new TextEncoder()

  constructor(convert: ReturnType<typeof converterOf>) {
    super()
    this.#convert = convert
  }

  override bytesOf(_vector: DuckDBVector, { count }: RowRange): number {
    return count * SHOWN_BYTES
  }

  override append(vector: DuckDBVector, rows: RowRange): void {
    const { ends, endsAt } = this.ends.grown(rows.count)
    const bits = new Uint8Array(Math.ceil(rows.count / 8))
    numberFields(vector.type)
    for (let index = 0; index < rows.count; index += 1) {
      const value = vector.getItem(rows.start + index)
      const shown = value === null ? null : this.#convert(value)
      if (shown !== null) {
        bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7))
        const text = typeof shown === 'string' ? shown : JSON.stringify(shown)
        this.bytes.append(this.#encoder.encode(text))
      }
      ends[endsAt + index] = this.bytes.length
    }
    checkOffset(this.bytes.length)
    this.valid.append(bits, { start: 0, count: rows.count })
  }
}

/** Lists, and maps as lists of their entries. */
class ListColumn implements ArrowColumn {
  readonly #valid = new ValidBits()
  readonly #ends = new Ends()
  readonly #items: ArrowColumn
  readonly #isMap: boolean
  #itemCount = 0

  constructor(items: ArrowColumn, isMap: boolean) {
    this.#items = items
    this.#isMap = isMap
  }

  bytesOf(vector: DuckDBVector, rows: RowRange): number {
    const lists = this.#listsOf(vector)
    const items = childVector(lists)
    let bytes = rows.count * 4
    for (const range of rangesOf(lists, rows)) bytes += this.#items.bytesOf(items, range)
    return bytes
  }

  append(vector: DuckDBVector, rows: RowRange): void {
    const lists = this.#listsOf(vector)
    const bits = validBits(lists)
    const entries = listEntries(lists)
    const { ends, endsAt } = this.#ends.grown(rows.count)
    for (let index = 0; index < rows.count; index += 1) {
      const row = rows.start + index
      if (isValid(bits, row)) this.#itemCount += Number(entries[row * 2 + 1] ?? 0n)
      ends[endsAt + index] = this.#itemCount
    }
    checkOffset(this.#itemCount)
    this.#valid.append(bits, rows)
    const items = childVector(lists)
    for (const range of rangesOf(lists, rows)) this.#items.append(items, range)
  }

  #listsOf(vector: DuckDBVector): DuckDBVector {
    return this.#isMap ? innerVector(vector) : vector
  }

  finish(into: ArrowParts): void {
    this.#valid.finish(into)
    into.buffers.push(this.#ends.written())
    this.#items.finish(into)
  }

  clear(): void {
    this.#valid.clear()
    this.#ends.clear()
    this.#items.clear()
    this.#itemCount = 0
  }
}

/** Where the items of some lists are, lists that follow each other together. */
function rangesOf(lists: DuckDBVector, { start, count }: RowRange): readonly RowRange[] {
  const bits = validBits(lists)
  const entries = listEntries(lists)
  const ranges: RowRange[] = []
  let from = 0
  let end = 0
  for (let row = start; row < start + count; row += 1) {
    const length = isValid(bits, row) ? Number(entries[row * 2 + 1] ?? 0n) : 0
    if (length === 0) continue
    const first = Number(entries[row * 2] ?? 0n)
    if (first !== end) {
      if (end > from) ranges.push({ start: from, count: end - from })
      from = first
    }
    end = first + length
  }
  if (end > from) ranges.push({ start: from, count: end - from })
  return ranges
}

/** Lists that all have the same length, those that are null too. */
class FixedListColumn implements ArrowColumn {
  readonly #valid = new ValidBits()
  readonly #items: ArrowColumn
  readonly #length: number

  constructor(items: ArrowColumn, length: number) {
    this.#items = items
    this.#length = length
  }

  bytesOf(vector: DuckDBVector, rows: RowRange): number {
    return this.#items.bytesOf(childVector(vector), this.#itemsOf(rows))
  }

  append(vector: DuckDBVector, rows: RowRange): void {
    this.#valid.append(validBits(vector), rows)
    this.#items.append(childVector(vector), this.#itemsOf(rows))
  }

  #itemsOf({ start, count }: RowRange): RowRange {
    return { start: start * this.#length, count: count * this.#length }
  }

  finish(into: ArrowParts): void {
    this.#valid.finish(into)
    this.#items.finish(into)
  }

  clear(): void {
    this.#valid.clear()
    this.#items.clear()
  }
}

class StructColumn implements ArrowColumn {
  readonly #valid = new ValidBits()
  readonly #fields: readonly ArrowColumn[]

  constructor(fields: readonly ArrowColumn[]) {
    this.#fields = fields
  }

  bytesOf(vector: DuckDBVector, rows: RowRange): number {
    const vectors = fieldVectors(vector)
    let bytes = Math.ceil(rows.count / 8)
    for (const [field, inner] of this.#pairs(vectors)) bytes += field.bytesOf(inner, rows)
    return bytes
  }

  append(vector: DuckDBVector, rows: RowRange): void {
    this.#valid.append(validBits(vector), rows)
    for (const [field, inner] of this.#pairs(fieldVectors(vector))) field.append(inner, rows)
  }

  *#pairs(vectors: readonly DuckDBVector[]): Generator<readonly [ArrowColumn, DuckDBVector]> {
    for (const [index, field] of this.#fields.entries()) {
      const inner = vectors[index]
      if (inner !== undefined) yield [field, inner]
    }
  }

  finish(into: ArrowParts): void {
    this.#valid.finish(into)
    for (const field of this.#fields) field.finish(into)
  }

  clear(): void {
    this.#valid.clear()
    for (const field of this.#fields) field.clear()
  }
}
