/**
 * Runs `INSERT INTO … USING background = true`, or an insert that takes too long, as a job. The
 * statement returns the job's row of information_schema.queries.
 */

import { requireJobTarget } from '../../core/domain/access/catalog-snapshot.ts'
import type { Rights } from '../../core/domain/access/principal.ts'
import type { Job } from '../../core/domain/flow/job.ts'
import type { BoundValue } from '../../core/domain/ports/engine-ports.ts'
import type { JobDraft, JobWork } from '../../core/domain/ports/job-ports.ts'
import { isObject } from '../../core/json.ts'
import { oneLine } from '../../core/short-text.ts'
import { variableOf } from '../../core/text/shown-statement.ts'
import { insertOrJob, JobInsert } from '../../ingest/pipeline/job-insert.ts'
import type { StatementOf } from '../../sql/dialect/parse-statement.ts'
import { withNativeTexts } from '../../sql/lexer/database-names.ts'
import { parameterNamesOf, tokenize } from '../../sql/lexer/tokens.ts'
import { FieldReader } from '../definitions/fields.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { runSelect } from '../select/run-select.ts'
import type {
  KnowledgeBaseRequest,
  Outcome,
  StatementRequest,
} from '../select/statement-request.ts'
import { Variables } from '../sessions.ts'
import { insertRows, storingOptions } from './insert-rows.ts'

type Insert = StatementOf<'insert'>

interface StoredStatement {
  readonly source: 'sql'
  /** The id, because a later knowledge base may have the same name. */
  readonly knowledgeBaseId: number
  readonly statement: Insert
  readonly db: string
  readonly params: StatementRequest['params']
  /** The rights of the user who started the job, which it never exceeds. */
  readonly rights: Rights | null
  /** The variables of the user's session, which may have ended. */
  readonly variables: Readonly<Record<string, BoundValue>>
}

export function isInBackground({ options }: Insert): boolean {
  return new FieldReader(options, 'insert_failed').truth('background') === true
}

/** @throws AppError `too_busy`, `unknown_field`, `insert_failed`, `unknown_provider` */
export async function startBackgroundInsert(
  { statement, kb, db, params }: KnowledgeBaseRequest<Insert>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  storingOptions(statement.options)
  deps.embedders.embedder(kb.embeddingModel)
  const job = await deps.jobs.start(insertDraft({ statement, kb, db, params }, deps))
  return queryRow(job, db, deps, signal)
}

/** Becomes a job if it takes too long. @throws AppError like `insertRows` */
export async function runWaitedInsert(
  request: KnowledgeBaseRequest<Insert>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { kb, db } = request
  const outcome = await insertOrJob(
    {
      ...{ kb, total: null },
      run: (tracked, stopping) => insertRows(request, deps, stopping, tracked),
      draft: () => insertDraft(request, deps),
    },
    { ...deps, waitMs: deps.insertWaitMs, now: Date.now },
    signal,
  )
  if (outcome.kind === 'job') return queryRow(outcome.job, db, deps, signal)
  const { storedDocuments: affectedRows, skippedRows, leftOut } = outcome.value
  const what = `Not stored, because "metadata_columns" of ${kb.name} leaves them out`
  const warnings = leftOut.length === 0 ? [] : [`${what}: ${leftOut.join(', ')}`]
  return { affectedRows, skippedRows, warnings }
}

/** Returns the job request with which the statement can run again after a restart. */
function insertDraft(
  { statement, kb, db, params }: KnowledgeBaseRequest<Insert>,
  deps: QueryDeps,
): JobDraft {
  const request: StoredStatement = {
    source: 'sql',
    knowledgeBaseId: kb.id,
    statement,
    db,
    params,
    rights: deps.rights ?? null,
    variables: variablesIn(statement.source, deps),
  }
  return {
    kind: 'insert',
    projectName: kb.projectName,
    knowledgeBase: kb.name,
    title: `INSERT INTO ${kb.name} ${withoutValues(withNativeTexts(statement.source))}`,
    request,
  }
}

export async function runQueryControl(
  { statement, db }: StatementRequest<StatementOf<'query_cancel' | 'query_resume'>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  if (statement.kind === 'query_resume') {
    return queryRow(await deps.jobs.resume(statement.id), db, deps, signal)
  }
  await deps.jobs.cancel(statement.id)
  return {}
}

export async function queryRow(
  { id }: Job,
  db: string,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const sql = `SELECT * FROM information_schema.queries WHERE ID = ${id}`
  const rows = await runSelect({ sql, database: db, params: {}, isShown: true }, deps, signal)
  return { rows }
}

/** Returns the session variables that a statement names. */
export function variablesIn(
  source: string,
  { variables }: QueryDeps,
): StoredStatement['variables'] {
  const found = parameterNamesOf(tokenize(source)).flatMap((parameter) => {
    const variable = variableOf(parameter)
    if (variable?.kind !== 'user') return []
    const value = variables.get(variable.name)
    return value === undefined ? [] : [[variable.name, value] as const]
  })
  return Object.fromEntries(found)
}

const JOB_TITLE_CHARS_MAX = 500

/** Returns the statement on one line without its values, which may be secrets. */
function withoutValues(source: string): string {
  let text = ''
  let at = 0
  for (const { kind, start, end } of tokenize(source)) {
    // Leave out comments, which may contain anything.
    if (start > at && text !== '') text += ' '
    const next = kind === 'string' || kind === 'number' ? '?' : source.slice(start, end)
    // Never cut a name: even a part could reveal it to readers who may not know it.
    if (text.length + next.length > JOB_TITLE_CHARS_MAX) return `${oneLine(text)}…`
    text += next
    at = end
  }
  return oneLine(text)
}

export function isStoredStatement(request: unknown): request is StoredStatement {
  return isObject(request) && request.source === 'sql'
}

/** @throws AppError like `insertRows`, or `knowledge_base_not_found` */
export async function runStatementJob(
  work: JobWork,
  request: StoredStatement,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<void> {
  const { statement, db, params, knowledgeBaseId } = request
  const kb = requireJobTarget(deps.catalog.snapshot(), work.job, knowledgeBaseId)
  const variables = new Variables()
  variables.set(new Map(Object.entries(request.variables)))
  const insert = await JobInsert.begin(work, { kb, total: null }, deps.chunks)
  const inBatches = { statement, kb, db, params, isBatched: true }
  await insertRows(inBatches, { ...deps, variables }, signal, insert)
}
