import { AppError, dimensionMismatch } from '../../core/errors.ts'
import { openExtent } from '../kernel/kernel.ts'
import {
  BOUND_BYTES,
  extentLayout,
  IDENTITY_BYTES,
  type RowShape,
} from '../kernel/memory-layout.ts'
import type { RowTable } from './row-table.ts'
import type { VectorMemory } from './vector-memory.ts'

/** Marks rows that were not removed. See `kernel/vector-scan.ts`. */
const NEVER = 0xffffffff

interface QuantizedRowsParts {
  readonly memory: VectorMemory
  readonly shape: RowShape
  readonly rows: RowTable
}

/** Reads the contents of an index's rows on the main thread. */
export class QuantizedRows {
  readonly #parts: QuantizedRowsParts
  #floats: Float32Array
  #words: Uint32Array

  constructor(parts: QuantizedRowsParts) {
    this.#parts = parts
    const { buffer } = parts.memory.memory
    this.#floats = new Float32Array(buffer)
    this.#words = new Uint32Array(buffer)
  }

  /** Returns the change that added the row's vector; null if it has none. */
  addedAt(row: number): number | null {
    const { extent, first } = this.#parts.rows.extentOf(row)
    this.#renew()
    const identity = extentLayout(extent, this.#parts.shape.stride).identities + (row - first) * 16
    if (this.#words[identity / 4 + 3] !== NEVER) return null
    return this.#words[identity / 4 + 2] ?? null
  }

  /** The row must have a vector. */
  keyOf(row: number): number {
    const { extent, first } = this.#parts.rows.extentOf(row)
    const { buffer } = this.#parts.memory.memory
    return new DataView(buffer).getFloat64(extent.address + (row - first) * IDENTITY_BYTES, true)
  }

  /** Adds a row's decoded vector to the sum that starts at `at`. */
  addTo(sums: Float32Array, at: number, row: number): void {
    const { stride } = this.#parts.shape
    const { extent, first } = this.#parts.rows.extentOf(row)
    this.#renew()
    const { kernel } = this.#parts.memory
    openExtent(kernel, this.#parts.shape, extent)
    kernel.readCodes(row - first)
    const { bounds } = extentLayout(extent, stride)
    const scale = this.#floats[(bounds + (row - first) * BOUND_BYTES) / 4] ?? 0
    for (let index = 0; index < stride; index++) {
      sums[at + index] = (sums[at + index] ?? 0) + (kernel.rowCodes[index] ?? 0) * scale
    }
  }

  /** Returns a row's decoded vector scaled to length 1; null if it is zero. */
  unitVector(row: number): Float32Array | null {
    const sum = new Float32Array(this.#parts.shape.stride)
    this.addTo(sum, 0, row)
    return unitOf(sum)
  }

  /** After shared memory has grown, a new buffer is needed to see the new part. */
  #renew(): void {
    const { buffer } = this.#parts.memory.memory
    if (buffer.byteLength === this.#floats.byteLength) return
    this.#floats = new Float32Array(buffer)
    this.#words = new Uint32Array(buffer)
  }
}

/** Scales the vector to length 1; null for a zero or invalid vector. */
export function unitOf(vector: Float32Array): Float32Array | null {
  let squares = 0
  for (const part of vector) squares += part * part
  const length = Math.sqrt(squares)
  if (!(length > 0 && Number.isFinite(length))) return null
  return vector.map((part) => part / length)
}

/** How much the length of a unit vector can change when its parts are rounded to float32. */
const UNIT_TOLERANCE = 0.000005

/** @throws AppError `dimension_mismatch`, `sql_invalid_search` for a zero or invalid vector */
export function unitQueryVector(vector: Float32Array, dimensions: number): Float32Array {
  if (vector.length !== dimensions) {
    const sizes = `the query vector has ${vector.length}, those of the index ${dimensions}`
    throw dimensionMismatch(sizes)
  }
  // Scale by the largest part first, so that no square underflows or overflows.
  let largest = 0
  for (const part of vector) largest = Math.max(largest, Math.abs(part))
  let squares = 0
  for (const part of vector) squares += (part / largest) ** 2
  const length = Math.sqrt(squares)
  if (!(largest > 0 && Number.isFinite(largest) && Number.isFinite(length))) {
    const message = 'A query vector has finite numbers that are not all zero'
    throw new AppError('sql_invalid_search', message)
  }
  // Leave a unit vector as it is, so that other scans give the same distances for it.
  if (Math.abs(length * largest - 1) <= UNIT_TOLERANCE) return vector
  return vector.map((part) => part / largest / length)
}

/**
 * The cosine distance of two unit vectors, equal to the last bit to DuckDB's in
 * `sql/subquery/distance-rows.ts`: an inner product in float32, added up from first to last.
 * Searches in memory and database scans thus return the same rows. A test compares it with DuckDB's
 * own.
 * @returns 0 to 2
 */
export function databaseDistance(one: Float32Array, other: Float32Array): number {
  let product = 0
  for (let index = 0; index < one.length; index += 1) {
    const part = Math.fround((one[index] ?? 0) * (other[index] ?? 0))
    product = Math.fround(product + part)
  }
  return Math.min(2, Math.max(0, Math.fround(1 - product)))
}
