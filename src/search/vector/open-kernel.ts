import type { Kernel, KernelOperations } from './kernel.ts'
import { KERNEL_BASE64 } from './kernel-module.ts'
import { CANDIDATE_BYTES, CANDIDATES_MAX, ROW_LIST_MAX, slotLayout } from './memory-layout.ts'
import { ScalarKernel } from './scalar-kernel.ts'
import { VECTOR_LIMITS } from './search-limits.ts'

export type KernelChoice = 'fastest' | 'scalar'

/** @param slot 0 for the calling thread, from 1 on for the threads' scans */
export function openKernel(
  memory: WebAssembly.Memory,
  slot: number,
  choice: KernelChoice = 'fastest',
): Kernel {
  const at = slotLayout(slot)
  const { buffer } = memory
  const operations =
    choice === 'fastest' && hasSimd() ? wasmOperations(memory, slot) : new ScalarKernel(memory, at)
  return Object.assign(operations, {
    input: new Float32Array(buffer, at.input, VECTOR_LIMITS.dimensionsMax),
    rowList: new Int32Array(buffer, at.rowList, ROW_LIST_MAX),
    distances: new Float64Array(buffer, at.distances, VECTOR_LIMITS.neighboursMax),
    keys: new Float64Array(buffer, at.keys, VECTOR_LIMITS.neighboursMax),
    candidates: new Float64Array(buffer, at.candidates, (CANDIDATES_MAX * CANDIDATE_BYTES) / 8),
  })
}

/** `(func (result v128) i32.const 0 i8x16.splat i8x16.popcnt)`: valid where there is SIMD. */
const SIMD_PROBE = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3],
  ...[2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11],
])

function hasSimd(): boolean {
  return WebAssembly.validate(SIMD_PROBE)
}

function wasmOperations(memory: WebAssembly.Memory, slot: number): KernelOperations {
  const module = new WebAssembly.Module(Buffer.from(KERNEL_BASE64, 'base64'))
  const { exports } = new WebAssembly.Instance(module, { env: { memory } })
  // The module is ours: a test compiles its source and calls all of them.
  const operations = exports as unknown as KernelOperations & {
    configureSlot(...addresses: readonly number[]): void
  }
  const at = slotLayout(slot)
  operations.configureSlot(
    ...[at.input, at.queryCodes, at.rowList, at.distances],
    ...[at.keys, at.lowers, at.candidates, CANDIDATES_MAX],
  )
  return { ...operations }
}
