/**
 * Measures two checkouts side by side. The scenario runs once for each, as coroutines of which only
 * one works at a time. Each yields to the other after a slice of its load, so that a slow moment of
 * the machine affects both.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { join } from 'node:path'

interface Side {
  /** The folder whose server is measured. */
  readonly root: string
  /** Lets the other side work until it hands over in turn. */
  handOver(): Promise<void>
}

const OWN_ROOT = join(import.meta.dir, '..')
const SLICES = 5

const sides = new AsyncLocalStorage<Side>()

/** Returns the folder of the checkout whose server should be started. */
export function measuredRoot(): string {
  return sides.getStore()?.root ?? OWN_ROOT
}

/** Returns the number of slices of a load. The other side works in between. */
export function sliceCount(): number {
  return sides.getStore() === undefined ? 1 : SLICES
}

/** Marks the end of a slice. It returns at once if nothing is compared. */
export async function handOver(): Promise<void> {
  await sides.getStore()?.handOver()
}

/**
 * Runs `work` alternately for this checkout and for `other`. @returns both results, this one's first
 */
export async function compared<T>(other: string, work: () => Promise<T>): Promise<readonly [T, T]> {
  const baton = new Baton()
  const run = (root: string, number: number) => {
    const side = { root, handOver: () => baton.handOver(number) }
    return sides.run(side, () => baton.from(number, work))
  }
  const [own, others] = await Promise.allSettled([run(OWN_ROOT, 0), run(other, 1)])
  if (own.status === 'rejected') throw own.reason
  if (others.status === 'rejected') throw others.reason
  return [own.value, others.value]
}

/** Held by one of the two sides at a time. */
class Baton {
  #holder = 0
  readonly #isOver = [false, false]
  readonly #waiting: (() => void)[] = []

  async from<T>(number: number, work: () => Promise<T>): Promise<T> {
    await this.#take(number)
    try {
      return await work()
    } finally {
      this.#isOver[number] = true
      this.#give(1 - number)
    }
  }

  async handOver(number: number): Promise<void> {
    if (this.#isOver[1 - number]) return
    this.#give(1 - number)
    await this.#take(number)
  }

  async #take(number: number): Promise<void> {
    if (this.#holder === number) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting[number] = resolve
    await promise
  }

  #give(number: number): void {
    this.#holder = number
    this.#waiting[number]?.()
  }
}
