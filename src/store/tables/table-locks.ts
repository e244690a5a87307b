import { nameKey } from '../../core/domain/identifier.ts'
import type { RunLimits } from '../../core/domain/ports/engine-ports.ts'
import type { TableKey } from '../../core/domain/ports/store-ports.ts'
import { AppError } from '../../core/errors.ts'
import { withDeadline } from '../../core/runtime/cancellation.ts'
import { Semaphore } from '../../core/runtime/semaphore.ts'

/** Statements that wait for one table. */
const WAITING_MAX = 1000

/** One statement at a time writes a table, from what it reads to its commit. A statement holds one table at most. */
export class TableLocks {
  readonly #locks = new Map<string, Semaphore>()

  /** Runs work alone with the table of this name. @throws AppError `timeout`, `too_busy` */
  async during<T>(
    { projectId, name }: TableKey,
    { timeoutMs, spentMs = 0 }: RunLimits,
    signal: AbortSignal,
    work: (waitedMs: number) => Promise<T>,
  ): Promise<T> {
    const key = `${projectId ?? 'files'}/${nameKey(name)}`
    const lock = this.#locks.get(key) ?? newLock()
    this.#locks.set(key, lock)
    const startMs = performance.now()
    const timeoutError = () => {
      const limit = `The statement waited ${timeoutMs} ms for others that write ${name} (EIDER_QUERY_MS)`
      return new AppError('timeout', `${limit}; try again later`)
    }
    const limits = { timeoutMs: Math.max(1, timeoutMs - spentMs), signal, timeoutError }
    const release = await withDeadline(limits, (ending) => lock.enter(ending))
    try {
      return await work(performance.now() - startMs)
    } finally {
      release()
      if (lock.taken === 0 && lock.waiting === 0) this.#locks.delete(key)
    }
  }
}

function newLock(): Semaphore {
  const tooBusy = (waiting: number) => {
    const message = `${waiting} statements wait to write this table; try again later`
    return new AppError('too_busy', message)
  }
  return new Semaphore({ placesMax: 1, waitingMax: WAITING_MAX, tooBusy })
}
