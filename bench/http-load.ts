/**
 * Creates HTTP load with a client that needs little CPU time: wrk if it is installed, or else plain
 * sockets. It is a closed loop like that in `load.ts`.
 */
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { handOver, sliceCount } from './compared-checkouts.ts'
import type { LoadFigures, Measure } from './measure.ts'
import { cpuMsOf } from './server-cpu.ts'
import { type SliceResult, socketSlice } from './socket-client.ts'

export interface HttpLoad {
  readonly baseUrl: string
  /** The process of the server. */
  readonly pid: number
  readonly method: 'POST' | 'PUT'
  /** The path after `/api`, with its slash. */
  readonly path: string
  /** JSON texts without line breaks, which are sent one after the other, repeatedly. */
  readonly bodies: readonly string[]
  readonly clients: number
  readonly seconds: number
  /** Sends a body and throws unless the answer is right. Called before and after the load. */
  check(body: string): Promise<void>
}

const LUA = join(import.meta.dir, 'wrk.lua')

export async function httpMeasure(what: string, load: HttpLoad): Promise<Measure> {
  return { what, load: await httpLoad(load) }
}

async function httpLoad(load: HttpLoad): Promise<LoadFigures> {
  const [first = '', ...others] = load.bodies
  await load.check(first)
  const slices: (SliceResult & { readonly cpuMs: number })[] = []
  const seconds = Math.max(1, Math.round(load.seconds / sliceCount()))
  let sent = 0
  for (let slice = 0; slice < sliceCount(); slice += 1) {
    const cpuBefore = cpuMsOf(load.pid)
    const result = await measuredSlice({ ...load, seconds }, sent)
    slices.push({ ...result, cpuMs: cpuMsOf(load.pid) - cpuBefore })
    sent += result.count
    await handOver()
  }
  await load.check(others.at(-1) ?? first)
  const elapsedMs = slices.reduce((sum, slice) => sum + slice.elapsedMs, 0)
  return {
    p50Ms: median(slices.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(slices.map(({ p99Ms }) => p99Ms)),
    perSecond: sent / (elapsedMs / 1000),
    cpuMs: slices.reduce((sum, slice) => sum + slice.cpuMs, 0) / sent,
  }
}

function measuredSlice(load: HttpLoad, from: number): Promise<SliceResult> {
  const wrk = Bun.which('wrk')
  return wrk === null ? socketSlice(load, from) : wrkSlice(wrk, load, from)
}

async function wrkSlice(
  wrk: string,
  { baseUrl, method, path, bodies, clients, seconds }: HttpLoad,
  from: number,
): Promise<SliceResult> {
  const file = join(tmpdir(), `eider-bench-bodies-${process.pid}.jsonl`)
  await Bun.write(file, `${bodies.join('\n')}\n`)
  try {
    const url = `${baseUrl}/api${path}`
    const options = ['-t', '1', '-c', String(clients), '-d', `${seconds}s`, '--timeout', '60s']
    const child = Bun.spawn([wrk, ...options, '-s', LUA, url, '--', file, method, String(from)], {
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const printed = await new Response(child.stdout).text()
    const line = printed.trim().split('\n').at(-1) ?? ''
    if ((await child.exited) !== 0 || !line.startsWith('{')) throw new Error(`wrk: ${printed}`)
    const { count, elapsedUs, p50Us, p99Us, errors } = JSON.parse(line)
    if (errors > 0) throw new Error(`${errors} of ${count} requests to ${path} failed`)
    return { count, elapsedMs: elapsedUs / 1000, p50Ms: p50Us / 1000, p99Ms: p99Us / 1000 }
  } finally {
    await rm(file, { force: true })
  }
}

function median(values: readonly number[]): number {
  const ascending = values.toSorted((a, b) => a - b)
  return ascending[Math.floor(ascending.length / 2)] ?? Number.NaN
}
