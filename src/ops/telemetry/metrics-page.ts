/** Writes the text of `/metrics`: counters and current state, in Prometheus formats. */
import { readdirSync, readFileSync } from 'node:fs'
import { Registry, type RegistryContentType } from 'prom-client'
import type { ServerState } from '../../core/domain/server-state.ts'
import type { Labels, Measurements, Sample } from './measurements.ts'
import { METRICS, type MetricName } from './measurements.ts'

/** Values that other parts provide for each request. */
export interface Sources {
  readonly version: string
  readonly state: () => ServerState
  /** Bytes by part of the server. */
  readonly memory: () => Promise<Readonly<Record<string, number>>>
  readonly objects: () => Readonly<Record<string, number>>
  readonly jobs: () => Readonly<Record<string, number>>
  readonly questions: () => Readonly<Record<string, number>>
  readonly backupBytes: () => Promise<number>
}

const LAG_EVERY_MS = 100

export class MetricsPage {
  readonly #measurements: Measurements
  readonly #sources: Sources
  readonly #lag: ReturnType<typeof setInterval>
  /** Computed once: each computation would differ slightly, which would look like a restart. */
  readonly #startSeconds = Math.round(Date.now() / 1000 - process.uptime())
  #dueMs = performance.now() + LAG_EVERY_MS

  constructor(measurements: Measurements, sources: Sources) {
    this.#measurements = measurements
    this.#sources = sources
    this.#lag = setInterval(() => this.#noteLag(), LAG_EVERY_MS)
    this.#lag.unref()
  }

  /**
   * @param accept the Accept header, because OpenMetrics is sent only to clients that ask for it
   */
  async text(accept: string | null): Promise<{
    readonly contentType: string
    readonly text: string
  }> {
    const isOpenMetrics = /application\/openmetrics-text/i.test(accept ?? '')
    const registry: Registry<RegistryContentType> = new Registry()
    if (isOpenMetrics) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
    const found = await this.#samples()
    for (const [name, { type, help }] of Object.entries(METRICS)) {
      // `Object.entries` widens the names to strings.
      const values = found[name as MetricName] ?? []
      // For OpenMetrics, the library removes `_total` from a counter's name, so the name is set
      // here.
      const metric = { name, get: async () => ({ name: metric.name, help, type, values }), type }
      // Not one of the library's classes, which keep their own counts; the library formats any
      // object with `get`.
      registry.registerMetric(metric as never)
    }
    return { contentType: registry.contentType, text: await registry.metrics() }
  }

  close(): void {
    clearInterval(this.#lag)
  }

  #noteLag(): void {
    const nowMs = performance.now()
    this.#measurements.eventLoopLag.add(Math.max(0, nowMs - this.#dueMs))
    this.#dueMs = nowMs + LAG_EVERY_MS
  }

  async #samples(): Promise<Partial<Record<MetricName, readonly Sample[]>>> {
    const { objects, jobs, questions, backupBytes, memory } = this.#sources
    const [ofMemory, ofBackups] = await Promise.all([memory(), backupBytes()])
    return {
      ...this.#measurements.samples(),
      ...stateSamples(this.#sources.state(), ofBackups),
      ...processSamples(),
      process_start_time_seconds: one(this.#startSeconds),
      eider_build_info: [
        { labels: { version: this.#sources.version, bun: Bun.version }, value: 1 },
      ],
      eider_memory_bytes: by('part', {
        ...ofMemory,
        javascript_heap: process.memoryUsage().heapUsed,
        ...childMemory(),
      }),
      eider_objects: by('kind', objects()),
      eider_jobs: by('state', jobs()),
      eider_agent_questions_in_progress: by('state', questions()),
    }
  }
}

function stateSamples(state: ServerState, backupBytes: number) {
  const { statements, restarts, disk, memory } = state
  const { running, waiting, parked, abandoned } = statements
  return {
    eider_statements_in_progress: by('state', {
      running,
      waiting,
      parked,
      abandoned: abandoned.length,
    }),
    eider_statements_stopped_for_memory_total: one(memory.interrupted),
    eider_memory_limit_bytes: memoryLimit(memory),
    eider_storage_bytes: by('part', {
      database: disk.data,
      log: disk.log,
      files: disk.files,
      backups: backupBytes,
    }),
    eider_disk_free_bytes: disk.free === null ? [] : one(disk.free),
    eider_disk_reserve_bytes: one(disk.reserve),
    eider_storage_full: one(disk.full ? 1 : 0),
    eider_restarts_total: one(restarts.count),
  }
}

/** The process's memory and its limit, adjusted to resident memory so that both can be compared. */
function memoryLimit({ rss, data, limit }: ServerState['memory']) {
  return limit === null || data === null ? [] : one(rss + Math.max(0, limit - data))
}

function processSamples() {
  const { user, system } = process.cpuUsage()
  return {
    process_cpu_seconds_total: one((user + system) / 1e6),
    process_resident_memory_bytes: one(process.memoryUsage.rss()),
    process_open_fds: openFiles(),
  }
}

function one(value: number): readonly Sample[] {
  return [{ labels: {}, value }]
}

function by(label: string, values: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => {
    const labels: Labels = { [label]: name }
    return { labels, value }
  })
}

/** Known only on Linux. */
function openFiles(): readonly Sample[] {
  try {
    return one(readdirSync('/proc/self/fd').length)
  } catch {
    return []
  }
}

const PAGE_BYTES = 4096

/** The memory of child processes that read files; known only on Linux. */
function childMemory(): Readonly<Record<string, number>> {
  try {
    const text = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    const sizes = text
      .split(' ')
      .filter((pid) => pid !== '')
      .map(residentBytes)
    return { reader_processes: sizes.reduce((sum, size) => sum + size, 0) }
  } catch {
    return {}
  }
}

function residentBytes(pid: string): number {
  try {
    const [, pages = '0'] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')
    return Number(pages) * PAGE_BYTES
  } catch {
    // The process has ended in the meantime.
    return 0
  }
}
