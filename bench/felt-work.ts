/** Measures how work affects a server: the delay of its event loop, and the memory and processor time that it takes. */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tick } from './lag-probe.ts'
import { percentile } from './load.ts'
import { type Bench, type Measure, withServer } from './scenario.ts'
import { cpuMsOf } from './server-cpu.ts'

export interface FeltBench extends Bench {
  /** The socket of the probe in the server's event loop. */
  readonly lagSocket: string
}

const PROBE = join(import.meta.dir, 'lag-probe.ts')
const MEMORY_SAMPLE_MS = 25

/** Like `withServer`, but with a probe in the server's process. */
export function withFeltServer<T>(work: (bench: FeltBench) => Promise<T>): Promise<T> {
  const lagSocket = join(tmpdir(), `eider-lag-${crypto.randomUUID()}`)
  const environment = {
    BUN_OPTIONS: `--preload=${PROBE}${process.env.BENCH_PROF ?? ''}`,
    BENCH_LAG_SOCKET: lagSocket,
  }
  return withServer(environment, (bench) => work({ ...bench, lagSocket }))
}

/** @param work returns the number of pieces of work done, to compute the rate */
export async function felt(
  { server, lagSocket }: FeltBench,
  { what, unit }: { readonly what: string; readonly unit: string },
  work: () => Promise<number>,
): Promise<readonly Measure[]> {
  await ticksOf(lagSocket)
  const idleMb = residentMbOf(server.pid)
  let peakMb = idleMb
  const sampler = setInterval(() => {
    peakMb = Math.max(peakMb, residentMbOf(server.pid))
  }, MEMORY_SAMPLE_MS)
  const cpuBefore = cpuMsOf(server.pid)
  const startedAt = performance.now()
  try {
    const count = await work()
    const seconds = (performance.now() - startedAt) / 1000
    const cpuSeconds = (cpuMsOf(server.pid) - cpuBefore) / 1000
    const ticks = await ticksOf(lagSocket)
    const late = ascending(ticks.map(([lateMs]) => lateMs))
    const held = ascending(ticks.map(([lateMs, waitedMs]) => Math.max(0, lateMs - waitedMs)))
    return [
      { what: `${what}: time`, value: seconds, unit: 's' },
      { what: `${what}: rate`, value: count / seconds, unit: `${unit}/s` },
      { what: `${what}: processor`, value: cpuSeconds, unit: 's' },
      { what: `${what}: memory above before, peak`, value: peakMb - idleMb, unit: 'MB' },
      { what: `${what}: event loop late by, p50`, value: percentile(late, 0.5), unit: 'ms' },
      { what: `${what}: event loop late by, p99`, value: percentile(late, 0.99), unit: 'ms' },
      {
        what: `${what}: the same without waiting for a core, p99`,
        value: percentile(held, 0.99),
        unit: 'ms',
      },
      { what: `${what}: the same, longest`, value: held.at(-1) ?? Number.NaN, unit: 'ms' },
    ]
  } finally {
    clearInterval(sampler)
  }
}

async function ticksOf(path: string): Promise<readonly Tick[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  const socket = connect(path)
  socket.setEncoding('utf8')
  socket.on('data', (part) => {
    text += part
  })
  socket.on('end', () => resolve(text))
  socket.on('error', reject)
  return JSON.parse(await promise)
}

function ascending(values: number[]): readonly number[] {
  return values.sort((a, b) => a - b)
}

/** Reads without starting a process for each sample. Returns NaN without /proc. */
function residentMbOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}
