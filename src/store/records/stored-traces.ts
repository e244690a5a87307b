import { and, desc, eq, getTableColumns, gte, inArray, lt, lte, type SQL, sql } from 'drizzle-orm'
import { type FinishedRun, traceNotFound } from '../../core/domain/agents/completion-event.ts'
import { nameKey } from '../../core/domain/names.ts'
import type {
  Feedback,
  StoredTrace,
  TraceFilter,
  TracePage,
  TraceStore,
} from '../../core/domain/ports/conversation-ports.ts'
import { DAY_MS, timestampOfMillis } from '../../core/time.ts'
import { queriesOver } from '../catalog/catalog-queries.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { traceFeedback, traceSteps, traces } from '../catalog/schema.ts'
import { countOf } from '../duckdb/columns.ts'
import { insertRows, rowsOfRun, summaryOf, type TraceRows, traceOf } from './trace-rows.ts'
import { WriteBehind } from './write-behind.ts'

export interface TraceLimits {
  readonly keepMs: number
  /** The most bytes of text in all traces. */
  readonly bytesMax: number
}

const TRACE_LIMITS: TraceLimits = { keepMs: 30 * DAY_MS, bytesMax: 256 * 1024 ** 2 }

const WRITE_MS = 1_000
const RETRY_MS = 10_000
const WAITING_BYTES_MAX = 64 * 1024 ** 2

const SWEEP_MS = 600_000
/** The share of the limit to keep after a removal, so that removals stay rare. */
const KEPT_SHARE = 0.9

/** The size of the rows in one INSERT statement. */
const WRITE_BYTES = 256 * 1024

/** In memory for a moment, then in the database until too old or too many. */
export class StoredTraces implements TraceStore {
  readonly #parts: StoreParts
  readonly #limits: TraceLimits
  readonly #runs = new WriteBehind<TraceRows>({
    ...{ writeMs: WRITE_MS, retryMs: RETRY_MS, sizeMax: WAITING_BYTES_MAX },
    sizeOf: ({ trace }) => trace.byteCount,
    write: (runs) => this.#write(runs),
  })
  #nextNumber = 1
  #byteCount = 0
  /** After a failed write, no write starts before this time. */
  #retryAtMs = 0
  readonly #sweeper: ReturnType<typeof setInterval>
  #isClosed = false
  #onFailure: (error: unknown) => void = () => {}

  private constructor(parts: StoreParts, limits: TraceLimits) {
    this.#parts = parts
    this.#limits = limits
    this.#sweeper = setInterval(() => {
      void this.#sweep().catch((error) => this.#onFailure(error))
    }, SWEEP_MS)
    this.#sweeper.unref()
  }

  static async open(parts: StoreParts, limits: Partial<TraceLimits> = {}): Promise<StoredTraces> {
    const stored = new StoredTraces(parts, { ...TRACE_LIMITS, ...limits })
    const sql = 'SELECT max(number) FROM eider.traces'
    stored.#nextNumber = 1 + (await parts.database.lease((connection) => countOf(connection, sql)))
    await stored.#sweep()
    return stored
  }

  /** Sets a listener that is called if runs could not be stored. */
  onFailure(listener: (error: unknown) => void): void {
    this.#onFailure = listener
  }

  keep(run: FinishedRun): void {
    if (this.#isClosed) return
    this.#runs.add(rowsOfRun(run, this.#nextNumber))
    this.#nextNumber += 1
  }

  /** Resolves when every finished run was written, or writing it has failed. */
  async settled(): Promise<void> {
    if (performance.now() >= this.#retryAtMs) await this.#runs.flush().catch(() => {})
  }

  async list(
    filter: TraceFilter,
    { limit, before }: { readonly limit: number; readonly before: number | null },
  ): Promise<TracePage> {
    await this.settled()
    const conditions = conditionsOf(filter)
    if (before !== null) conditions.push(lt(traces.number, before))
    const rows = await this.#parts.database.lease(async (connection) => {
      const queries = queriesOver(connection)
      // Read only the numbers first, so that rows to be discarded are not loaded.
      const found = await queries
        .select({ number: traces.number })
        .from(traces)
        .where(and(...conditions))
        .orderBy(desc(traces.number))
        .limit(limit + 1)
      const numbers = found.map(({ number }) => number)
      const [newest, oldest] = [numbers[0], numbers.at(-1)]
      if (newest === undefined || oldest === undefined) return []
      const { number } = traces
      return queries
        .select(SUMMARY)
        .from(traces)
        .leftJoin(traceFeedback, eq(traceFeedback.traceId, traces.traceId))
        .where(and(gte(number, oldest), lte(number, newest), inArray(number, numbers)))
        .orderBy(desc(number))
    })
    const shown = rows.slice(0, limit)
    const items = shown.map(({ rating, comment, ratedAt, ...row }) => {
      return summaryOf(row, { rating, comment, ratedAt })
    })
    return { items, next: rows.length > limit ? (shown.at(-1)?.number ?? null) : null }
  }

  async get(traceId: string): Promise<StoredTrace> {
    for (const waiting of this.#runs.waiting) {
      if (waiting.trace.traceId === traceId) return traceOf(waiting, NO_FEEDBACK)
    }
    return this.#parts.database.lease(async (connection) => {
      const queries = queriesOver(connection)
      const [trace] = await queries.select().from(traces).where(eq(traces.traceId, traceId))
      if (trace === undefined) throw traceNotFound(traceId)
      const own = eq(traceSteps.traceNumber, trace.number)
      const steps = await queries.select().from(traceSteps).where(own)
      const rated = eq(traceFeedback.traceId, traceId)
      const [feedback] = await queries.select().from(traceFeedback).where(rated)
      if (feedback === undefined) return traceOf({ trace, steps }, NO_FEEDBACK)
      return traceOf({ trace, steps }, { ...feedback, ratedAt: feedback.createdAt })
    })
  }

  async remove(traceId: string): Promise<void> {
    await this.settled()
    const removed = await this.#remove(eq(traces.traceId, traceId))
    if (removed === 0) throw traceNotFound(traceId)
  }

  async removeAll(filter: TraceFilter): Promise<number> {
    await this.settled()
    return this.#remove(and(...conditionsOf(filter)) ?? sql`true`)
  }

  async rate(
    traceId: string,
    { rating, comment }: Pick<Feedback, 'rating' | 'comment'>,
  ): Promise<Feedback> {
    await this.settled()
    const { database, now } = this.#parts
    const createdAt = timestampOfMillis(now())
    await database.writeRecords(async (connection) => {
      const queries = queriesOver(connection)
      const own = eq(traces.traceId, traceId)
      const found = await queries.select({ number: traces.number }).from(traces).where(own)
      if (found.length === 0) throw traceNotFound(traceId)
      await queries.delete(traceFeedback).where(eq(traceFeedback.traceId, traceId))
      await queries.insert(traceFeedback).values({ traceId, rating, comment, createdAt })
    })
    return { rating, comment, createdAt }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    await this.#runs.close()
    this.#isClosed = true
  }

  async #write(runs: readonly TraceRows[]): Promise<void> {
    const { database, state } = this.#parts
    try {
      await database.writeRecords(async (connection) => {
        const live = new Set(state.snapshot().projects.map(({ id }) => id))
        // Drops runs whose project was dropped.
        const kept = runs.filter(({ trace }) => live.has(trace.projectId))
        const steps = kept.flatMap((run) => run.steps)
        for (const piece of pieces(kept.map(({ trace }) => trace))) {
          await insertRows(connection, traces, piece)
        }
        for (const piece of pieces(steps)) await insertRows(connection, traceSteps, piece)
      })
    } catch (error) {
      this.#onFailure(error)
      this.#retryAtMs = performance.now() + RETRY_MS
      throw error
    }
    for (const { trace } of runs) this.#byteCount += trace.byteCount
    await this.#makeRoom().catch((error) => this.#onFailure(error))
  }

  async #sweep(): Promise<void> {
    const { database, now } = this.#parts
    await this.#remove(lt(traces.startedAt, timestampOfMillis(now() - this.#limits.keepMs)))
    // Do not count runs of dropped projects.
    const [count] = await database.lease((connection) => {
      return queriesOver(connection).select({ bytes: STORED_BYTES }).from(traces)
    })
    this.#byteCount = count?.bytes ?? 0
  }

  /** Removes the oldest runs if there are too many. */
  async #makeRoom(): Promise<void> {
    const { bytesMax } = this.#limits
    if (this.#byteCount <= bytesMax) return
    const excess = Math.ceil(this.#byteCount - bytesMax * KEPT_SHARE)
    await this.#remove(sql`${traces.number} <= (
      SELECT min(number) FROM (
        SELECT number, sum(byte_count) OVER (ORDER BY number) AS bytes FROM eider.traces)
      WHERE bytes >= ${excess})`)
  }

  /** @returns how many runs were removed */
  async #remove(condition: SQL): Promise<number> {
    const removed = await this.#parts.database.writeRecords(
      async (connection) => {
        const queries = queriesOver(connection)
        const { number, traceId } = traces
        const [found] = await queries
          .select({ count: sql<number>`count(*)`, bytes: STORED_BYTES })
          .from(traces)
          .where(condition)
        if (found === undefined || found.count === 0) return { count: 0, bytes: 0 }
        const numbers = queries.select({ number }).from(traces).where(condition)
        const ids = queries.select({ traceId }).from(traces).where(condition)
        await queries.delete(traceSteps).where(inArray(traceSteps.traceNumber, numbers))
        await queries.delete(traceFeedback).where(inArray(traceFeedback.traceId, ids))
        await queries.delete(traces).where(condition)
        return found
      },
      { isFreeing: true },
    )
    this.#byteCount -= removed.bytes
    return removed.count
  }
}

const STORED_BYTES = sql<number>`coalesce(sum(byte_count), 0)::BIGINT`

const NO_FEEDBACK = { rating: null, comment: null, ratedAt: null }

/** A list leaves out long texts and what only the store needs. */
const { answer, citations, warnings, evidence, errorMessage, ...shortColumns } =
  getTableColumns(traces)
const { projectId, agentId, byteCount, ...shownColumns } = shortColumns

const SUMMARY = {
  ...shownColumns,
  question: sql<string>`left(${traces.question}, 1000)`,
  rating: traceFeedback.rating,
  comment: traceFeedback.comment,
  ratedAt: traceFeedback.createdAt,
}

function conditionsOf(filter: TraceFilter): SQL[] {
  const { agentName, conversationId, outcome, purpose, from, to, questionPart } = filter
  const { projectName, projectNames, asker } = filter
  const conditions: SQL[] = []
  if (projectName !== undefined) {
    conditions.push(eq(sql`lower(${traces.projectName})`, nameKey(projectName)))
  }
  if (projectNames !== undefined) {
    conditions.push(inArray(sql`lower(${traces.projectName})`, [...projectNames, '']))
  }
  if (asker?.seesAll === false) {
    conditions.push(asker.by === null ? sql`false` : eq(traces.askedBy, asker.by))
  }
  if (agentName !== undefined) {
    conditions.push(eq(sql`lower(${traces.agentName})`, nameKey(agentName)))
  }
  if (conversationId !== undefined) conditions.push(eq(traces.conversationId, conversationId))
  if (purpose !== undefined) conditions.push(eq(traces.purpose, purpose))
  if (outcome !== undefined) conditions.push(eq(traces.outcome, outcome))
  if (from !== undefined) conditions.push(gte(traces.startedAt, from))
  if (to !== undefined) conditions.push(lt(traces.startedAt, to))
  if (questionPart !== undefined) {
    conditions.push(sql`contains(lower(${traces.question}), lower(${questionPart}))`)
  }
  return conditions
}

function* pieces<T extends object>(rows: readonly T[]): Generator<readonly T[]> {
  let piece: T[] = []
  let bytes = 0
  for (const row of rows) {
    for (const value of Object.values(row)) bytes += typeof value === 'string' ? value.length : 8
    piece.push(row)
    if (bytes < WRITE_BYTES) continue
    yield piece
    piece = []
    bytes = 0
  }
  if (piece.length > 0) yield piece
}
