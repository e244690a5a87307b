import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { isOver, type Job } from '../../core/domain/flow/job.ts'
import type {
  RunTrigger,
  SyncRun,
  SyncSource,
  SyncSourceChanges,
  SyncSourceDraft,
} from '../../core/domain/flow/sync-source.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type {
  JobHandler,
  Jobs,
  JobWork,
  SourceKeeping,
  SourceState,
  SyncStore,
} from '../../core/domain/ports/job-ports.ts'
import { failureKey, hasCode, notFound, toAppError } from '../../core/errors.ts'
import { nextTime } from '../../core/runtime/schedule-times.ts'
import { MINUTE_MS, millisOf, timestampOfMillis } from '../../core/time.ts'
import { openFolder } from './folder-walk.ts'
import { FolderWatch } from './folder-watch.ts'
import type { EndedRun, SourceRunRequest } from './run-source.ts'
import type { SyncProgressReport } from './sync-run.ts'

interface KeeperOptions {
  readonly store: SyncStore
  readonly snapshot: () => CatalogSnapshot
  readonly folders: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly run: (request: SourceRunRequest, signal: AbortSignal) => Promise<EndedRun>
  readonly jobs: Pick<Jobs, 'start' | 'get' | 'list' | 'requestOf' | 'cancel'>
  readonly onFailure: (error: unknown) => void
  readonly watching: typeof WATCHING
}

export const WATCHING = { quietMs: 1_000, patienceMs: 10_000, pollMs: 10_000 }

/** Timers do not notice a changed clock or sleep, so look for due runs at least this often. */
const TIMER_MS_MAX = MINUTE_MS
/** The pause after a run that could not start. */
const AGAIN_MS = 10_000

interface RunRequest {
  readonly sourceId: number
  readonly trigger: RunTrigger
  readonly isFull: boolean
}

/** Fills the list for failures beyond the number of messages that a run keeps. */
const UNNAMED = { item: '', message: '' }

/** Jobs of one knowledge base run one at a time, so runs of a source never overlap. */
export class SourceKeeper implements SourceKeeping {
  /** Handles jobs of kind `sync`. After a crash, a job continues the run it had started. */
  readonly handler: JobHandler = { run: (work, signal) => this.#work(work, signal) }
  readonly #options: KeeperOptions
  /** The id of each source's waiting or running job. */
  readonly #jobIds = new Map<number, number>()
  /** Runs that are being started. */
  readonly #starting = new Map<number, Promise<Job>>()
  /** Sources that changed during a run, so they must run again. */
  readonly #again = new Set<number>()
  /** Sources whose run could not start, so it is tried again after a pause. */
  readonly #pausing = new Set<number>()
  /** Why, by source, no run could start. Each attempt fails then, but is logged once. */
  readonly #refusals = new Map<number, string>()
  readonly #watches = new Map<number, { readonly key: string; readonly watch: FolderWatch }>()
  /** When each source was last started by its schedule. */
  readonly #begunMs = new Map<number, number>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #state: 'waiting' | 'open' | 'closed' = 'waiting'

  constructor(options: KeeperOptions) {
    this.#options = options
  }

  /** Runs that were missed while the server was down are made up once. */
  async start(): Promise<void> {
    const { jobs, onFailure } = this.#options
    const left = jobs.list().filter((job) => job.kind === 'sync' && !isOver(job))
    for (const { id } of left) await this.#know(id).catch(onFailure)
    if (this.#state === 'closed') return
    this.#state = 'open'
    this.#arrange()
  }

  /** A job that waited when the last process ended is still the one of its source. */
  async #know(jobId: number): Promise<void> {
    const { sourceId } = requestOf(await this.#options.jobs.requestOf(jobId))
    if (!this.#jobIds.has(sourceId)) this.#jobIds.set(sourceId, jobId)
  }

  close(): void {
    this.#state = 'closed'
    clearTimeout(this.#timer)
    for (const { watch } of this.#watches.values()) watch.close()
    this.#watches.clear()
  }

  list({ id }: Pick<KnowledgeBase, 'id'>): readonly SyncSource[] {
    return this.#store.sources().filter(({ knowledgeBaseId }) => knowledgeBaseId === id)
  }

  async create(draft: SyncSourceDraft): Promise<SyncSource> {
    await this.#check(draft)
    const source = await this.#store.create(draft)
    this.#arrange()
    return source
  }

  async change(source: SyncSource, changes: SyncSourceChanges): Promise<SyncSource> {
    await this.#check({ ...source, ...changes })
    const changed = await this.#store.change(source, changes)
    this.#arrange()
    return changed
  }

  async drop(source: SyncSource): Promise<void> {
    const jobId = this.#activeJob(source)
    await this.#store.drop(source)
    if (jobId !== null) await this.#options.jobs.cancel(jobId).catch(() => {})
    this.#arrange()
  }

  run(source: SyncSource, { isFull = false } = {}): Promise<Job> {
    return this.#begin(source, 'request', isFull)
  }

  runs(source: SyncSource, limit: number): Promise<readonly SyncRun[]> {
    return this.#store.runs(source, limit)
  }

  stateOf(source: SyncSource): SourceState {
    const dueMs = this.#dueMs(source)
    const watch = this.#watches.get(source.id)?.watch
    return {
      lastRun: this.#store.lastRun(source),
      jobId: this.#activeJob(source),
      nextRunAt: dueMs === null ? null : timestampOfMillis(dueMs),
      watching: watch?.mode ?? null,
      watchNote: watch?.note ?? null,
    }
  }

  get #store(): SyncStore {
    return this.#options.store
  }

  async #check({ kind, parameters }: SyncSourceDraft): Promise<void> {
    if (kind !== 'folder') return
    await openFolder(String(parameters.path), this.#options.folders)
  }

  #activeJob({ id }: SyncSource): number | null {
    const jobId = this.#jobIds.get(id)
    if (jobId === undefined) return null
    try {
      if (!isOver(this.#options.jobs.get(jobId))) return jobId
    } catch {
      // The source was dropped.
    }
    this.#jobIds.delete(id)
    return null
  }

  #begin(source: SyncSource, trigger: RunTrigger, isFull: boolean): Promise<Job> {
    const active = this.#activeJob(source)
    if (active !== null) {
      if (trigger === 'change') this.#again.add(source.id)
      return Promise.resolve(this.#options.jobs.get(active))
    }
    const under = this.#starting.get(source.id)
    if (under !== undefined) return under
    const starting = this.#start({ sourceId: source.id, trigger, isFull }, source)
    this.#starting.set(source.id, starting)
    return starting.finally(() => this.#starting.delete(source.id))
  }

  async #start(request: RunRequest, source: SyncSource): Promise<Job> {
    const { knowledgeBases } = this.#options.snapshot()
    const kb = knowledgeBases.find(({ id }) => id === source.knowledgeBaseId)
    if (kb === undefined) throw notFound('source', source.name)
    const { projectName, name: knowledgeBase } = kb
    const title = `Sync ${kb.name} from ${source.name}`
    const draft = { kind: 'sync', projectName, knowledgeBase, title, request } as const
    const job = await this.#options.jobs.start(draft)
    this.#jobIds.set(source.id, job.id)
    return job
  }

  async #work(work: JobWork, signal: AbortSignal): Promise<void> {
    const { sourceId, trigger, isFull } = requestOf(work.request)
    const source = this.#store.sources().find(({ id }) => id === sourceId)
    if (source === undefined) throw notFound('source', String(sourceId))
    this.#jobIds.set(sourceId, work.job.id)
    const last = this.#store.lastRun(source)
    const own = last !== null && last.jobId === work.job.id ? last : null
    try {
      // The process died after the run was recorded and before the job was.
      if (own?.state === 'done') return reportFailures(own, work)
      const isGoingOn = own?.state === 'running'
      const run = isGoingOn ? own : await this.#store.beginRun(source, trigger, work.job.id)
      await this.#runOne({ source, run, isFull, work }, signal)
    } finally {
      this.#jobIds.delete(sourceId)
      if (this.#again.delete(sourceId)) void this.#tryBegin(source, 'change')
      this.#arrange()
    }
  }

  async #runOne(
    given: {
      readonly source: SyncSource
      readonly run: SyncRun
      readonly isFull: boolean
      readonly work: JobWork
    },
    signal: AbortSignal,
  ): Promise<void> {
    const { source, run, isFull, work } = given
    const before = progressOf(work.checkpoint)
    const mark = ({ run: now, documents, chunks }: SyncProgressReport) => {
      const { added, changed, unchanged, removed, failed } = now.counts
      const stored = {
        documents: before.documents + documents,
        chunks: before.chunks + chunks,
      }
      const rows = added + changed + unchanged + removed + failed
      return work.mark({ progress: { rows, ...stored, total: null }, checkpoint: stored })
    }
    let stored = { documents: 0, chunks: 0 }
    const report = async (progress: SyncProgressReport) => {
      stored = progress
      await this.#store.saveRun(progress.run)
      await mark(progress)
    }
    const onEmbedded = work.noteEmbedded
    const ended = await this.#options.run({ source, run, isFull, report, onEmbedded }, signal)
    const { error } = ended
    // The job continues at the next start.
    if (hasCode(error, 'shutting_down') && signal.aborted) throw error
    const isCancelled = signal.aborted && error !== null
    const finished: SyncRun = {
      ...ended.run,
      state: error === null ? 'done' : isCancelled ? 'cancelled' : 'failed',
      finishedAt: timestampOfMillis(this.#options.now()),
      error: error === null ? null : toAppError(error).message,
    }
    await this.#store.saveRun(finished)
    reportFailures(finished, work)
    await mark({ ...stored, run: finished })
    if (error !== null) throw error
  }

  /** Sets the timer for the next scheduled run, and watches the folders. */
  #arrange(): void {
    if (this.#state !== 'open') return
    const sources = this.#store.sources()
    this.#arrangeWatches(sources)
    clearTimeout(this.#timer)
    const nowMs = this.#options.now()
    let nextMs = nowMs + TIMER_MS_MAX
    for (const source of sources) {
      const dueMs = this.#dueMs(source)
      if (dueMs === null) continue
      if (dueMs > nowMs) nextMs = Math.min(nextMs, dueMs)
      else {
        this.#begunMs.set(source.id, nowMs)
        void this.#tryBegin(source, 'schedule')
        nextMs = Math.min(nextMs, this.#dueMs(source) ?? nextMs)
      }
    }
    const waitMs = Math.max(1, nextMs - nowMs)
    this.#timer = setTimeout(() => this.#arrange(), waitMs)
    this.#timer.unref()
  }

  #arrangeWatches(sources: readonly SyncSource[]): void {
    const wanted = new Map(
      sources.filter(({ isWatched }) => isWatched).map((source) => [source.id, source] as const),
    )
    for (const [id, { key, watch }] of this.#watches) {
      const source = wanted.get(id)
      if (source !== undefined && JSON.stringify(source.parameters) === key) continue
      watch.close()
      this.#watches.delete(id)
    }
    for (const [id, source] of wanted) {
      if (this.#watches.has(id)) continue
      const { parameters } = source
      const watch = new FolderWatch({
        path: String(parameters.path),
        roots: this.#options.folders,
        rules: { include: [], exclude: [], hidden: true },
        onChange: () => void this.#tryBegin(source, 'change'),
        ...this.#options.watching,
      })
      this.#watches.set(id, { key: JSON.stringify(parameters), watch })
      watch.start()
    }
  }

  /** Null if the source has no schedule, or no next run. */
  #dueMs(source: SyncSource): number | null {
    if (source.schedule === null) return null
    const last = this.#store.lastRun(source)
    const sinceMs = [
      millisOf(source.updatedAt),
      last === null ? 0 : millisOf(last.startedAt),
      this.#begunMs.get(source.id) ?? 0,
    ]
    // After the clock was set back, times ahead of it would delay the next run until it catches up.
    const nowMs = this.#options.now()
    const fromMs = Math.max(0, ...sinceMs.filter((ms) => ms <= nowMs))
    return nextTime(source.schedule, fromMs, fromMs)
  }

  async #tryBegin(source: SyncSource, trigger: RunTrigger): Promise<void> {
    if (this.#state !== 'open' || this.#pausing.has(source.id)) return
    try {
      await this.#begin(source, trigger, false)
      this.#refusals.delete(source.id)
    } catch (error) {
      const { code } = toAppError(error)
      if (code === 'source_not_found' || code === 'shutting_down') return
      const refusal = failureKey(error)
      if (refusal !== this.#refusals.get(source.id)) this.#options.onFailure(error)
      this.#refusals.set(source.id, refusal)
      this.#pausing.add(source.id)
      setTimeout(() => {
        this.#pausing.delete(source.id)
        void this.#tryBegin(source, trigger)
      }, AGAIN_MS).unref()
    }
  }
}

function reportFailures({ errors, counts }: SyncRun, work: JobWork): void {
  for (const one of errors) work.leaveOut(one)
  // The number of failures beyond the stored messages.
  const unnamed = counts.failed - errors.length
  for (let i = 0; i < unnamed; i += 1) work.leaveOut(UNNAMED)
}

/** `#start` wrote this request, so the type is right. */
function requestOf(request: unknown): RunRequest {
  const read = (name: string): unknown => Reflect.get(Object(request), name)
  const trigger = read('trigger')
  return {
    sourceId: Number(read('sourceId')),
    trigger: trigger === 'schedule' || trigger === 'change' ? trigger : 'request',
    isFull: read('isFull') === true,
  }
}

function progressOf(checkpoint: unknown): { readonly documents: number; readonly chunks: number } {
  const read = (name: string): unknown => Reflect.get(Object(checkpoint ?? {}), name)
  return { documents: Number(read('documents') ?? 0), chunks: Number(read('chunks') ?? 0) }
}
