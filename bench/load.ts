/** Closed-loop load: each client sends its next request when the last one is answered. Bounded by count or by time. */
import { handOver, sliceCount } from './compared-checkouts.ts'
import type { LoadFigures, Measure } from './measure.ts'
import { cpuMsOf } from './server-cpu.ts'

export interface Load {
  readonly clients: number
  /** Requests of all clients together. */
  readonly requestsMax: number
  readonly durationMs: number
  /** Of the server, whose processor time is measured; unset: it is not. */
  readonly pid?: number
}

export interface LoadResult {
  /** Of each request, ascending. */
  readonly latenciesMs: readonly number[]
  readonly elapsedMs: number
  /** Of the server, for all requests; NaN: not known. */
  readonly cpuMs: number
}

/** @param request gets 0, 1, 2 … across all clients */
export async function runLoad(
  load: Load,
  request: (index: number) => Promise<unknown>,
): Promise<LoadResult> {
  const slices = sliceCount()
  const latenciesMs: number[] = []
  let elapsedMs = 0
  let cpuMs = 0
  let next = 0
  for (let slice = 1; slice <= slices; slice += 1) {
    const cpuBefore = load.pid === undefined ? Number.NaN : cpuMsOf(load.pid)
    const startedAt = performance.now()
    const durationMs = load.durationMs / slices
    const countMax = Math.ceil((load.requestsMax * slice) / slices)
    const client = async () => {
      while (next < countMax && performance.now() - startedAt < durationMs) {
        const index = next
        next += 1
        const sentAt = performance.now()
        await request(index)
        latenciesMs.push(performance.now() - sentAt)
      }
    }
    await Promise.all(Array.from({ length: load.clients }, client))
    elapsedMs += performance.now() - startedAt
    cpuMs += load.pid === undefined ? Number.NaN : cpuMsOf(load.pid) - cpuBefore
    await handOver()
  }
  return { latenciesMs: latenciesMs.sort((a, b) => a - b), elapsedMs, cpuMs }
}

/** @param share 0..1 of the ascending values; the nearest rank */
export function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? Number.NaN
}

export function loadMeasure(what: string, result: LoadResult): Measure {
  return { what, load: figuresOf(result) }
}

function figuresOf({ latenciesMs, elapsedMs, cpuMs }: LoadResult): LoadFigures {
  return {
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    perSecond: latenciesMs.length / (elapsedMs / 1000),
    cpuMs: cpuMs / latenciesMs.length,
  }
}
