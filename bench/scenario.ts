/** A scenario measures one promise of the server. It gets a server with a data folder of its own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EiderClient, eiderClient } from '../scripts/eider-client.ts'
import {
  type ServerOptions,
  type ServerProcess,
  startServer,
  whileRunning,
} from '../scripts/server-process.ts'
import { measuredRoot } from './compared-checkouts.ts'
import type { Measure } from './measure.ts'

export interface Scenario {
  readonly name: string
  readonly title: string
  /** Set if it takes long, so that `--only` must name it. */
  readonly onlyWhenNamed?: boolean
  /**
   * Set if it measures this checkout's code in this process, so no other checkout can be compared.
   */
  readonly isInProcess?: boolean
  run(size: BenchSize): Promise<readonly Measure[]>
}

export type BenchSize = 'quick' | 'normal' | 'full'

export type { Measure } from './measure.ts'

export interface Bench {
  readonly client: EiderClient
  readonly server: ServerProcess
}

export const PROJECT = '/projects/mindsdb'

/** Runs `work` on a server with an empty data folder, and removes both afterwards. */
export async function withServer<T>(
  environment: Readonly<Record<string, string>>,
  work: (bench: Bench) => Promise<T>,
): Promise<T> {
  return withFolder(async (dataDirectory) => {
    const server = await startMeasured({ dataDirectory, environment })
    return whileRunning(server, () => work({ client: eiderClient(server.baseUrl), server }))
  })
}

/** Starts the server of the measured checkout. An insert is answered once it is stored, however long that takes. */
export function startMeasured(options: Omit<ServerOptions, 'root'>): Promise<ServerProcess> {
  const environment = { EIDER_INSERT_WAIT_SECONDS: '0', ...options.environment }
  return startServer({ ...options, environment, root: measuredRoot() })
}

export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'eider-bench-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns the resident memory in MB that the system reports, or NaN without `ps`. */
export function residentMb(pid: number): number {
  const ps = Bun.spawnSync(['ps', '-o', 'rss=', '-p', String(pid)], { stderr: 'ignore' })
  const kilobytes = ps.success ? Number(ps.stdout.toString().trim()) : Number.NaN
  return kilobytes / 1024
}
