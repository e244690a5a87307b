import { requireAgent } from '../../core/domain/access/catalog-snapshot.ts'
import type { Rights } from '../../core/domain/access/principal.ts'
import type { Agent } from '../../core/domain/agents/agent.ts'
import { NO_PROGRESS } from '../../core/domain/flow/job.ts'
import { BUILTIN_PROVIDER, chatOptionsOf, type ModelRef } from '../../core/domain/model-ref.ts'
import { fullName } from '../../core/domain/names.ts'
import type { BoundValue } from '../../core/domain/ports/engine-ports.ts'
import type { JobWork } from '../../core/domain/ports/job-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { SerialQueue, TimeSlice } from '../../core/runtime/serial-queue.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { StatementOf } from '../../sql/dialect/parse-statement.ts'
import { agentDataFields, checkAddresses, overriddenAgent } from '../definitions/define-agent.ts'
import { type Fields, modelRefOf, refuseOptions } from '../definitions/fields.ts'
import { queryRow, variablesIn } from '../rows/background-insert.ts'
import { type QueryDeps, runLimits } from '../select/query-deps.ts'
import type { Outcome, StatementRequest } from '../select/statement-request.ts'
import { Variables } from '../sessions.ts'
import { type AskedQuestion, askQuestions, type EvaluationProgress } from './ask-questions.ts'
import {
  type AgentEvaluationOptions,
  agentEvaluationOptions,
  type Judge,
} from './evaluate-options.ts'
import { selectOfRows, selectOver, type TableTarget, tableTarget } from './evaluation-table.ts'
import { type EvaluationModel, openModel } from './generate-questions.ts'
import type { Judges } from './judge-answer.ts'
import { type QuestionSet, readQuestionSet } from './question-set.ts'
import {
  ANSWER_COLUMNS,
  type AnswerRow,
  digest,
  emptyRow,
  RowKeys,
  refuseOtherSettings,
  SavedAnswers,
  type SettingName,
} from './saved-answers.ts'
import { SUMMARY } from './summaries.ts'

/** The table in the agent's project for runs that name no table. */
const DEFAULT_TABLE = 'agent_evaluations'

/** @throws AppError `agent_not_found`; `invalid_request` and others for invalid options */
export async function preparedEvaluation(
  { statement, db }: Pick<AgentEvaluationRequest, 'statement' | 'db'>,
  deps: QueryDeps,
) {
  const { project, name } = statement.name
  const agent = requireAgent(deps.catalog.snapshot(), project ?? db, name)
  const options = agentEvaluationOptions(statement.options)
  const settings = await settingsOf(agent, options, deps)
  const target = answersTable(options, agent, db, deps)
  const saved = target === null ? null : new SavedAnswers(target, deps)
  return { agent, options, settings, saved }
}

type AgentEvaluationRequest = StatementRequest<StatementOf<'evaluate_agent'>>

/**
 * Asks an agent many questions and compares the answers with the known right ones. A question that
 * fails gets a row with its error. Each question has the agent's time limit; the run as a whole is
 * limited only by the number of questions.
 * @throws AppError for invalid options, before the first question; errors of reading questions and
 * of writes
 */
export async function evaluateAgent(
  request: AgentEvaluationRequest,
  deps: QueryDeps,
  signal: AbortSignal,
  progress?: EvaluationProgress,
): Promise<Outcome> {
  const { db, params } = request
  const { agent, options, settings, saved } = await preparedEvaluation(request, deps)
  const { questions: written, limit } = options
  const source = { written, option: 'questions', db, params, limit }
  const set = await readQuestionSet(source, deps, signal)
  const warnings: string[] = []
  const judges = await judgesOf(options, { set, agent: settings[0].agent, warnings }, deps)
  const run = options.run ?? timestampOfMillis(Date.now())
  const known = (await saved?.rowsOf(run, fullName(agent), signal)) ?? new Map()
  const keys = new Map(settings.map(({ name, key }) => [name, key]))
  refuseOtherSettings(known.values(), keys, run)
  const asked = await askedQuestions({ run, agent, settings, set, known }, signal)
  const work = { asked, judges, concurrency: options.concurrency, saved, progress }
  const rows = await askQuestions(work, deps, signal)
  warnings.push(...failureWarnings(rows, options))
  const table = { types: ANSWER_COLUMNS, rows }
  const select = options.isSummary ? selectOver(table, SUMMARY) : selectOfRows(table)
  const result = await deps.engine.run(select, runLimits(deps), signal)
  const noted = warnings.length === 0 ? {} : { warnings }
  return { rows: { ...result, ...noted } }
}

interface Setting {
  readonly name: SettingName
  readonly agent: Agent
  readonly key: string
}

/** Returns the settings to test: one, or two to compare. @throws AppError like `overriddenAgent` */
async function settingsOf(
  agent: Agent,
  { changes, comparedChanges }: AgentEvaluationOptions,
  deps: QueryDeps,
): Promise<readonly [Setting, ...Setting[]]> {
  const base = await setting('base', agent, changes, deps)
  if (comparedChanges === null) return [base]
  const compared = await setting('compare', base.agent, comparedChanges, deps)
  if (compared.key !== base.key) return [base, compared]
  const message = 'Option "compare" changes nothing: both settings are the same'
  throw new AppError('invalid_request', message)
}

async function setting(
  name: SettingName,
  agent: Agent,
  changes: Fields,
  deps: QueryDeps,
): Promise<Setting> {
  const changed = overriddenAgent(agent, changes, deps)
  await checkAddresses(
    {
      ...(changed.model === agent.model ? {} : { model: changed.model }),
      ...(changed.data === agent.data ? {} : { data: changed.data }),
    },
    deps,
  )
  const { promptTemplate, params } = changed
  // Different keys for the same servers do not count as a difference.
  const data = changed.data && agentDataFields(changed.data)
  const model = withoutKey(changed.model ?? deps.chatModels.defaultModel)
  return { name, agent: changed, key: digest([model, data, promptTemplate, params]) }
}

/** Leaves out the key, which does not make it a different model. */
function withoutKey(model: ModelRef | null): Fields | null {
  if (model === null) return null
  const { provider, modelName, baseUrl, options } = model
  return { provider, modelName, baseUrl, options }
}

/** Returns where to store answers, or null to not store them. */
function answersTable(
  { run, saveTo }: AgentEvaluationOptions,
  agent: Agent,
  db: string,
  deps: QueryDeps,
): TableTarget | null {
  if (saveTo !== null) return tableTarget(saveTo, 'save_to', db, deps)
  if (run === null) return null
  return tableTarget({ project: agent.projectName, name: DEFAULT_TABLE }, 'save_to', db, deps)
}

const NEEDED: Readonly<Record<Judge, 'answer' | 'document_id' | null>> = {
  exact: 'answer',
  contains: 'answer',
  not_found: 'answer',
  citation: 'document_id',
  model: null,
}

/** @throws AppError `invalid_request` if a judge lacks its input, `unknown_provider`, … */
async function judgesOf(
  { judges, judgeModel, notFoundPhrases }: AgentEvaluationOptions,
  { set, agent, warnings }: { set: QuestionSet; agent: Agent; warnings: string[] },
  deps: QueryDeps,
): Promise<Judges & { readonly key: string }> {
  const has = { answer: set.hasAnswers, document_id: set.hasDocuments }
  const names = judges ?? defaultJudges(set, judgeModel !== null)
  for (const name of names) {
    const needed = NEEDED[name]
    if (needed === null || has[needed]) continue
    const message = `Judge '${name}' needs a column ${needed} of the questions`
    throw new AppError('invalid_request', message)
  }
  if (names.length === 0) {
    const why = 'the questions have no column answer or document_id, and there is no judge_model'
    warnings.push(`No answer is judged: ${why}`)
  }
  if (judgeModel !== null && !names.includes('model')) {
    const how = "name 'model' in judge, or leave the model out"
    throw new AppError('invalid_request', `No judge uses the option "judge_model": ${how}`)
  }
  const ref = names.includes('model') ? judgeRef(judgeModel, agent, warnings, deps) : null
  if (ref !== null && judgeModel !== null) await deps.checkAddress(ref)
  const model: EvaluationModel | null =
    ref === null ? null : await openModel(ref, 'judge_model', deps, Number.POSITIVE_INFINITY)
  return { names, model, notFoundPhrases, key: digest([names, withoutKey(ref), notFoundPhrases]) }
}

function defaultJudges({ hasAnswers, hasDocuments }: QuestionSet, hasModel: boolean) {
  const names: Judge[] = hasModel ? ['model'] : []
  if (hasAnswers) names.push('contains', 'exact', 'not_found')
  if (hasDocuments) names.push('citation')
  return names
}

function judgeRef(
  fields: Fields | null,
  agent: Agent,
  warnings: string[],
  deps: QueryDeps,
): ModelRef {
  const sent = fields && modelRefOf(fields, { provider: 'openai', code: 'invalid_request' })
  if (sent !== null) refuseOptions(fields ?? {}, chatOptionsOf(sent.provider), 'invalid_request')
  const ref = sent ?? deps.chatModels.defaultModel ?? agent.model
  if (ref === null || ref.provider === BUILTIN_PROVIDER) {
    const how =
      'judge_model = {"provider": "openai", "model_name": "…", "api_key": "…"}, or EIDER_CHAT_PROVIDER with EIDER_CHAT_MODEL'
    throw new AppError(
      'missing_parameter',
      `Judge 'model' needs a language model, which the built-in one is not: set ${how}`,
    )
  }
  if (ref === agent.model) {
    warnings.push(
      "The agent's own model judges its answers: set judge_model to have another opinion",
    )
  }
  return ref
}

interface Evaluation {
  readonly run: string
  readonly agent: Agent
  readonly settings: readonly Setting[]
  readonly set: QuestionSet
  readonly known: ReadonlyMap<string, AnswerRow>
}

/** In parallel, so that changes of data during the run affect both settings. */
async function askedQuestions(
  { run, agent, settings, set, known }: Evaluation,
  signal: AbortSignal,
): Promise<readonly AskedQuestion[]> {
  const keys = new RowKeys()
  const slice = new TimeSlice(10)
  const name = fullName(agent)
  const asked: AskedQuestion[] = []
  for (const question of set.questions) {
    await slice.yieldIfSpent(signal)
    for (const { name: setting, agent: asWhom, key: setting_key } of settings) {
      const row_key = keys.keyOf(run, name, setting, question)
      const place = { run, agent: name, setting, setting_key, row_key }
      const row = known.get(row_key) ?? emptyRow(place, question)
      asked.push({ question, agent: asWhom, row: { ...row, position: question.position } })
    }
  }
  return asked
}

function failureWarnings(
  rows: readonly AnswerRow[],
  { run }: AgentEvaluationOptions,
): readonly string[] {
  const again = run === null ? '' : '; the same statement asks them again'
  const failed = rows.filter(({ error }) => error !== null).length
  const unjudged = rows.filter((row) => row.judge_error !== null).length
  return [
    ...(failed === 0
      ? []
      : [`${failed} of ${rows.length} questions failed (column error)${again}`]),
    ...(unjudged === 0 ? [] : [`${unjudged} answers could not be judged (column judge_error)`]),
  ]
}

/**
 * The statement as the job stores it. It names its run, so the job can continue after a restart.
 */
interface StoredEvaluation extends AgentEvaluationRequest {
  /** The id, because a later agent may have the same name. */
  readonly agentId: number
  /** The rights of the user who started the job, which it never exceeds. */
  readonly rights: Rights | null
  /** The variables of the user's session, which may have ended. */
  readonly variables: Readonly<Record<string, BoundValue>>
}

/**
 * With `background = true`, runs it as a job and returns the job's row of information_schema.queries.
 * @throws AppError like `evaluateAgent`; `too_busy` if too many jobs wait
 */
export async function runEvaluateAgent(
  request: AgentEvaluationRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { statement, db } = request
  if (statement.options.background !== true) return evaluateAgent(request, deps, signal)
  const run = statement.options.run ?? timestampOfMillis(Date.now())
  const named = { ...statement, options: { ...statement.options, run } }
  const { agent, options } = await preparedEvaluation({ statement: named, db }, deps)
  const stored: StoredEvaluation = {
    ...request,
    statement: named,
    agentId: agent.id,
    rights: deps.rights ?? null,
    variables: variablesIn(options.questions, deps),
  }
  const job = await deps.jobs.start({
    kind: 'evaluation',
    projectName: agent.projectName,
    knowledgeBase: null,
    title: `EVALUATE AGENT ${agent.name}, run ${options.run}`,
    request: stored,
  })
  return queryRow(job, db, deps, signal)
}

/** Runs the job. @throws AppError like `evaluateAgent`, or `agent_not_found` */
export async function runEvaluationJob(
  work: JobWork,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<void> {
  // `runEvaluateAgent` created this request, so the type is right.
  const { agentId, variables: kept, rights: _, ...request } = work.request as StoredEvaluation
  const { agent } = await preparedEvaluation(request, deps)
  if (agent.id !== agentId) throw notFound('agent', agent.name)
  const variables = new Variables()
  variables.set(new Map(Object.entries(kept)))
  const progress = markedProgress(work, deps.nowMs)
  await evaluateAgent(request, { ...deps, variables }, signal, progress)
  await progress.mark()
}

const MARK_EVERY_MS = 1000

/** Marks the job's progress about every second. */
function markedProgress(work: JobWork, nowMs: () => number) {
  const marks = new SerialQueue()
  const progress = { ...NO_PROGRESS, rows: 0, total: 0 }
  let markedMs = nowMs()
  const mark = () => marks.run(() => work.mark({ progress: { ...progress }, checkpoint: null }))
  return {
    mark,
    async answered({ id, position, error, judge_error }: AnswerRow, total: number): Promise<void> {
      progress.rows += 1
      progress.total = total
      const failure = error ?? judge_error
      if (failure !== null) {
        work.leaveOut({ item: String(id ?? position), message: String(failure) })
      }
      if (!marks.isIdle || nowMs() - markedMs < MARK_EVERY_MS) return
      await mark()
      markedMs = nowMs()
    },
  }
}
