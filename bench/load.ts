/** A closed-loop load: each client sends its next request after an answer. Limited by count or time. */
import { handOver, sliceCount } from './compared-checkouts.ts'
import type { LoadFigures, Measure } from './measure.ts'
import { cpuMsOf } from './server-cpu.ts'

export interface Load {
  readonly clients: number
  /** The number of requests of all clients together. */
  readonly requestsMax: number
  readonly durationMs: number
  /** The server process whose processor time is measured. By default it is not measured. */
  readonly pid?: number
}

export interface LoadResult {
  /** The latency of each request, in ascending order. */
  readonly latenciesMs: readonly number[]
  readonly elapsedMs: number
  /** The server's processor time for all requests, or NaN if it is unknown. */
  readonly cpuMs: number
}

/** @param request called with 0, 1, 2 … across all clients */
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

/** @param share from 0 to 1 of the ascending values, by the nearest rank */
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
