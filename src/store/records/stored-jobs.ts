import type { DuckDBConnection } from '@duckdb/node-api'
import { asc, eq, inArray } from 'drizzle-orm'
import { NOTHING_LEFT_OUT, type StoredJob } from '../../core/domain/flow/job.ts'
import type {
  JobChanges,
  JobDraft,
  JobMark,
  JobStore,
  OngoingWork,
} from '../../core/domain/ports/job-ports.ts'
import { AppError } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { nextId, queriesOver } from '../catalog/catalog-queries.ts'
import { jobStates, jobs } from '../catalog/schema.ts'
import type { Secrets } from '../catalog/secrets.ts'
import type { Database } from '../duckdb/database.ts'
import { JobItems } from './job-items.ts'

interface StoredJobsOptions {
  readonly database: Database
  readonly secrets: Secrets
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** The data folder, or null to keep nothing on disk. */
  readonly directory: string | null
}

type JobRow = typeof jobs.$inferSelect
type StateRow = typeof jobStates.$inferSelect

interface Entry {
  readonly row: JobRow
  readonly state: StateRow
  readonly job: StoredJob
}

export class StoredJobs implements JobStore {
  readonly #options: StoredJobsOptions
  readonly #items: JobItems
  readonly #entries = new Map<number, Entry>()
  #onChange: (job: StoredJob) => void = () => {}
  #version = 0

  private constructor(options: StoredJobsOptions) {
    this.#options = options
    const { directory, database } = options
    this.#items = new JobItems({ directory, checkSpace: (bytes) => database.checkSpace(bytes) })
  }

  /** Call only when this process owns the data folder. */
  static async open(options: StoredJobsOptions): Promise<StoredJobs> {
    const stored = new StoredJobs(options)
    await options.database.lease(async (connection) => {
      const queries = queriesOver(connection)
      const states = await queries.select().from(jobStates)
      const stateOf = new Map(states.map((state) => [state.jobId, state]))
      for (const row of await queries.select().from(jobs).orderBy(asc(jobs.id))) {
        const state = stateOf.get(row.id)
        if (state !== undefined) stored.#remember(row, state)
      }
    })
    const kept = [...stored.#entries.values()].filter(({ state }) => state.state !== 'done')
    await stored.#items.clear(new Set(kept.map(({ row }) => row.id)))
    return stored
  }

  get version(): number {
    return this.#version
  }

  list(): readonly StoredJob[] {
    return [...this.#entries.values()].map(({ job }) => job)
  }

  get(id: number): StoredJob | undefined {
    return this.#entries.get(id)?.job
  }

  onChange(listener: (job: StoredJob) => void): void {
    this.#onChange = listener
  }

  async add(
    draft: JobDraft,
    begun?: Pick<OngoingWork, 'startedAt' | 'onDisk'>,
  ): Promise<StoredJob> {
    const { database, now, secrets } = this.#options
    // The id comes first: it names the file of items, which must be on disk before the job exists.
    const id = await database.write((connection) => nextId(queriesOver(connection), 'job'))
    const { items, request, ...own } = draft
    if (items !== undefined) await this.#items.keep(id, items)
    const row: JobRow = {
      ...own,
      id,
      sealedRequest: secrets.seal(JSON.stringify(request)),
      itemCount: items?.length ?? null,
      createdAt: begun?.startedAt ?? timestampOfMillis(now()),
    }
    const queued: StateRow = { jobId: id, state: 'queued', ...NOTHING_DONE, ...NOT_STARTED }
    const state = begun === undefined ? queued : atWork(queued, begun)
    try {
      await database.write(
        async (connection) => {
          const queries = queriesOver(connection)
          await queries.insert(jobs).values(row)
          await queries.insert(jobStates).values(state)
        },
        () => this.#remember(row, state),
      )
    } catch (error) {
      await this.#items.remove(id)
      throw error
    }
    return this.#known(id).job
  }

  async change(id: number, changes: JobChanges): Promise<StoredJob> {
    const { state, leftOut, isReset = false, startedAt, finishedAt, error } = changes
    const change = (before: StateRow): StateRow => ({
      ...before,
      state,
      ...(startedAt === undefined ? {} : { startedAt }),
      ...(finishedAt === undefined ? {} : { finishedAt }),
      ...(error === undefined ? {} : { error }),
      ...(leftOut ?? {}),
      ...(isReset ? NOTHING_DONE : {}),
      // Reset the count of restarts if a user requested the run, or if the job has ended.
      ...(state === 'running' ? {} : { startCount: 0 }),
    })
    try {
      await this.#options.database.writeFreeing(
        async (connection) => {
          const next = change(this.#known(id).state)
          await writeState(connection, next)
          return next
        },
        (next) => this.#remember(this.#known(id).row, next),
      )
    } catch (failure) {
      const known = this.#entries.get(id)
      if (known !== undefined) this.#remember(known.row, change(known.state))
      throw failure
    }
    if (state === 'done') await this.#items.remove(id)
    return this.#known(id).job
  }

  async mark(mark: JobMark): Promise<void> {
    await this.#options.database.write(
      (connection) => this.writeMark(connection, mark),
      () => this.committedMark(mark),
    )
  }

  /** Call within the transaction that stores the data covered by the mark. */
  writeMark(connection: DuckDBConnection, mark: JobMark): Promise<void> {
    return writeState(connection, marked(this.#known(mark.jobId).state, mark))
  }

  /** Call after that transaction commits. */
  committedMark(mark: JobMark): void {
    const { row, state } = this.#known(mark.jobId)
    this.#remember(row, marked(state, mark))
  }

  async countStart(id: number): Promise<number> {
    const next = await this.#options.database.writeFreeing(
      async (connection) => {
        const { state } = this.#known(id)
        const counted = { ...state, startCount: state.startCount + 1 }
        await writeState(connection, counted)
        return counted
      },
      (counted) => this.#remember(this.#known(id).row, counted),
    )
    return next.startCount
  }

  async workOf(id: number): Promise<{ readonly request: unknown; readonly checkpoint: unknown }> {
    const { row, state } = this.#known(id)
    const request: unknown = JSON.parse(this.#options.secrets.open(row.sealedRequest))
    return { request, checkpoint: state.checkpoint ?? null }
  }

  async *items(id: number, firstIndex: number): AsyncGenerator<unknown> {
    const { itemCount } = this.#known(id).row
    if (itemCount !== null) yield* this.#items.read(id, firstIndex, itemCount)
  }

  async remove(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return
    await this.#options.database.writeFreeing(
      async (connection) => {
        const queries = queriesOver(connection)
        await queries.delete(jobStates).where(inArray(jobStates.jobId, [...ids]))
        await queries.delete(jobs).where(inArray(jobs.id, [...ids]))
      },
      () => {
        for (const id of ids) this.#entries.delete(id)
        this.#version += 1
      },
    )
    for (const id of ids) await this.#items.remove(id)
  }

  close(): Promise<void> {
    return this.#items.close()
  }

  #known(id: number): Entry {
    const entry = this.#entries.get(id)
    if (entry === undefined) throw new AppError('job_not_found', `There is no job ${id}`)
    return entry
  }

  #remember(row: JobRow, state: StateRow): void {
    const job = jobOf(row, state)
    this.#entries.set(row.id, { row, state, job })
    this.#version += 1
    this.#onChange(job)
  }
}

const NOTHING_DONE = {
  rowCount: 0,
  documentCount: 0,
  chunkCount: 0,
  total: null,
  skippedCount: 0,
  checkpoint: null,
  ...NOTHING_LEFT_OUT,
  startCount: 0,
} satisfies Partial<StateRow>

const NOT_STARTED = { startedAt: null, finishedAt: null, error: null }

function atWork(
  queued: StateRow,
  { startedAt, onDisk }: Pick<OngoingWork, 'startedAt' | 'onDisk'>,
): StateRow {
  const { jobId } = queued
  return { ...marked(queued, { ...onDisk, jobId }), state: 'running', startedAt, startCount: 1 }
}

function marked(state: StateRow, { progress, checkpoint, leftOut }: JobMark): StateRow {
  return {
    ...state,
    rowCount: progress.rows,
    documentCount: progress.documents,
    chunkCount: progress.chunks,
    total: progress.total,
    skippedCount: progress.skipped ?? 0,
    checkpoint,
    ...(leftOut ?? {}),
    startCount: 0,
  }
}

/** Deletes and inserts: after an UPDATE, DuckDB cannot checkpoint its log with readers. */
async function writeState(connection: DuckDBConnection, state: StateRow): Promise<void> {
  const queries = queriesOver(connection)
  await queries.delete(jobStates).where(eq(jobStates.jobId, state.jobId))
  await queries.insert(jobStates).values(state)
}

function jobOf(row: JobRow, state: StateRow): StoredJob {
  const { sealedRequest, itemCount, ...own } = row
  const { startedAt, finishedAt, error, errors, errorCount, total } = state
  const { rowCount: rows, documentCount: documents, chunkCount: chunks } = state
  const progress = { rows, documents, chunks, total, skipped: state.skippedCount }
  const outcome = { state: state.state, error, errors, errorCount }
  return { ...own, ...outcome, startedAt, finishedAt, progress }
}
