import type { Kernel, KernelOperations } from './kernel.ts'
import {
  CANDIDATE_BYTES,
  CANDIDATES_MAX,
  ROW_LIST_MAX,
  slotLayout,
  VECTOR_LIMITS,
} from './memory-layout.ts'
// Compiled from kernel/vector-scan.ts by scripts/build-kernel.ts.
import relaxed from './relaxed-simd.base64' with { type: 'text' }
import simd from './simd.base64' with { type: 'text' }

/** `simd`: without relaxed SIMD. */
export type KernelChoice = 'fastest' | 'simd'

/** Returns false on CPUs without AVX, where the JavaScript engine has no SIMD. */
export function hasKernel(): boolean {
  return moduleOf('fastest') !== undefined
}

/** @param slot 0 for the calling thread; scans in threads have slots from 1 on */
export function openKernel(
  memory: WebAssembly.Memory,
  slot: number,
  choice: KernelChoice = 'fastest',
): Kernel {
  const at = slotLayout(slot)
  const { buffer } = memory
  return {
    ...wasmOperations(choice, memory, slot),
    input: new Float32Array(buffer, at.input, VECTOR_LIMITS.dimensionsMax),
    rowCodes: new Int8Array(buffer, at.rowCodes, VECTOR_LIMITS.dimensionsMax),
    rowList: new Int32Array(buffer, at.rowList, ROW_LIST_MAX),
    distances: new Float64Array(buffer, at.distances, VECTOR_LIMITS.neighboursMax),
    keys: new Float64Array(buffer, at.keys, VECTOR_LIMITS.neighboursMax),
    candidates: new Float64Array(buffer, at.candidates, (CANDIDATES_MAX * CANDIDATE_BYTES) / 8),
  }
}

/** Each from the fastest on. */
export const MODULES: Readonly<Record<KernelChoice, readonly string[]>> = {
  fastest: [relaxed, simd],
  simd: [simd],
}

function moduleOf(choice: KernelChoice): Uint8Array<ArrayBuffer> | undefined {
  const modules = MODULES[choice].map((base64) => Uint8Array.fromBase64(base64))
  return modules.find((bytes) => WebAssembly.validate(bytes))
}

function wasmOperations(
  choice: KernelChoice,
  memory: WebAssembly.Memory,
  slot: number,
): KernelOperations {
  const bytes = moduleOf(choice)
  if (bytes === undefined) throw new Error('the engine has no SIMD')
  const module = new WebAssembly.Module(bytes)
  const { exports } = new WebAssembly.Instance(module, { env: { memory } })
  // The module is compiled from Eider's own source, and a test calls every operation.
  const operations = exports as unknown as KernelOperations & {
    configureSlot(...addresses: readonly number[]): void
  }
  const at = slotLayout(slot)
  operations.configureSlot(
    ...[at.input, at.fineCodes, at.coarseCodes, at.rowCodes, at.rowList, at.search],
    ...[at.distances, at.keys, at.lowers, at.candidates, CANDIDATES_MAX],
  )
  return { ...operations }
}
