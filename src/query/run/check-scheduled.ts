/** What can be known of a schedule's statements before they run. */
import {
  findKnowledgeBase,
  findTable,
  requireProject,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { ScheduleDefinition } from '../../core/domain/ports/job-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { withDeadline } from '../../core/runtime/cancellation.ts'
import { parseStatement } from '../../sql/dialect/parse-statement.ts'
import { withNativeTexts } from '../../sql/lexer/database-names.ts'
import { type LastCondition, lastCondition } from '../../sql/lexer/last-value.ts'
import { tokenize } from '../../sql/lexer/tokens.ts'
import { withoutDefaults } from '../rows/assignments.ts'
import { nativeNamed } from '../select/name-scope.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { describeSelect } from '../select/views.ts'
import { isOfAccess, needsSomebody } from '../statements/run-access.ts'
import { checkStatement } from './run-query.ts'
import { BEFORE_ALL, highestOf, statementsOf, withTimes } from './run-scheduled.ts'

/** Of one job. */
const STATEMENTS_MAX = 100
/** Databases are asked for the columns of their tables. */
const CHECK_MS = 10_000

/**
 * Plans what the statements read; nothing of it runs. What cannot be known now, as a database that does not answer, is left to
 * the first run.
 * @throws AppError `invalid_schedule`, `sql_…`, `knowledge_base_not_found`
 */
export async function checkScheduled(
  { project, query, ifQuery }: ScheduleDefinition,
  deps: QueryDeps,
): Promise<void> {
  const own = statementsOf(query)
  if (own.length === 0) throw new AppError('invalid_schedule', 'A job has at least one statement')
  const all = [...(ifQuery === null ? [] : statementsOf(ifQuery)), ...own]
  if (all.length > STATEMENTS_MAX) {
    throw new AppError('invalid_schedule', `A job has at most ${STATEMENTS_MAX} statements`)
  }
  const never = new AbortController().signal
  const timeoutError = () => new AppError('timeout', 'The statements were not checked in time')
  // What a statement makes, those after it may read.
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

/** @returns whether it makes nothing that others could read */
async function planStatement(
  sql: string,
  {
    database,
    deps,
    signal,
  }: {
    readonly database: string
    readonly deps: QueryDeps
    readonly signal: AbortSignal
  },
): Promise<boolean> {
  const snapshot = deps.catalog.snapshot()
  const condition = lastCondition(sql)
  const whole = condition === undefined ? sql : withoutLast(sql, condition)
  const named = nativeNamed(whole, snapshot)
  const statement = parseStatement(named, tokenize(named))
  if (statement !== undefined && isOfAccess(statement)) throw needsSomebody()
  if (statement !== undefined && statement.kind !== 'insert') return false
  if (statement?.kind === 'insert') {
    const { project: qualifier, name } = statement.table
    const project = requireProject(snapshot, qualifier ?? database)
    const isKnown = findKnowledgeBase(snapshot, project, name) ?? findTable(snapshot, project, name)
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
