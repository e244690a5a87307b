import type { DuckDBConnection } from '@duckdb/node-api'
import { asc, desc, eq } from 'drizzle-orm'
import type {
  LastMark,
  Schedule,
  ScheduleDraft,
  ScheduleRun,
  ScheduleState,
  StoredSchedule,
} from '../../core/domain/flow/sync-source.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { ClaimedRun, ScheduleStore } from '../../core/domain/ports/job-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { bound, nextId, queriesOver } from '../catalog/catalog-queries.ts'
import { sealedJson } from '../catalog/catalog-rows.ts'
import { currentProject, isSameRelation, type StoreParts } from '../catalog/catalog-state.ts'
import { scheduleRuns, scheduleStates, schedules } from '../catalog/schema.ts'

export interface ScheduleLimits {
  readonly schedulesMax: number
  readonly runsMax: number
}

const SCHEDULE_LIMITS: ScheduleLimits = { schedulesMax: 100, runsMax: 100 }

type ScheduleRow = typeof schedules.$inferSelect
type StateRow = typeof scheduleStates.$inferSelect

interface Entry {
  readonly row: ScheduleRow
  readonly state: StateRow
}

/** Stores schedules in the database and in memory. They are deleted with their project. */
export class StoredSchedules implements ScheduleStore {
  readonly #parts: StoreParts
  readonly #limits: ScheduleLimits
  readonly #entries = new Map<number, Entry>()

  private constructor(parts: StoreParts, limits: ScheduleLimits) {
    this.#parts = parts
    this.#limits = limits
  }

  static async open(
    parts: StoreParts,
    limits: Partial<ScheduleLimits> = {},
  ): Promise<StoredSchedules> {
    const stored = new StoredSchedules(parts, { ...SCHEDULE_LIMITS, ...limits })
    await parts.database.lease(async (connection) => {
      const queries = queriesOver(connection)
      const states = await queries.select().from(scheduleStates)
      const stateOf = new Map(states.map((state) => [state.scheduleId, state]))
      for (const row of await queries.select().from(schedules).orderBy(asc(schedules.id))) {
        const state = stateOf.get(row.id)
        if (state !== undefined) stored.#entries.set(row.id, { row, state })
      }
    })
    return stored
  }

  list(): readonly StoredSchedule[] {
    return [...this.#entries.keys()].flatMap((id) => this.get(id) ?? [])
  }

  get(id: number): StoredSchedule | undefined {
    const entry = this.#entries.get(id)
    const { state, secrets } = this.#parts
    const { projects } = state.snapshot()
    const project = projects.find((one) => one.id === entry?.row.projectId)
    if (entry === undefined || project === undefined) return undefined
    const { nameKey: _, sealedQueries, ...row } = entry.row
    const { scheduleId: __, ...own } = entry.state
    // `create` encrypted this value, so the type is right.
    const queries = JSON.parse(secrets.open(sealedQueries)) as Pick<Schedule, 'query' | 'ifQuery'>
    return { ...row, ...queries, projectName: project.name, ...own }
  }

  async create(draft: ScheduleDraft, nextRunAt: string | null): Promise<StoredSchedule> {
    const { database, state, secrets, now } = this.#parts
    const { query, ifQuery, ...plain } = draft
    const id = await database.write(
      async (connection) => {
        const project = currentProject(state.snapshot(), draft.projectId)
        this.#checkRoom(draft)
        const queries = queriesOver(connection)
        const row: ScheduleRow = {
          ...plain,
          id: await nextId(queries, 'schedule'),
          projectId: project.id,
          nameKey: nameKey(draft.name),
          sealedQueries: sealedJson({ query, ifQuery }, secrets),
          createdAt: timestampOfMillis(now()),
        }
        const begun: StateRow = { scheduleId: row.id, ...NOTHING_RUN, nextRunAt }
        await queries.insert(schedules).values(row)
        await queries.insert(scheduleStates).values(begun)
        return { row, state: begun }
      },
      (entry) => this.#entries.set(entry.row.id, entry),
    )
    return this.#known(id.row.id)
  }

  #checkRoom(draft: ScheduleDraft): void {
    const all = this.list()
    if (all.some((one) => isSameRelation(one, draft))) {
      throw new AppError('schedule_exists', `Job with name ${draft.name} already exists`)
    }
    const { schedulesMax } = this.#limits
    if (all.length < schedulesMax) return
    const message = `There are ${schedulesMax} jobs already (EIDER_SCHEDULES_MAX): drop one first`
    throw new AppError('too_many_schedules', message)
  }

  async drop({ id, name }: Pick<Schedule, 'id' | 'name'>): Promise<void> {
    await this.#parts.database.writeFreeing(
      async (connection) => {
        if (!this.#entries.has(id)) throw notFound('schedule', name)
        const queries = queriesOver(connection)
        await queries.delete(scheduleStates).where(eq(scheduleStates.scheduleId, id))
        await queries.delete(scheduleRuns).where(eq(scheduleRuns.scheduleId, id))
        await queries.delete(schedules).where(eq(schedules.id, id))
      },
      () => this.#entries.delete(id),
    )
  }

  async claim(id: number, run: ClaimedRun): Promise<boolean> {
    const { jobId, dueAt, startedAt, nextRunAt } = run
    const known = this.#entries.get(id)?.state
    if (known === undefined) return false
    if (known.lastJobId === jobId) return true
    return this.#change(id, (state) => {
      // Another job may already have recorded this run.
      if (state.nextRunAt !== dueAt) return state
      return {
        ...state,
        nextRunAt,
        lastDueAt: dueAt,
        lastJobId: jobId,
        lastStartedAt: startedAt,
        previousStartedAt: state.lastStartedAt,
      }
    }).then((state) => state.lastJobId === jobId)
  }

  async setMark(id: number, place: string, mark: LastMark): Promise<void> {
    if (!this.#entries.has(id)) return
    await this.#change(id, (state) => ({ ...state, marks: { ...state.marks, [place]: mark } }))
  }

  async addRun(run: Omit<ScheduleRun, 'id'>): Promise<void> {
    await this.#parts.database.write(async (connection) => {
      if (!this.#entries.has(run.scheduleId)) return
      const queries = queriesOver(connection)
      await queries
        .insert(scheduleRuns)
        .values({ ...run, id: await nextId(queries, 'schedule_run') })
      await connection.run(
        `DELETE FROM eider.schedule_runs WHERE schedule_id = $1 AND id NOT IN (
          SELECT id FROM eider.schedule_runs WHERE schedule_id = $1 ORDER BY id DESC LIMIT $2)`,
        [bound(run.scheduleId), bound(this.#limits.runsMax)],
      )
    })
  }

  runs(scheduleId?: number): Promise<readonly ScheduleRun[]> {
    return this.#parts.database.lease(async (connection) => {
      const all = queriesOver(connection).select().from(scheduleRuns)
      const own =
        scheduleId === undefined ? all : all.where(eq(scheduleRuns.scheduleId, scheduleId))
      return own.orderBy(desc(scheduleRuns.id))
    })
  }

  #change(id: number, change: (state: StateRow) => StateRow): Promise<StateRow> {
    return this.#parts.database.write(
      async (connection) => {
        const entry = this.#entries.get(id)
        if (entry === undefined) throw notFound('schedule', String(id))
        const state = change(entry.state)
        await writeState(connection, state)
        return state
      },
      (state) => {
        const entry = this.#entries.get(id)
        if (entry !== undefined) this.#entries.set(id, { ...entry, state })
      },
    )
  }

  #known(id: number): StoredSchedule {
    const schedule = this.get(id)
    if (schedule === undefined) throw notFound('schedule', String(id))
    return schedule
  }
}

const NO_MARKS: Readonly<Record<string, LastMark>> = {}

const NOTHING_RUN: ScheduleState = {
  nextRunAt: null,
  lastDueAt: null,
  lastJobId: null,
  lastStartedAt: null,
  previousStartedAt: null,
  marks: NO_MARKS,
}

async function writeState(connection: DuckDBConnection, state: StateRow): Promise<void> {
  const queries = queriesOver(connection)
  await queries.delete(scheduleStates).where(eq(scheduleStates.scheduleId, state.scheduleId))
  await queries.insert(scheduleStates).values(state)
}
