import type { DuckDBConnection } from '@duckdb/node-api'
import { and, asc, desc, eq, gt, gte, lt, type SQL, sql } from 'drizzle-orm'
import type { Asker } from '../../core/domain/access/principal.ts'
import {
  conversationTitle,
  TITLE_CHARS_MAX,
  traceNotFound,
} from '../../core/domain/agents/completion-event.ts'
import type {
  ConversationStore,
  ConversationSummary,
  KeptConversation,
  KeptFindings,
  KeptHistory,
  KeptTurn,
  NewTurn,
  Owner,
  Page,
} from '../../core/domain/ports/conversation-ports.ts'
import { AppError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { DAY_MS, timestampOfMillis } from '../../core/time.ts'
import { queriesOver } from '../catalog/catalog-queries.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { conversationSummaries, conversationTurns } from '../catalog/schema.ts'
import { countOf } from '../duckdb/columns.ts'
import { insertRows } from './trace-rows.ts'

export interface ConversationLimits {
  readonly keepMs: number
}

const CONVERSATION_LIMITS: ConversationLimits = { keepMs: 90 * DAY_MS }

const SWEEP_MS = 600_000
/** In UTF-16 code units. No model can read more. */
const HISTORY_CHARS_MAX = 400_000
/** The most characters of rows and charts on one page of turns. */
const PAGE_CHARS_MAX = 16_000_000

interface NumberedTurn extends NewTurn {
  readonly number: number
}

export class StoredConversations implements ConversationStore {
  readonly #parts: StoreParts
  readonly #limits: ConversationLimits
  readonly #writes = new SerialQueue()
  #waiting: NumberedTurn[] = []
  /** Turns that arrive during a write share the next one: each costs a transaction. */
  #nextWrite: Promise<void> | null = null
  #nextNumber = 1
  readonly #sweeper: ReturnType<typeof setInterval>

  private constructor(parts: StoreParts, limits: ConversationLimits) {
    this.#parts = parts
    this.#limits = limits
    // If a removal fails, the next one tries again.
    this.#sweeper = setInterval(() => void this.#sweep().catch(() => {}), SWEEP_MS)
    this.#sweeper.unref()
  }

  static async open(
    parts: StoreParts,
    limits: Partial<ConversationLimits> = {},
  ): Promise<StoredConversations> {
    const stored = new StoredConversations(parts, { ...CONVERSATION_LIMITS, ...limits })
    const sql = 'SELECT max(number) FROM eider.conversation_turns'
    stored.#nextNumber = 1 + (await parts.database.lease((connection) => countOf(connection, sql)))
    await stored.#sweep()
    return stored
  }

  add(turn: NewTurn): Promise<void> {
    this.#waiting.push({ ...turn, number: this.#nextNumber })
    this.#nextNumber += 1
    this.#nextWrite ??= this.#writes.run(() => {
      const turns = this.#waiting
      this.#waiting = []
      this.#nextWrite = null
      return this.#write(turns)
    })
    return this.#nextWrite
  }

  async history(owner: Owner, conversationId: string, asker: Asker): Promise<KeptHistory> {
    return this.#parts.database.lease(async (connection) => {
      const queries = queriesOver(connection)
      const own = ownTurns(owner, conversationId, asker)
      const [counted] = await queries
        .select({
          turnCount: sql<number>`count(*)`,
          askedBy: sql<string | null>`any_value(asked_by)`,
        })
        .from(conversationTurns)
        .where(own)
      const turnCount = counted?.turnCount ?? 0
      if (turnCount === 0) throw conversationNotFound(conversationId)
      const summary = await conversationSummary(connection, owner, conversationId)
      const { number, question, answer, outcome } = conversationTurns
      const chars = sql<number>`sum(length(question) + length(answer)) OVER (ORDER BY number DESC)`
      const rest = and(own, eq(outcome, 'answered'), gt(number, summary?.lastTurn ?? 0))
      const told = queries
        .select({ number, question, answer, chars: chars.as('chars') })
        .from(conversationTurns)
        .where(rest)
        .as('told')
      const rows = await queries
        .select({ number: told.number, question: told.question, answer: told.answer })
        .from(told)
        .where(sql`chars <= ${HISTORY_CHARS_MAX}`)
        .orderBy(asc(told.number))
      const turns = rows.map((row) => ({ ...row, answer: row.answer ?? '' }))
      return { turnCount, askedBy: counted?.askedBy ?? null, summary, turns }
    })
  }

  async list(owner: Owner, { limit, before }: Page, asker: Asker) {
    const rows = await this.#parts.database.lease((connection) => {
      return queriesOver(connection)
        .select(SUMMARY)
        .from(conversationTurns)
        .where(and(ownedBy(owner), askedOf(asker)))
        .groupBy(conversationTurns.conversationId)
        .having(before === null ? sql`true` : sql`max(number) < ${before}`)
        .orderBy(sql`max(number) DESC`)
        .limit(limit + 1)
    })
    const shown = rows.slice(0, limit)
    const next = rows.length > limit ? (shown.at(-1)?.last ?? null) : null
    return { items: shown.map(summaryRow), next }
  }

  async requireOwn(owner: Owner, conversationId: string, asker: Asker): Promise<void> {
    const own = ownTurns(owner, conversationId, asker)
    const { number } = conversationTurns
    const [found] = await this.#parts.database.lease((connection) => {
      return queriesOver(connection).select({ number }).from(conversationTurns).where(own).limit(1)
    })
    if (found === undefined) throw conversationNotFound(conversationId)
  }

  async get(
    owner: Owner,
    conversationId: string,
    { limit, before }: Page,
    asker: Asker,
  ): Promise<KeptConversation> {
    return this.#parts.database.lease(async (connection) => {
      const queries = queriesOver(connection)
      const own = ownTurns(owner, conversationId, asker)
      const [found] = await queries
        .select(SUMMARY)
        .from(conversationTurns)
        .where(own)
        .groupBy(conversationTurns.conversationId)
      if (found === undefined) throw conversationNotFound(conversationId)
      const { number } = conversationTurns
      const page = before === null ? own : and(own, lt(number, before))
      const count = await turnsWithin(connection, page, limit)
      const rows = await queries
        .select()
        .from(conversationTurns)
        .where(page)
        .orderBy(desc(number))
        .limit(count + 1)
      const shown = rows.slice(0, count).reverse()
      const summary = await conversationSummary(connection, owner, conversationId)
      const next = rows.length > count ? (shown[0]?.number ?? null) : null
      const turns = shown.map(turnOf)
      return { ...summaryRow(found), summary: summary?.text ?? null, turns, next }
    })
  }

  async remove(owner: Owner, conversationId: string): Promise<void> {
    await this.#parts.database.writeRecords(
      async (connection) => {
        const queries = queriesOver(connection)
        const own = ownTurns(owner, conversationId, SEES_ALL)
        const { number } = conversationTurns
        const [found] = await queries.select({ number }).from(conversationTurns).where(own).limit(1)
        if (found === undefined) throw conversationNotFound(conversationId)
        await queries.delete(conversationTurns).where(own)
        const summary = eq(conversationSummaries.conversationId, conversationId)
        await queries.delete(conversationSummaries).where(summary)
      },
      { isFreeing: true },
    )
  }

  async removeFrom(owner: Owner, conversationId: string, traceId: string): Promise<void> {
    await this.#parts.database.writeRecords(
      async (connection) => {
        const queries = queriesOver(connection)
        const own = ownTurns(owner, conversationId, SEES_ALL)
        const { number, traceId: traceOf } = conversationTurns
        const turns = await queries
          .select({ number, traceId: traceOf })
          .from(conversationTurns)
          .where(own)
        if (turns.length === 0) throw conversationNotFound(conversationId)
        const first = turns.find((turn) => turn.traceId === traceId)?.number
        if (first === undefined) throw traceNotFound(traceId)
        await queries.delete(conversationTurns).where(and(own, gte(number, first)))
        const { conversationId: ofSummary, lastTurn } = conversationSummaries
        // Drop the summary, because it may mention removed turns.
        const stale = and(eq(ofSummary, conversationId), gte(lastTurn, first))
        await queries.delete(conversationSummaries).where(stale)
      },
      { isFreeing: true },
    )
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    await this.#writes.idle()
  }

  async #write(turns: readonly NumberedTurn[]): Promise<void> {
    const { database, state } = this.#parts
    await database.writeRecords(async (connection) => {
      const live = new Set(state.snapshot().agents.map(({ id }) => id))
      const kept = turns.filter(({ owner }) => live.has(owner.id))
      const rows = kept.map(({ owner, summary: _, findings, ...turn }) => {
        const found = findings === null ? null : JSON.stringify(findings)
        return { ...turn, findings: found, projectId: owner.projectId, agentId: owner.id }
      })
      await insertRows(connection, conversationTurns, rows)
      const summaries = kept.flatMap(({ conversationId, owner, summary }) => {
        if (summary === null) return []
        const { lastTurn, text } = summary
        const { projectId, id: agentId } = owner
        return [{ conversationId, projectId, agentId, lastTurn, summary: text }]
      })
      await insertRows(connection, conversationSummaries, summaries)
    })
  }

  async #sweep(): Promise<void> {
    const { database, now } = this.#parts
    const oldest = timestampOfMillis(now() - this.#limits.keepMs)
    const old = `SELECT conversation_id FROM eider.conversation_turns
      GROUP BY conversation_id HAVING max(ended_at) < '${oldest}'`
    const isAny = await database.lease(async (connection) => {
      return (await allRows(connection, `${old} LIMIT 1`)).length > 0
    })
    if (!isAny) return
    const work = (connection: DuckDBConnection) => deleteConversations(connection, old)
    await database.writeRecords(work, { isFreeing: true })
  }
}

/** Call within the write that drops an agent or a project. */
export async function deleteConversationsOf(
  connection: DuckDBConnection,
  owner: { readonly agentId: number } | { readonly projectId: number },
): Promise<void> {
  const own = 'agentId' in owner ? `agent_id = ${owner.agentId}` : `project_id = ${owner.projectId}`
  const ids = `SELECT DISTINCT conversation_id FROM eider.conversation_turns WHERE ${own}`
  await deleteConversations(connection, ids)
}

/** Deletes summaries first, because they refer to turns. */
async function deleteConversations(connection: DuckDBConnection, ids: string): Promise<void> {
  await connection.run(`DELETE FROM eider.conversation_summaries WHERE conversation_id IN (${ids})`)
  await connection.run(`DELETE FROM eider.conversation_turns WHERE conversation_id IN (${ids})`)
}

/**
 * How many of the newest turns fit a page: fewer than requested if they have many rows and charts.
 */
async function turnsWithin(
  connection: DuckDBConnection,
  page: SQL | undefined,
  limit: number,
): Promise<number> {
  const { number, findings } = conversationTurns
  const newest = queriesOver(connection)
    .select({ number, chars: sql<number>`coalesce(length(${findings}), 0)`.as('chars') })
    .from(conversationTurns)
    .where(page)
    .orderBy(desc(number))
    .limit(limit)
    .as('newest')
  const rows = await queriesOver(connection)
    .select({ chars: sql<number>`newest.chars::DOUBLE` })
    .from(newest)
    .orderBy(desc(newest.number))
  let chars = 0
  const end = rows.findIndex((row) => {
    chars += row.chars
    return chars > PAGE_CHARS_MAX
  })
  return end === -1 ? limit : Math.max(1, end)
}

type TurnRow = typeof conversationTurns.$inferSelect

function turnOf(row: TurnRow): KeptTurn {
  const { conversationId: _, projectId: __, agentId: ___, askedBy: ____, findings, ...turn } = row
  return { ...turn, findings: findings === null ? null : findingsIn(findings) }
}

function findingsIn(stored: string): KeptFindings {
  // `#write` wrote this JSON. Before migration 0017, `evidence` was the list now called
  // `statements`.
  const found = JSON.parse(stored) as KeptFindings & { readonly evidence?: unknown }
  if (!Array.isArray(found.evidence)) return found
  const { evidence, ...rest } = found
  return { ...rest, statements: evidence }
}

const SUMMARY = {
  conversationId: conversationTurns.conversationId,
  title: sql<string>`left(arg_min(question, number), ${sql.raw(String(TITLE_CHARS_MAX + 1))})`,
  turnCount: sql<number>`count(*)`,
  startedAt: sql<string>`min(started_at)`,
  endedAt: sql<string>`max(ended_at)`,
  last: sql<number>`max(number)`,
}

type SummaryRow = ConversationSummary & { readonly last: number }

function summaryRow({ last: _, ...row }: SummaryRow): ConversationSummary {
  return { ...row, title: conversationTitle(row.title) }
}

async function conversationSummary(
  connection: DuckDBConnection,
  owner: Owner,
  conversationId: string,
) {
  const { lastTurn, summary: text } = conversationSummaries
  const [found] = await queriesOver(connection)
    .select({ lastTurn, text })
    .from(conversationSummaries)
    .where(
      and(
        eq(conversationSummaries.agentId, owner.id),
        eq(conversationSummaries.conversationId, conversationId),
      ),
    )
    .orderBy(desc(lastTurn))
    .limit(1)
  return found ?? null
}

function ownedBy({ id }: Owner): SQL {
  return eq(conversationTurns.agentId, id)
}

function askedOf({ by, seesAll }: Asker): SQL {
  if (seesAll) return sql`true`
  return by === null ? sql`false` : eq(conversationTurns.askedBy, by)
}

const SEES_ALL: Asker = { by: null, seesAll: true }

function ownTurns(owner: Owner, conversationId: string, asker: Asker): SQL {
  const own = eq(conversationTurns.conversationId, conversationId)
  return sql`${ownedBy(owner)} AND ${own} AND ${askedOf(asker)}`
}

function conversationNotFound(conversationId: string): AppError {
  const why =
    'it never existed, belongs to another agent, was deleted, or has expired. Begin one with "conversation_id": "new"'
  const message = `This agent has no conversation ${conversationId.slice(0, 100).toWellFormed()}: ${why}`
  return new AppError('conversation_not_found', message)
}
