/**
 * Converts the columns of DuckDB chunks to the columns of an Arrow batch, mostly by copying memory.
 */
import type { DuckDBDataChunk, DuckDBVector } from '@duckdb/node-api'
import { converterOf, numberFields } from '../../../core/domain/shown-values.ts'
import { AppError } from '../../../core/errors.ts'
import { type ArrowBatch, type ArrowField, type ArrowNode, DIGITS_MAX } from './arrow-messages.ts'
import {
  ByteBuffer,
  childVector,
  copyBits,
  copyTexts,
  fieldVectors,
  innerVector,
  isValid,
  itemBytes,
  listEntries,
  type RowRange,
  setBit,
  textBytes,
  validBits,
} from './raw-vectors.ts'

export interface ChunkRows extends RowRange {
  readonly data: DuckDBDataChunk
}

/** A range of rows of a vector. Each column of a batch is made of one or more of these. */
interface Run extends RowRange {
  readonly vector: DuckDBVector
}

interface Parts {
  readonly nodes: ArrowNode[]
  readonly buffers: Uint8Array[]
}

/** Makes one batch of these rows, in the given order. */
export function batchOf(fields: readonly ArrowField[], rows: readonly ChunkRows[]): ArrowBatch {
  const parts: Parts = { nodes: [], buffers: [] }
  for (const [index, field] of fields.entries()) {
    const runOf = ({ data, start, count }: ChunkRows) => {
      return { vector: data.getColumnVector(index), start, count }
    }
    addColumn(field, rows.map(runOf), parts)
  }
  return { rowCount: lengthOf(rows), ...parts }
}

/** The approximate size in bytes of these rows in a batch. */
export function rowsBytes(fields: readonly ArrowField[], { data, ...range }: ChunkRows): number {
  return fields.reduce((sum, field, index) => {
    return sum + bytesOf(field, { vector: data.getColumnVector(index), ...range })
  }, 0)
}

/** A generous estimate, because the real size of such a value is slow to compute. */
const SHOWN_BYTES = 256
const WIDE = 16

function bytesOf(field: ArrowField, run: Run): number {
  if (field.shown !== undefined) return run.count * SHOWN_BYTES
  const inner = childRuns(field, run).flatMap((runs, index) => {
    const child = field.children[index]
    return child === undefined ? [] : runs.map((one) => bytesOf(child, one))
  })
  const own = run.count * widthOf(field)
  const texts = isText(field) ? textBytes(run.vector, run.start, run.count) : 0
  return inner.reduce((sum, bytes) => sum + bytes, own + texts)
}

function isText({ type: { kind } }: ArrowField): boolean {
  return kind === 'utf8' || kind === 'binary'
}

/** Bytes per value, without the part of variable length. */
function widthOf({ type }: ArrowField): number {
  switch (type.kind) {
    case 'int':
    case 'float':
      return type.bits / 8
    case 'decimal':
    case 'interval':
      return WIDE
    case 'time':
    case 'timestamp':
      return 8
    case 'null':
    case 'bool':
    case 'struct':
    case 'fixed_list':
      return 0
    default:
      return 4
  }
}

/** Returns the ranges of child values that belong to the run. */
function childRuns({ type }: ArrowField, run: Run): readonly (readonly Run[])[] {
  const { vector, start, count } = run
  switch (type.kind) {
    case 'list':
    case 'map':
      return [itemRuns({ ...run, vector: listsOf(type, vector) })]
    case 'fixed_list': {
      const { length } = type
      return [[{ vector: childVector(vector), start: start * length, count: count * length }]]
    }
    case 'struct':
      return fieldVectors(vector).map((field) => [{ vector: field, start, count }])
    default:
      return []
  }
}

function listsOf({ kind }: ArrowField['type'], vector: DuckDBVector): DuckDBVector {
  return kind === 'map' ? innerVector(vector) : vector
}

/** Returns the item ranges of these lists, joining adjacent ones. */
function itemRuns({ vector: lists, start, count }: Run): readonly Run[] {
  const bits = validBits(lists)
  const entries = listEntries(lists)
  const vector = childVector(lists)
  const runs: Run[] = []
  let from = 0
  let end = 0
  for (let row = start; row < start + count; row += 1) {
    const length = isValid(bits, row) ? Number(entries[row * 2 + 1] ?? 0n) : 0
    if (length === 0) continue
    const first = Number(entries[row * 2] ?? 0n)
    if (first !== end) {
      if (end > from) runs.push({ vector, start: from, count: end - from })
      from = first
    }
    end = first + length
  }
  if (end > from) runs.push({ vector, start: from, count: end - from })
  return runs
}

function lengthOf(runs: readonly RowRange[]): number {
  return runs.reduce((sum, { count }) => sum + count, 0)
}

function addColumn(field: ArrowField, runs: readonly Run[], parts: Parts): void {
  const { type, children, shown } = field
  const length = lengthOf(runs)
  if (type.kind === 'null') {
    parts.nodes.push({ length, nullCount: length })
    return
  }
  if (shown !== undefined) {
    addShown(runs, converterOf(shown), parts)
    return
  }
  const own = runs.map((run) => ({ ...run, vector: listsOf(type, run.vector) }))
  addValidity(own, parts)
  if (type.kind === 'list' || type.kind === 'map') parts.buffers.push(listEnds(own))
  else if (isText(field)) addTexts(runs, parts)
  else if (children.length === 0) parts.buffers.push(valuesOf(field, runs))
  const inner = runs.map((run) => childRuns(field, run))
  for (const [index, child] of children.entries()) {
    const ofChild = inner.flatMap((one) => one[index] ?? [])
    addColumn(child, ofChild, parts)
  }
}

/**
 * Adds one bit per row, 1 for a value and 0 for null. The buffer is empty if there are no nulls.
 */
function addValidity(runs: readonly Run[], { nodes, buffers }: Parts): void {
  const length = lengthOf(runs)
  const given = runs.map(({ vector }) => validBits(vector))
  if (given.every((bits) => bits === null)) {
    nodes.push({ length, nullCount: 0 })
    buffers.push(NOTHING)
    return
  }
  const into = new Uint8Array(Math.ceil(length / 8))
  let at = 0
  let nullCount = 0
  for (const [index, run] of runs.entries()) {
    nullCount += copyBits(given[index] ?? null, run, into, at)
    at += run.count
  }
  nodes.push({ length, nullCount })
  buffers.push(nullCount === 0 ? NOTHING : into)
}

const NOTHING = new Uint8Array(0)

const OFFSET_MAX = 2 ** 31 - 1

/** Of each row. @throws AppError `sql_failed` if the offsets exceed 32 bits */
function endsOf(length: number, last: number): Int32Array {
  if (last <= OFFSET_MAX) return new Int32Array(length + 1)
  throw new AppError('sql_failed', 'A value of the result is larger than 2 GB')
}

function listEnds(runs: readonly Run[]): Uint8Array {
  const ends = endsOf(lengthOf(runs), lengthOf(runs.flatMap(itemRuns)))
  let at = 0
  let end = 0
  for (const { vector, start, count } of runs) {
    const bits = validBits(vector)
    const entries = listEntries(vector)
    for (let row = start; row < start + count; row += 1) {
      if (isValid(bits, row)) end += Number(entries[row * 2 + 1] ?? 0n)
      at += 1
      ends[at] = end
    }
  }
  return bytesIn(ends)
}

function bytesIn({ buffer }: { readonly buffer: ArrayBufferLike }): Uint8Array {
  return new Uint8Array(buffer)
}

function addTexts(runs: readonly Run[], { buffers }: Parts): void {
  const total = runs.reduce((sum, { vector, start, count }) => {
    return sum + textBytes(vector, start, count)
  }, 0)
  const ends = endsOf(lengthOf(runs), total)
  const texts = new ByteBuffer(total)
  let endsAt = 1
  for (const run of runs) {
    copyTexts(run.vector, run, texts, { ends, endsAt })
    endsAt += run.count
  }
  buffers.push(bytesIn(ends), texts.written())
}

/** Adds values converted one at a time: texts as they are, others as JSON. */
function addShown(
  runs: readonly Run[],
  convert: ReturnType<typeof converterOf>,
  { nodes, buffers }: Parts,
): void {
  const texts: Buffer[] = []
  const length = lengthOf(runs)
  const valid = new Uint8Array(Math.ceil(length / 8))
  const ends = endsOf(length, 0)
  let at = 0
  let end = 0
  let nullCount = 0
  for (const { vector, start, count } of runs) {
    numberFields(vector.type)
    for (let row = start; row < start + count; row += 1) {
      const value = vector.getItem(row)
      const shown = value === null ? null : convert(value)
      if (shown === null) nullCount += 1
      else {
        setBit(valid, at)
        const text = Buffer.from(typeof shown === 'string' ? shown : JSON.stringify(shown))
        texts.push(text)
        end += text.length
      }
      at += 1
      ends[at] = end
    }
  }
  endsOf(0, end)
  nodes.push({ length, nullCount })
  buffers.push(nullCount === 0 ? NOTHING : valid, bytesIn(ends), Buffer.concat(texts))
}

/** Copies the values of a run to row `at` and the rows after it. */
type Copy = (run: Run, into: Uint8Array, at: number) => void

/** Returns the values of a column whose type has a fixed width. */
function valuesOf(field: ArrowField, runs: readonly Run[]): Uint8Array {
  const length = lengthOf(runs)
  const width = widthOf(field)
  const into = new Uint8Array(width === 0 ? Math.ceil(length / 8) : length * width)
  const copy = copyFor(field)
  let at = 0
  for (const run of runs) {
    copy(run, into, at)
    at += run.count
  }
  return into
}

function copyFor(field: ArrowField): Copy {
  switch (field.type.kind) {
    case 'bool':
      return copyTruths
    case 'decimal':
      return copyDecimals
    case 'interval':
      return copyIntervals
    default: {
      const width = widthOf(field)
      return (run, into, at) => copyWhole(run, into, at, width)
    }
  }
}

function copyWhole(
  { vector, start, count }: Run,
  into: Uint8Array,
  at: number,
  width: number,
): void {
  into.set(itemBytes(vector).subarray(start * width, (start + count) * width), at * width)
}

/** DuckDB stores booleans as bytes, Arrow as bits. */
function copyTruths({ vector, start, count }: Run, into: Uint8Array, at: number): void {
  const items = itemBytes(vector)
  for (let index = 0; index < count; index += 1) {
    if (items[start + index] === 1) setBit(into, at + index)
  }
}

function itemView(vector: DuckDBVector): { readonly view: DataView; readonly width: number } {
  const items = itemBytes(vector)
  const view = new DataView(items.buffer, items.byteOffset, items.byteLength)
  return { view, width: items.length / vector.itemCount }
}

/** Widens integers of 2, 4, 8 or 16 bytes to 16-byte decimals. */
function copyDecimals(run: Run, into: Uint8Array, at: number): void {
  const { vector, start, count } = run
  const { view, width } = itemView(vector)
  if (width === WIDE) {
    checkDigits(run, view)
    copyWhole(run, into, at, WIDE)
    return
  }
  const to = new DataView(into.buffer, at * WIDE)
  for (let index = 0; index < count; index += 1) {
    const from = (start + index) * width
    const low = width === 2 ? view.getInt16(from, true) : view.getInt32(from, true)
    const second = width === 8 ? view.getInt32(from + 4, true) : low >> 31
    const rest = second >> 31
    to.setInt32(index * WIDE, low, true)
    to.setInt32(index * WIDE + 4, second, true)
    to.setInt32(index * WIDE + 8, rest, true)
    to.setInt32(index * WIDE + 12, rest, true)
  }
}

const WIDE_MAX = 10n ** BigInt(DIGITS_MAX)
/** The highest 32 bits of the largest decimal. */
const HIGH_MAX = Number(WIDE_MAX >> 96n)

/** @throws AppError `sql_failed` for 39 digits, one more than Arrow's decimals hold */
function checkDigits({ vector, start, count }: Run, view: DataView): void {
  for (let row = start; row < start + count; row += 1) {
    const high = view.getInt32(row * WIDE + 12, true)
    // Quick check first: most numbers are far below the limit.
    if (high < HIGH_MAX && high >= -HIGH_MAX) continue
    const value: unknown = vector.getItem(row)
    if (typeof value !== 'bigint' || (value < WIDE_MAX && value > -WIDE_MAX)) continue
    const found = `The number ${value} has more than the ${DIGITS_MAX} digits of Arrow's decimals`
    throw new AppError('sql_failed', `${found}; cast its column to VARCHAR`)
  }
}

/** Copies intervals, converting microseconds to nanoseconds. Months and days have the same form. */
function copyIntervals(run: Run, into: Uint8Array, at: number): void {
  copyWhole(run, into, at, WIDE)
  const view = new DataView(into.buffer)
  for (let index = at; index < at + run.count; index += 1) {
    const place = index * WIDE + 8
    view.setBigInt64(place, view.getBigInt64(place, true) * 1000n, true)
  }
}
