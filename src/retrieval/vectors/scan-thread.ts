import type { Kernel } from '../kernel/kernel.ts'
import { type KernelChoice, openKernel } from '../kernel/open-kernel.ts'
import { type AssignResult, type AssignTask, assignSteps } from './assign.ts'
import { type ScanResult, type ScanTask, scanSteps } from './scan.ts'

export type ToScanThread =
  | {
      readonly kind: 'open'
      readonly memory: WebAssembly.Memory
      /** One for each scan of a batch. */
      readonly slots: readonly number[]
      readonly kernel: KernelChoice
      /** Int32 by position in the batch: the id of a scan that was cancelled. */
      readonly cancelled: SharedArrayBuffer
    }
  | { readonly kind: 'scan'; readonly batch: readonly BatchedScan[] }

/** What a thread does; all but scans it does alone. */
export type ThreadTask = ScanTask | AssignTask

export type ThreadResult = ScanResult | AssignResult

export interface BatchedScan {
  readonly id: number
  readonly task: ThreadTask
}

/** The results of a batch, in its order; null for a scan that was cancelled. */
export interface FromScanThread {
  readonly results: readonly (ThreadResult | null)[]
}

/** One thread's side: opened once, then one batch after the other. What it throws ends the thread. */
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

  /** Side by side, a slice each: what one has read, the others find in the cache. */
  #scanAll(batch: readonly BatchedScan[]): readonly (ThreadResult | null)[] {
    const results: (ThreadResult | null)[] = batch.map(() => null)
    let running = batch.map(({ id, task }, position) => {
      const kernel = this.#kernels[position]
      if (kernel === undefined) throw new Error('a batch came before its memory or is too large')
      return { id, position, steps: stepsOf(kernel, task) }
    })
    while (running.length > 0) {
      running = running.filter(({ id, position, steps }) => {
        if (Atomics.load(this.#cancelled, position) === id) return false
        const step = steps.next()
        if (step.done) results[position] = step.value
        return !step.done
      })
    }
    return results
  }
}

function stepsOf(kernel: Kernel, task: ThreadTask): Generator<undefined, ThreadResult> {
  return task.kind === 'scan' ? scanSteps(kernel, task) : assignSteps(kernel, task)
}
