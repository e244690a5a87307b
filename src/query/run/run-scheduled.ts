/** One run of a schedule: its statements in order, each over the rows added since the last run. */
import { findIn, requireProject } from '../../core/domain/access/catalog-snapshot.ts'
import type { LastMark, StoredSchedule } from '../../core/domain/flow/sync-source.ts'
import type {
  JobWork,
  ScheduleDefinition,
  ScheduleStore,
} from '../../core/domain/ports/job-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { withDeadline } from '../../core/runtime/cancellation.ts'
import { parseStatement } from '../../sql/dialect/parse-statement.ts'
import { statementsOf } from '../../sql/lexer/brackets.ts'
import { withNativeTexts } from '../../sql/lexer/database-names.ts'
import { type LastCondition, lastCondition } from '../../sql/lexer/last-value.ts'
import { tokenize } from '../../sql/lexer/tokens.ts'
import { withoutDefaults } from '../rows/assignments.ts'
import { nativeNamed } from '../select/name-scope.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { runSelect } from '../select/run-select.ts'
import { describeSelect } from '../select/views.ts'
import { checkStatement, runQuery } from './run-query.ts'

interface Checkpoint {
  /** The index of the next statement. */
  readonly statement: number
  /** The highest value to read, once decided, so that a repeated run reads the same rows. */
  readonly high: LastMark | null
  /** Whether the IF returned a row. */
  readonly isAllowed: boolean
  readonly ifHigh: LastMark | null
}

const BEGINNING: Checkpoint = { statement: 0, high: null, isAllowed: false, ifHigh: null }

interface ScheduledDeps {
  readonly query: QueryDeps
  readonly store: Pick<ScheduleStore, 'setMark'>
}

/** The statements of a schedule, without the space around them. @throws AppError `sql_syntax` */
function scheduledStatements(text: string): readonly string[] {
  return statementsOf(text).map((statement) => statement.trim())
}

/**
 * Before a statement runs, decides which rows it reads and stores that with the job. After a crash
 * it reads the same rows, so a statement with LAST stores the same rows under the same ids.
 * @returns false if the IF returned no row
 */
export async function runScheduled(
  schedule: StoredSchedule,
  work: JobWork,
  deps: ScheduledDeps,
  signal: AbortSignal,
): Promise<boolean> {
  // Only this function writes the checkpoint, so the type is right.
  let at = (work.checkpoint as Checkpoint | null) ?? BEGINNING
  const mark = async (next: Checkpoint) => {
    at = next
    const progress = { rows: at.statement, documents: 0, chunks: 0, total: statements.length }
    await work.mark({ progress, checkpoint: at })
  }
  const run = { schedule, deps, signal }
  const statements = scheduledStatements(schedule.query)
  if (!at.isAllowed && schedule.ifQuery !== null) {
    const { isAllowed, high } = await checkedIf(schedule.ifQuery, run)
    if (!isAllowed) return false
    await mark({ ...at, isAllowed, ifHigh: high })
  }
  const first = at.statement
  for (const [index, text] of statements.entries()) {
    if (index < first) continue
    signal.throwIfAborted()
    const place = String(index)
    const sql = withTimes(text, schedule)
    const condition = lastCondition(sql)
    if (condition === undefined) await runWhole(sql, run)
    else {
      const known = at.statement === index ? at.high : null
      const high = known ?? (await highest(sql, condition, place, run))
      if (high !== null) {
        await mark({ ...at, statement: index, high })
        await runWhole(windowed(sql, condition, lastMark(schedule, place), high), run)
        await deps.store.setMark(schedule.id, place, high)
      }
    }
    await mark({ ...at, statement: index + 1, high: null })
  }
  if (at.ifHigh !== null) await deps.store.setMark(schedule.id, IF, at.ifHigh)
  return true
}

const IF = 'if'

interface Run {
  readonly schedule: StoredSchedule
  readonly deps: ScheduledDeps
  readonly signal: AbortSignal
}

function lastMark({ marks }: StoredSchedule, place: string): LastMark | null {
  return marks[place] ?? null
}

async function checkedIf(
  ifQuery: string,
  run: Run,
): Promise<{ readonly isAllowed: boolean; readonly high: LastMark | null }> {
  const statements = scheduledStatements(ifQuery).map((text) => withTimes(text, run.schedule))
  for (const sql of statements.slice(0, -1)) await runWhole(sql, run)
  const sql = statements.at(-1) ?? 'SELECT 1'
  const condition = lastCondition(sql)
  if (condition === undefined) return { isAllowed: await hasRow(sql, run), high: null }
  const high = await highest(sql, condition, IF, run)
  if (high === null) return { isAllowed: false, high }
  const bounded = windowed(sql, condition, lastMark(run.schedule, IF), high)
  return { isAllowed: await hasRow(bounded, run), high }
}

async function hasRow(sql: string, { schedule, deps, signal }: Run): Promise<boolean> {
  const request = { sql, db: schedule.projectName, params: {} }
  const result = await runQuery(request, deps.query, signal)
  if (result.kind === 'ok') return true
  for await (const rows of result.rows.batches) if (rows.length > 0) return true
  return false
}

async function runWhole(sql: string, { schedule, deps, signal }: Run): Promise<void> {
  const request = { sql, db: schedule.projectName, params: {} }
  const result = await runQuery(request, deps.query, signal)
  if (result.kind === 'ok') return
  for await (const _ of result.rows.batches) signal.throwIfAborted()
}

/** Returns the highest value above the last mark, or null if there are no new rows. */
async function highest(
  sql: string,
  condition: LastCondition,
  place: string,
  { schedule, deps, signal }: Run,
): Promise<LastMark | null> {
  const low = lowCondition(condition, lastMark(schedule, place))
  const rows = await runSelect(
    {
      sql: highestOf(sql, condition, low),
      database: schedule.projectName,
      params: {},
    },
    deps.query,
    signal,
  )
  for await (const batch of rows.batches) {
    for (const [value, type] of batch) {
      if (typeof value === 'string' && typeof type === 'string') return { value, type }
    }
  }
  return null
}

/** A SELECT of the highest value above a mark; without a mark, of the highest value of all. */
function highestOf(sql: string, condition: LastCondition, low: string | null): string {
  const { source, column, start, end } = condition
  const above = low ?? `${column} IS NOT NULL`
  const from = `${sql.slice(source.start, start)}${above}${sql.slice(end, source.end)}`
  return `SELECT CAST(high AS VARCHAR) AS value, typeof(high) AS type FROM (SELECT max(${column}) AS high ${from}\n) AS t`
}

/** Restricts the statement to rows between the mark and this value. */
function windowed(
  sql: string,
  condition: LastCondition,
  low: LastMark | null,
  high: LastMark,
): string {
  const { column, start, end } = condition
  const above = lowCondition(condition, low)
  const upTo = `${column} <= ${valueText(high)}`
  const both = above === null ? `(${upTo})` : `(${above} AND ${upTo})`
  return `${sql.slice(0, start)}${both}${sql.slice(end)}`
}

/** Null: all rows are read. */
function lowCondition({ column, operator, first }: LastCondition, low: LastMark | null) {
  if (low !== null) return `${column} ${operator} ${valueText(low)}`
  return first === null ? null : `${column} ${operator} ${first}`
}

const NUMERIC = /^(?:U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|DECIMAL\(.*\))$/
const NAMED = new Set(['DATE', 'TIME', 'TIMESTAMP', 'TIMESTAMPTZ'])

function valueText({ value, type }: LastMark): string {
  const text = `'${value.replaceAll("'", "''")}'`
  if (NUMERIC.test(type) && /^-?[\d.]+$/.test(value)) return value
  if (type === 'VARCHAR') return text
  if (type === 'TIMESTAMP WITH TIME ZONE') return `TIMESTAMPTZ ${text}`
  return NAMED.has(type) ? `${type} ${text}` : `CAST(${text} AS ${type})`
}

const TIME_PLACEHOLDERS = /("?)\{\{\s*(PREVIOUS_START_DATETIME|START_DATETIME)\s*\}\}(\1)/gi

/** Before the first run, all rows are new. */
const EPOCH = '1970-01-01 00:00:00'

type LastTimes = Pick<StoredSchedule, 'lastStartedAt' | 'previousStartedAt'>

/** The times for a schedule that never ran. */
const BEFORE_ALL: LastTimes = { lastStartedAt: null, previousStartedAt: null }

export function withTimes(sql: string, { lastStartedAt, previousStartedAt }: LastTimes): string {
  return sql.replaceAll(TIME_PLACEHOLDERS, (_all, mark: string, name: string) => {
    const isStart = name.toUpperCase() === 'START_DATETIME'
    const time = (isStart ? lastStartedAt : previousStartedAt) ?? EPOCH
    // Some clients also put double quotes around it.
    return mark === '' ? time : `'${time}'`
  })
}

/** Checks a schedule's statements before they run. */

const STATEMENTS_MAX = 100
/** The time limit for asking databases about their columns. */
const CHECK_MS = 10_000

/** Plans, runs nothing. What is unknown yet is left to the first run. @throws AppError */
export async function checkScheduled(
  { project, query, ifQuery }: ScheduleDefinition,
  deps: QueryDeps,
): Promise<void> {
  const own = scheduledStatements(query)
  if (own.length === 0) throw new AppError('invalid_schedule', 'A job has at least one statement')
  const all = [...(ifQuery === null ? [] : scheduledStatements(ifQuery)), ...own]
  if (all.length > STATEMENTS_MAX) {
    throw new AppError('invalid_schedule', `A job has at most ${STATEMENTS_MAX} statements`)
  }
  const never = new AbortController().signal
  const timeoutError = () => new AppError('timeout', 'The statements were not checked in time')
  // Later statements may read what an earlier one creates.
  let mayBeMade = false
  for (const text of all) {
    const sql = withTimes(text, BEFORE_ALL)
    lastCondition(sql)
    checkStatement({ sql, db: project.name, params: {} }, deps)
    try {
      const limits = { timeoutMs: CHECK_MS, signal: never, timeoutError }
      const isReading = await withDeadline(limits, (signal) => {
        return planStatement(sql, { database: project.name, deps, signal })
      })
      mayBeMade ||= !isReading
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const isMissing = error.code === 'sql_unknown_name' || error.code.endsWith('_not_found')
      if (isMissing ? !mayBeMade : error.code.startsWith('sql_')) throw error
    }
  }
}

/** @returns whether the statement only reads, so its rows would be discarded */
async function planStatement(
  sql: string,
  given: {
    readonly database: string
    readonly deps: QueryDeps
    readonly signal: AbortSignal
  },
): Promise<boolean> {
  const { database, deps, signal } = given
  const snapshot = deps.catalog.snapshot()
  const condition = lastCondition(sql)
  const whole = condition === undefined ? sql : withoutLast(sql, condition)
  const named = nativeNamed(whole, snapshot)
  const statement = parseStatement(named, tokenize(named))
  if (statement !== undefined && statement.kind !== 'insert') return false
  if (statement?.kind === 'insert') {
    const { project: qualifier, name } = statement.table
    const project = requireProject(snapshot, qualifier ?? database)
    const isKnown =
      findIn(snapshot.knowledgeBases, project, name) ?? findIn(snapshot.tables, project, name)
    if (isKnown === undefined) throw notFound('knowledge_base', name)
  }
  const read = statement === undefined ? whole : withNativeTexts(statement.source)
  const sent = withoutDefaults(read)
  await describeSelect({ sql: sent, database }, deps, signal)
  if (condition !== undefined) {
    await describeSelect({ sql: highestOf(sql, condition, null), database }, deps, signal)
  }
  return true
}

function withoutLast(sql: string, { column, start, end }: LastCondition): string {
  return `${sql.slice(0, start)}(${column} IS NOT NULL)${sql.slice(end)}`
}
