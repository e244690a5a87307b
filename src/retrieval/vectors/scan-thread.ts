import type { Kernel } from '../kernel/kernel.ts'
import { type KernelChoice, openKernel } from '../kernel/open-kernel.ts'
import {
  areOfSameRows,
  scanStepsTogether,
  type ThreadResult,
  type ThreadTask,
  TOGETHER_MAX,
  TOGETHER_MIN,
  taskSteps,
} from './scan.ts'

export type ToScanThread =
  | {
      readonly kind: 'open'
      readonly memory: WebAssembly.Memory
      readonly slots: readonly number[]
      readonly kernel: KernelChoice
      /** Int32 per position in the batch: the id of a cancelled scan. */
      readonly cancelled: SharedArrayBuffer
    }
  | { readonly kind: 'scan'; readonly batch: readonly BatchedScan[] }

interface BatchedScan {
  readonly id: number
  readonly task: ThreadTask
}

/** The results of a batch in order; null for a cancelled scan. */
export interface FromScanThread {
  readonly results: readonly (ThreadResult | null)[]
}

/**
 * The thread's side: opened once, then runs one batch after the other. An error ends the thread.
 */
export class ScanThread {
  readonly #post: (answer: FromScanThread) => void
  #kernels: readonly Kernel[] = []
  #cancelled: Int32Array<ArrayBufferLike> = new Int32Array()

  constructor(post: (answer: FromScanThread) => void) {
    this.#post = post
  }

  receive(message: ToScanThread): void {
    if (message.kind === 'scan') {
      this.#post({ results: this.#scanAll(message.batch) })
      return
    }
    const { memory, slots, kernel } = message
    this.#kernels = slots.map((slot) => openKernel(memory, slot, kernel))
    this.#cancelled = new Int32Array(message.cancelled)
  }

  /** Slice by slice, so that what one reads is in the cache for the others. */
  #scanAll(batch: readonly BatchedScan[]): readonly (ThreadResult | null)[] {
    const results: (ThreadResult | null)[] = batch.map(() => null)
    const isLeft = (position: number) =>
      Atomics.load(this.#cancelled, position) === batch[position]?.id
    let running = this.#runsOf(batch)
    while (running.length > 0) {
      running = running.filter(({ positions, steps }) => {
        if (positions.every(isLeft)) return false
        const step = steps.next()
        if (!step.done) return true
        for (const [index, position] of positions.entries()) {
          if (!isLeft(position)) results[position] = step.value[index] ?? null
        }
        return false
      })
    }
    return results
  }

  #runsOf(batch: readonly BatchedScan[]): readonly Run[] {
    const kernels = batch.map((_, position) => this.#kernelOf(position))
    const scans = batch.flatMap(({ task }, position) => {
      const kernel = kernels[position]
      if (task.kind !== 'scan' || kernel === undefined) return []
      return [{ kernel, task, position }]
    })
    const [first] = scans
    const same = first === undefined ? [] : scans.filter((one) => areOfSameRows(first, one))
    const mayLook = same.length >= TOGETHER_MIN && same.length <= TOGETHER_MAX
    const together = mayLook && first?.kernel.joinLook() !== 0 ? same : []
    const alone = batch.flatMap(({ task }, position): Run[] => {
      const kernel = kernels[position]
      const isAlone = together.every((one) => one.position !== position)
      return kernel && isAlone ? [{ positions: [position], steps: stepsOf(kernel, task) }] : []
    })
    if (together.length === 0) return alone
    const positions = together.map(({ position }) => position)
    return [{ positions, steps: scanStepsTogether(together) }, ...alone]
  }

  #kernelOf(position: number): Kernel {
    const kernel = this.#kernels[position]
    if (kernel === undefined) throw new Error('a batch came before its memory or is too large')
    return kernel
  }
}

/**
 * Work that goes through memory in one pass, with a result for each of its positions in the batch.
 */
interface Run {
  readonly positions: readonly number[]
  readonly steps: Generator<undefined, readonly ThreadResult[]>
}

function* stepsOf(kernel: Kernel, task: ThreadTask): Generator<undefined, readonly ThreadResult[]> {
  return [yield* taskSteps(kernel, task)]
}
