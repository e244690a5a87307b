import { openExtent } from '../kernel/kernel.ts'
import {
  BOUND_BYTES,
  extentLayout,
  IDENTITY_BYTES,
  type RowShape,
} from '../kernel/memory-layout.ts'
import type { RowTable } from './row-table.ts'
import type { VectorMemory } from './vector-memory.ts'

/** Removed at this: not removed. See `kernel/vector-scan.ts`. */
const NEVER = 0xffffffff

export interface QuantizedRowsParts {
  readonly memory: VectorMemory
  readonly shape: RowShape
  readonly rows: RowTable
}

/** What the rows of an index hold, read by the main thread. */
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

  /** Since which change a vector is there; null where there is none. */
  addedAt(row: number): number | null {
    const { extent, first } = this.#parts.rows.extentOf(row)
    this.#renew()
    const identity = extentLayout(extent, this.#parts.shape.stride).identities + (row - first) * 16
    if (this.#words[identity / 4 + 3] !== NEVER) return null
    return this.#words[identity / 4 + 2] ?? null
  }

  /** Of a row that holds a vector. */
  keyOf(row: number): number {
    const { extent, first } = this.#parts.rows.extentOf(row)
    const { buffer } = this.#parts.memory.memory
    return new DataView(buffer).getFloat64(extent.address + (row - first) * IDENTITY_BYTES, true)
  }

  /** Adds a row's vector, as its codes say it, to the sum that begins at `at`. */
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

  /** A row's vector, as its codes say it, with length 1; null where they say nothing. */
  unitVector(row: number): Float32Array | null {
    const sum = new Float32Array(this.#parts.shape.stride)
    this.addTo(sum, 0, row)
    return unitOf(sum)
  }

  /** Shared memory that has grown shows its new part in a new buffer only. */
  #renew(): void {
    const { buffer } = this.#parts.memory.memory
    if (buffer.byteLength === this.#floats.byteLength) return
    this.#floats = new Float32Array(buffer)
    this.#words = new Uint32Array(buffer)
  }
}

/** The same direction with length 1; null for a vector without a direction. */
export function unitOf(vector: Float32Array): Float32Array | null {
  let squares = 0
  for (const part of vector) squares += part * part
  const length = Math.sqrt(squares)
  if (!(length > 0 && Number.isFinite(length))) return null
  return vector.map((part) => part / length)
}
