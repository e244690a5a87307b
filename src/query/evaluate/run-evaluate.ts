import { findProject } from '../../domain/catalog-snapshot.ts'
import { nameKey } from '../../domain/identifier.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import { timestampOfMillis } from '../../domain/timestamp.ts'
import { AppError } from '../../errors.ts'
import type { EvaluateStatement } from '../../sql/dialect/parse-evaluate.ts'
import type { QueryDeps } from '../query-deps.ts'
import { limitsOf } from '../select/run-limits.ts'
import { requireKnowledgeBaseNamed } from '../statements/run-knowledge-base.ts'
import type { StatementRequest } from '../statements/statement-request.ts'
import {
  type EvaluateOptions,
  type EvaluationVersion,
  evaluateOptions,
} from './evaluate-options.ts'
import { documentsColumns, evaluatedDocuments } from './evaluated-documents.ts'
import { evaluatedJudgments, judgmentsColumns } from './evaluated-judgments.ts'
import { evaluatedRelevance, relevanceColumns } from './evaluated-relevance.ts'
import { type EvaluationModel, evaluationModel } from './evaluation-model.ts'
import {
  checkTargetColumns,
  type EvaluationTable,
  rowStreamOf,
  selectOfRows,
  type TableTarget,
  tableName,
  tableTarget,
} from './evaluation-table.ts'
import { generatedQuestions } from './generated-questions.ts'
import {
  hasColumns,
  openTestTable,
  requireColumns,
  type TestColumn,
  type TestTable,
} from './test-table.ts'

type EvaluateRequest = StatementRequest<EvaluateStatement>

/**
 * Measures how well a knowledge base finds what a table of questions says is right: questions are made and stored first
 * where that is asked for, and the rows are stored at the end. Each search and each write has the time of a statement, the
 * whole has no limit but those of its numbers.
 * @throws AppError for options that cannot be, before anything is done; as a search, a write or the model fails
 */
export async function runEvaluateStatement(
  request: EvaluateRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  const kb = requireKnowledgeBaseNamed(statement.name, db, deps)
  const options = evaluateOptions(statement.options)
  refuseReranking(options, kb)
  const saveTo = targetOf(options.saveTo, 'save_to', { request, deps })
  refuseOneTable({ request, options, saveTo }, deps)
  await generate({ request, kb, options }, deps, signal)
  if (!options.evaluates) {
    const { version, isPerQuestion } = options
    const columns = emptyTable(version ?? 'doc_id', isPerQuestion)
    const rows = rowStreamOf(withRun(columns, { kb, startedMs: Date.now() }))
    return { kind: 'table', rows, context: { db } }
  }
  const startedMs = Date.now()
  const warnings = new Set<string>()
  const measured = await evaluated({ request, kb, options, saveTo, warnings }, deps, signal)
  const table = withRun(measured, { kb, startedMs })
  if (saveTo !== null && table.rows.length > 0) {
    const select = selectOfRows(table)
    await deps.tables.appendRows({ ...saveTo, select }, limitsOf(deps), signal)
  }
  const noted = warnings.size === 0 ? {} : { warnings: [...warnings] }
  return { kind: 'table', rows: { ...rowStreamOf(table), ...noted }, context: { db } }
}

/** @throws AppError `invalid_request` where a reranking is asked for that there is not */
function refuseReranking({ search }: EvaluateOptions, { name, rerankingModel }: KnowledgeBase) {
  if (search.reranking !== true || rerankingModel !== null) return
  const message = `Option "reranking" cannot be true: ${name} has no reranking model`
  throw new AppError('invalid_request', message)
}

interface MeasuredRun extends EvaluateRun {
  readonly saveTo: TableTarget | null
  /** Of its searches, collected on the way. */
  readonly warnings: Set<string>
}

interface EvaluateRun {
  readonly request: EvaluateRequest
  readonly kb: KnowledgeBase
  readonly options: EvaluateOptions
}

function targetOf(
  written: string | null,
  option: string,
  { request, deps }: { readonly request: EvaluateRequest; readonly deps: QueryDeps },
): TableTarget | null {
  if (written === null) return null
  return tableTarget(tableName(written, option), { option, db: request.db, deps })
}

interface NamedTables {
  readonly request: EvaluateRequest
  readonly options: EvaluateOptions
  readonly saveTo: TableTarget | null
}

/** @throws AppError `invalid_request` where the results would go into the table of the questions */
function refuseOneTable({ request, options, saveTo }: NamedTables, deps: QueryDeps): void {
  if (saveTo === null) return
  const { project, name } = tableName(options.testTable, 'test_table')
  const found = findProject(deps.catalog.snapshot(), project ?? request.db)
  if (found?.id !== saveTo.projectId || nameKey(name) !== nameKey(saveTo.name)) return
  throw new AppError('invalid_request', 'test_table and save_to must be two tables')
}

/** Makes the test table anew, whole or not at all. */
async function generate(
  { request, kb, options }: EvaluateRun,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<void> {
  const { generation, testTable } = options
  if (generation === null) return
  const target = targetOf(testTable, 'test_table', { request, deps })
  if (target === null) throw new Error('the test table has a name')
  const purpose = 'generate_data'
  const model = await evaluationModel(options.llm, { kb, purpose, deps })
  const { db, params } = request
  const version = options.version ?? 'doc_id'
  const asked = { kb, version, options: generation, db, params }
  const questions = await generatedQuestions(asked, { model, deps }, signal)
  const select = selectOfRows(questions)
  await deps.tables.createTable({ ...target, select, orReplace: true }, limitsOf(deps), signal)
}

/** Chunks, or documents in judgments. */
const DEFAULT_K: Readonly<Record<EvaluationVersion, number>> = {
  judgments: 10,
  doc_id: 20,
  llm_relevancy: 10,
}

const COLUMNS: Readonly<Record<EvaluationVersion, readonly TestColumn[]>> = {
  judgments: ['question', 'document', 'grade'],
  doc_id: ['question', 'document'],
  llm_relevancy: ['question'],
}

async function evaluated(
  { request, kb, options, saveTo, warnings }: MeasuredRun,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const model =
    options.version === 'llm_relevancy' ? await judgeOf({ request, kb, options }, deps) : null
  const name = tableName(options.testTable, 'test_table')
  const table = await openTestTable(name, { db: request.db, deps }, signal)
  const version = versionOf(options, table)
  requireColumns(table, { wanted: COLUMNS[version], version })
  noteUnusedModel(options, version, warnings)
  const { search, isPerQuestion } = options
  if (saveTo !== null) {
    const rows = withRun(emptyTable(version, isPerQuestion), { kb, startedMs: 0 })
    checkTargetColumns(saveTo, rows.columns, deps)
  }
  const plan = { kb, search, k: search.k ?? DEFAULT_K[version], deps, warnings }
  const evaluation = { table, plan, isPerQuestion }
  if (model !== null) return evaluatedRelevance(evaluation, model, signal)
  if (version === 'judgments') return evaluatedJudgments(evaluation, signal)
  return evaluatedDocuments(evaluation, signal)
}

/** Clients name a model for documents as well, where it has written the questions before: that is told, not refused. */
function noteUnusedModel(
  { llm, generation }: EvaluateOptions,
  version: EvaluationVersion,
  warnings: Set<string>,
): void {
  if (llm === null || generation !== null || version === 'llm_relevancy') return
  const what = "llm is for generate_data and for version 'llm_relevancy'"
  const asked = `${what}: version '${version}' asks no model`
  if (version === 'judgments') throw new AppError('invalid_request', asked)
  warnings.add(asked)
}

/** Before the first search: without a model there is nothing to wait for. */
function judgeOf({ kb, options }: EvaluateRun, deps: QueryDeps): Promise<EvaluationModel> {
  const purpose = "version 'llm_relevancy'"
  return evaluationModel(options.llm, { kb, purpose, deps })
}

function versionOf({ version }: EvaluateOptions, table: TestTable): EvaluationVersion {
  if (version !== null) return version
  return hasColumns(table, COLUMNS.judgments) ? 'judgments' : 'doc_id'
}

function emptyTable(version: EvaluationVersion, isPerQuestion: boolean): EvaluationTable {
  if (version === 'judgments') return judgmentsColumns(isPerQuestion)
  if (version === 'llm_relevancy') return relevanceColumns(isPerQuestion)
  return documentsColumns(isPerQuestion)
}

const RUN_COLUMNS = [
  { name: 'id', type: 'BIGINT' },
  { name: 'name', type: 'VARCHAR' },
  { name: 'created_at', type: 'TIMESTAMP' },
] as const

/** Each row with the number, the knowledge base and the beginning of its run, by which saved runs are told apart. */
function withRun(
  { columns, rows }: EvaluationTable,
  { kb, startedMs }: { readonly kb: KnowledgeBase; readonly startedMs: number },
): EvaluationTable {
  const run = [startedMs, kb.name, timestampOfMillis(startedMs)]
  return { columns: [...columns, ...RUN_COLUMNS], rows: rows.map((row) => [...row, ...run]) }
}
