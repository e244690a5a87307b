import { findProject } from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { StatementOf } from '../../sql/dialect/parse-statement.ts'
import { type QueryDeps, runLimits } from '../select/query-deps.ts'
import type {
  KnowledgeBaseRequest,
  Outcome,
  StatementRequest,
} from '../select/statement-request.ts'
import { requireKnowledgeBaseNamed } from '../statements/run-knowledge-base.ts'
import {
  type EvaluateOptions,
  type EvaluationVersion,
  evaluateOptions,
} from './evaluate-options.ts'
import {
  checkTargetColumns,
  isSelect,
  selectOfRows,
  selectOver,
  type TableTarget,
  tableName,
  tableTarget,
} from './evaluation-table.ts'
import { evaluationModel, generateQuestions } from './generate-questions.ts'
import {
  type Measured,
  measureByGrades,
  measureByModel,
  measureKnownItems,
  QUESTION_TYPES,
} from './measures.ts'
import { checkTestColumns, closeTestSet, openTestSet, versionOf } from './question-set.ts'
import { MEANS } from './summaries.ts'

type EvaluateStatement = StatementOf<'evaluate_knowledge_base'>

/**
 * Measures how well a knowledge base finds the right results of a test set. On request, a model
 * writes the questions first, and the measurements are stored at the end. Each search and write has
 * a statement's time limit; the whole is limited only by the number of questions.
 * @throws AppError for invalid options, before any work; errors of a search, a write or the model
 */
export async function evaluateKnowledgeBase(
  request: StatementRequest<EvaluateStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { statement, db } = request
  const kb = requireKnowledgeBaseNamed(statement.name, db, deps)
  const options = evaluateOptions(statement.options)
  refuseReranking(options, kb)
  const saveTo = options.saveTo === null ? null : tableTarget(options.saveTo, 'save_to', db, deps)
  refuseOneTable(options, saveTo, db, deps)
  await generate({ ...request, kb }, options, deps, signal)
  const startedMs = Date.now()
  const selectOf = (version: EvaluationVersion, measured: Measured) => {
    const select = selectOfMeasured(measured, version, options)
    return withRun(select, kb, startedMs)
  }
  const limits = runLimits(deps)
  if (!options.evaluates) {
    const rows = await deps.engine.run(
      empty(selectOf(options.version ?? 'doc_id', NOTHING)),
      limits,
      signal,
    )
    return { rows }
  }
  const { params } = request
  const evaluated = await evaluate({ db, params, kb, options, saveTo, selectOf }, deps, signal)
  const { select, warnings } = evaluated
  if (saveTo !== null) {
    await deps.tables.whileLocked(saveTo, limits, signal, () => {
      return deps.tables.appendRows({ ...saveTo, select }, limits, signal)
    })
  }
  const rows = await deps.engine.run(select, limits, signal)
  const noted = warnings.size === 0 ? {} : { warnings: [...warnings] }
  return { rows: { ...rows, ...noted } }
}

const NOTHING: Measured = { rows: [], values: { unknown: 0, k: 0 } }

/** @throws AppError `invalid_request` if reranking is requested without a model */
function refuseReranking({ search }: EvaluateOptions, { name, rerankingModel }: KnowledgeBase) {
  if (search.rerank !== true || rerankingModel !== null) return
  const message = `Option "reranking" cannot be true: ${name} has no reranking model`
  throw new AppError('invalid_request', message)
}

/** @throws AppError `invalid_request` if the results would overwrite the table of questions */
function refuseOneTable(
  options: EvaluateOptions,
  saveTo: TableTarget | null,
  db: string,
  deps: QueryDeps,
): void {
  if (saveTo === null || isSelect(options.testTable)) return
  const { project, name } = tableName(options.testTable, 'test_table')
  const testProject = findProject(deps.catalog.snapshot(), project ?? db)
  if (testProject?.id !== saveTo.projectId || nameKey(name) !== nameKey(saveTo.name)) return
  throw new AppError('invalid_request', 'test_table and save_to must be two tables')
}

async function generate(
  { kb, db, params }: KnowledgeBaseRequest<EvaluateStatement>,
  options: EvaluateOptions,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<void> {
  const { generation, testTable } = options
  if (generation === null) return
  const target = tableTarget(testTable, 'test_table', db, deps)
  const model = await evaluationModel(options.llm, kb, deps, 'generate_data')
  const version = options.version ?? 'doc_id'
  const generated = { kb, version, options: generation, db, params }
  const questions = await generateQuestions(generated, { model, deps }, signal)
  const select = selectOfRows(questions)
  const limits = runLimits(deps)
  await deps.tables.whileLocked(target, limits, signal, () => {
    return deps.tables.createTable({ ...target, select, orReplace: true }, limits, signal)
  })
}

/** Counts chunks, or documents for `judgments`. */
const DEFAULT_K: Readonly<Record<EvaluationVersion, number>> = {
  judgments: 10,
  doc_id: 20,
  llm_relevancy: 10,
}

async function evaluate(
  {
    db,
    params,
    kb,
    options,
    saveTo,
    selectOf,
  }: Pick<StatementRequest<EvaluateStatement>, 'db' | 'params'> & {
    readonly kb: KnowledgeBase
    readonly options: EvaluateOptions
    readonly saveTo: TableTarget | null
    readonly selectOf: (version: EvaluationVersion, measured: Measured) => BoundSql
  },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<{ readonly select: BoundSql; readonly warnings: ReadonlySet<string> }> {
  const { search, testTable: written } = options
  // Open the model before the first search, which would be useless without it.
  const { llm, version: asked } = options
  const isJudged = asked === 'llm_relevancy'
  const judge = isJudged ? await evaluationModel(llm, kb, deps, `version '${asked}'`) : null
  const testSet = await openTestSet({ written, option: 'test_table', db, params }, deps, signal)
  try {
    const version = asked ?? versionOf(testSet)
    checkTestColumns(testSet, version)
    const warnings = new Set(unusedModelWarnings(options, version))
    if (saveTo !== null) {
      const { columns } = await deps.engine.run(
        empty(selectOf(version, NOTHING)),
        runLimits(deps),
        signal,
      )
      checkTargetColumns(
        saveTo,
        columns.map(({ name }) => name),
        deps,
      )
    }
    const evaluation = { testSet, kb, search, k: search.k ?? DEFAULT_K[version], deps, warnings }
    const measure = version === 'judgments' ? measureByGrades : measureKnownItems
    const measured = await (judge === null
      ? measure(evaluation, signal)
      : measureByModel(evaluation, judge, signal))
    return { select: selectOf(version, measured), warnings }
  } finally {
    await closeTestSet(testSet)
  }
}

/** MindsDB once used a model for `doc_id` to write the questions. */
function unusedModelWarnings(
  { llm, generation }: EvaluateOptions,
  version: EvaluationVersion,
): readonly string[] {
  if (llm === null || generation !== null || version === 'llm_relevancy') return []
  const what = "llm is for generate_data and for version 'llm_relevancy'"
  const message = `${what}: version '${version}' asks no model`
  if (version === 'judgments') throw new AppError('invalid_request', message)
  return [message]
}

/** One row per question, or one with their means. */
function selectOfMeasured(
  { rows, values }: Measured,
  version: EvaluationVersion,
  { isPerQuestion }: EvaluateOptions,
): BoundSql {
  const table = { types: QUESTION_TYPES[version], rows }
  if (isPerQuestion) return selectOfRows(table)
  const { sql, values: own } = selectOver(table, MEANS[version])
  const used = Object.entries(values).filter(([name]) => MEANS[version].includes(`$${name}`))
  return { sql, values: { ...own, ...Object.fromEntries(used) } }
}

function empty({ sql, values }: BoundSql): BoundSql {
  return { sql: `SELECT * FROM (${sql}) LIMIT 0`, values, isShort: true }
}

/** Adds the run's number, knowledge base and start time to each row, to tell stored runs apart. */
function withRun({ sql, values }: BoundSql, kb: KnowledgeBase, startedMs: number): BoundSql {
  const run = `$run_id::BIGINT AS id, $run_name::VARCHAR AS name, $run_at::TIMESTAMP AS created_at`
  const bound = { run_id: startedMs, run_name: kb.name, run_at: timestampOfMillis(startedMs) }
  return { sql: `SELECT *, ${run} FROM (${sql})`, values: { ...values, ...bound } }
}
