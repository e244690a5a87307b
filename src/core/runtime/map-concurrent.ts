import { callerOf, setCaller } from './cancellation.ts'

/**
 * The results of `work` on each item, in the order of the items, with at most `concurrencyMax` at work at
 * once. The first failure stops the others and is thrown when all have ended.
 */
export async function mapConcurrent<Item, Result>(
  items: readonly Item[],
  bounds: { readonly concurrencyMax: number; readonly signal: AbortSignal },
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<readonly Result[]> {
  const results = new Map<number, Result>()
  const remaining = items.entries()
  const stop = new AbortController()
  const signal = AbortSignal.any([bounds.signal, stop.signal])
  setCaller(signal, callerOf(bounds.signal))
  // The lanes share one iterator: each takes the next item that nobody has taken.
  const lane = async (): Promise<void> => {
    for (const [index, item] of remaining) {
      signal.throwIfAborted()
      results.set(index, await work(item, signal))
    }
  }
  const lanes = Array.from({ length: Math.min(bounds.concurrencyMax, items.length) }, lane)
  try {
    await Promise.all(lanes)
  } catch (error) {
    stop.abort(error)
    await Promise.allSettled(lanes)
    throw error
  }
  return [...results].toSorted(([first], [second]) => first - second).map(([, result]) => result)
}
