/** Closed-loop load: each client sends its next request when the last one is answered. Bounded by count or by time. */
import type { Measure } from './scenario.ts'

export interface Load {
  readonly clients: number
  /** Requests of all clients together. */
  readonly requestsMax: number
  readonly durationMs: number
}

export interface LoadResult {
  /** Of each request, ascending. */
  readonly latenciesMs: readonly number[]
  readonly elapsedMs: number
}

/** @param request gets 0, 1, 2 … across all clients */
export async function runLoad(
  load: Load,
  request: (index: number) => Promise<unknown>,
): Promise<LoadResult> {
  const latenciesMs: number[] = []
  const startedAt = performance.now()
  let next = 0
  const client = async () => {
    while (next < load.requestsMax && performance.now() - startedAt < load.durationMs) {
      const index = next
      next += 1
      const sentAt = performance.now()
      await request(index)
      latenciesMs.push(performance.now() - sentAt)
    }
  }
  await Promise.all(Array.from({ length: load.clients }, client))
  const elapsedMs = performance.now() - startedAt
  return { latenciesMs: latenciesMs.sort((a, b) => a - b), elapsedMs }
}

/** @param share 0..1 of the ascending values; the nearest rank */
export function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? Number.NaN
}

export function latencyMeasures(what: string, { latenciesMs }: LoadResult): readonly Measure[] {
  return [
    { what: `${what}, p50`, value: percentile(latenciesMs, 0.5), unit: 'ms' },
    { what: `${what}, p99`, value: percentile(latenciesMs, 0.99), unit: 'ms' },
  ]
}

export function rateMeasure(what: string, { latenciesMs, elapsedMs }: LoadResult): Measure {
  return { what, value: latenciesMs.length / (elapsedMs / 1000), unit: 'per second' }
}
