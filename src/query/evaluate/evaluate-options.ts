import { FUSIONS, SEARCH_MODES } from '../../core/domain/hybrid-search.ts'
import { AppError } from '../../core/errors.ts'
import { definedFields } from '../../core/json.ts'
import { AGENT_FIELDS } from '../definitions/define-agent.ts'
import { FieldReader, type Fields } from '../definitions/fields.ts'
import type { ChunkSearch } from '../search/chunk-search.ts'
import { isSelect } from './evaluation-table.ts'

/** `doc_id`: one right document; `llm_relevancy`: grades by a model. */
export type EvaluationVersion = 'judgments' | 'doc_id' | 'llm_relevancy'

export interface EvaluateOptions {
  /** `project.table` as the client wrote it, or a SELECT. */
  readonly testTable: string
  /** Null: chosen by the columns of the test table. */
  readonly version: EvaluationVersion | null
  /** Null: the test table already exists. */
  readonly generation: GenerationOptions | null
  readonly evaluates: boolean
  readonly llm: Fields | null
  readonly saveTo: string | null
  readonly search: EvaluationSearch
  readonly isPerQuestion: boolean
}

export interface GenerationOptions {
  /** A SELECT of texts; null: use chunks of the knowledge base. */
  readonly fromSql: string | null
  readonly count: number
  /** The same seed selects the same texts. Null: different texts each time. */
  readonly seed: string | null
}

/** What is unset has the default of the version or of the knowledge base. */
export type EvaluationSearch = Partial<
  Pick<ChunkSearch, 'k' | 'mode' | 'alpha' | 'fusion' | 'hasFeedback' | 'rerank'>
>

const INVALID_OPTION = 'invalid_request'

const VERSIONS: readonly EvaluationVersion[] = ['doc_id', 'llm_relevancy', 'judgments']

/** Options for measuring, as opposed to generating questions. */
const MEASURING_OPTIONS = [
  'save_to',
  'k',
  'mode',
  'alpha',
  'fusion',
  'feedback',
  'reranking',
  'per_question',
] as const

const EVALUATE_OPTIONS = [
  'test_table',
  'version',
  'generate_data',
  'evaluate',
  'llm',
  ...MEASURING_OPTIONS,
] as const

const GENERATION_OPTIONS = ['from_sql', 'count', 'seed'] as const

const EVALUATED_K_MAX = 1000
/** A limit, because each question takes this many model calls. */
const JUDGED_K_MAX = 100
const GENERATED_DEFAULT = 20
const GENERATED_MAX = 1000

/** @throws AppError `unknown_field`, `missing_parameter`, `invalid_request` */
export function evaluateOptions(sent: Fields): EvaluateOptions {
  const read = new FieldReader(sent, INVALID_OPTION)
  allowOnly(read, EVALUATE_OPTIONS, 'EVALUATE')
  const testTable = read.text('test_table')?.trim() ?? ''
  if (testTable === '') {
    const how = "test_table = 'project.table'"
    throw new AppError('missing_parameter', `EVALUATE needs the table of its questions: ${how}`)
  }
  const version = chosenOption(read, 'version', VERSIONS)
  const generation = generationOf(sent.generate_data)
  if (generation !== null && isSelect(testTable)) {
    const what = 'generate_data writes its questions into test_table: name a table'
    throw new AppError(INVALID_OPTION, what)
  }
  if (generation !== null && version === 'judgments') {
    const what = 'generate_data makes questions for doc_id and llm_relevancy'
    throw new AppError(INVALID_OPTION, `${what}: judgments are what people say`)
  }
  const kMax = version === 'llm_relevancy' ? JUDGED_K_MAX : EVALUATED_K_MAX
  const evaluates = read.truth('evaluate') ?? true
  if (!evaluates && generation === null) {
    const what = 'evaluate = false leaves nothing to do without generate_data'
    throw new AppError(INVALID_OPTION, what)
  }
  const unused = evaluates ? undefined : MEASURING_OPTIONS.find((name) => read.isSet(name))
  if (unused !== undefined) {
    throw new AppError(INVALID_OPTION, `Leave out "${unused}": evaluate = false measures nothing`)
  }
  return {
    testTable,
    version: version ?? (generation === null ? null : 'doc_id'),
    generation,
    evaluates,
    llm: read.object('llm') ?? null,
    saveTo: read.text('save_to')?.trim() ?? null,
    search: searchOf(read, sent.alpha, kMax),
    isPerQuestion: read.truth('per_question') ?? false,
  }
}

function searchOf(read: FieldReader, alpha: unknown, kMax: number): EvaluationSearch {
  const mode = chosenOption(read, 'mode', SEARCH_MODES)
  if (read.isSet('alpha') && !(typeof alpha === 'number' && alpha >= 0 && alpha <= 1)) {
    throw new AppError(INVALID_OPTION, 'Option "alpha" must be a number from 0 to 1')
  }
  const ofHybrid = ['alpha', 'fusion', 'feedback'].find((name) => read.isSet(name))
  if (ofHybrid !== undefined && mode !== undefined && mode !== 'hybrid') {
    const message = `Option "${ofHybrid}" is for mode 'hybrid', not '${mode}'`
    throw new AppError(INVALID_OPTION, message)
  }
  return definedFields({
    k: read.integer('k', { min: 1, max: kMax }),
    mode: ofHybrid === undefined ? mode : 'hybrid',
    fusion: chosenOption(read, 'fusion', FUSIONS),
    hasFeedback: read.truth('feedback'),
    alpha: typeof alpha === 'number' ? alpha : undefined,
    rerank: read.truth('reranking'),
  })
}

/** Reads `true`, or an object with the options that differ from the defaults. */
function generationOf(sent: unknown): GenerationOptions | null {
  if (sent === undefined || sent === null || sent === false) return null
  const outer = new FieldReader({ generate_data: sent === true ? {} : sent }, INVALID_OPTION)
  const fields = outer.object('generate_data') ?? {}
  const read = new FieldReader(fields, INVALID_OPTION)
  allowOnly(read, GENERATION_OPTIONS, 'generate_data')
  const fromSql = read.text('from_sql')?.trim() ?? ''
  return {
    fromSql: fromSql === '' ? null : fromSql,
    count: read.integer('count', { min: 1, max: GENERATED_MAX }) ?? GENERATED_DEFAULT,
    seed: seedOf(fields.seed),
  }
}

function seedOf(sent: unknown): string | null {
  if (sent === undefined || sent === null) return null
  if (typeof sent === 'string' || typeof sent === 'number') return String(sent)
  throw new AppError(INVALID_OPTION, 'Option "seed" must be a number or a text')
}

function chosenOption<T extends string>(
  read: FieldReader,
  name: string,
  known: readonly T[],
): T | undefined {
  const sent = read.text(name)
  return sent === undefined ? undefined : choiceOf(name, sent, known, 'one of')
}

function choiceOf<T extends string>(
  option: string,
  sent: string,
  known: readonly T[],
  form: 'of' | 'one of',
): T {
  const found = known.find((value) => value === sent.trim().toLowerCase())
  if (found !== undefined) return found
  const choices = known.map((value) => `'${value}'`).join(', ')
  const message = `Option "${option}" must be ${form} ${choices}; it is '${sent.slice(0, 80)}'`
  throw new AppError(INVALID_OPTION, message)
}

function allowOnly(read: FieldReader, known: readonly string[], place: string): void {
  read.allowOnly(new Set(known), (name) => {
    return `There is no option '${name}' in ${place}; there are ${known.join(', ')}`
  })
}

/** `citation`: the right document is cited; `not_found`: the answer says so, rightly. */
const JUDGES = ['exact', 'contains', 'citation', 'not_found', 'model'] as const

export type Judge = (typeof JUDGES)[number]

export interface AgentEvaluationOptions {
  /** A SELECT, or a table name as the client wrote it. */
  readonly questions: string
  /** Null: chosen by what the questions say about right answers. */
  readonly judges: readonly Judge[] | null
  readonly judgeModel: Fields | null
  /** Fields of the agent to override in this run. */
  readonly changes: Fields
  /** Further changes for a second setting; null if there is only one. */
  readonly comparedChanges: Fields | null
  readonly concurrency: number
  /** Ask only this many questions, from the first; null: all of them. */
  readonly limit: number | null
  /** The name of the run in stored answers. Repeating the statement continues the run. */
  readonly run: string | null
  readonly saveTo: string | null
  /** Whether to return one row per setting instead of one per answer. */
  readonly isSummary: boolean
  readonly notFoundPhrases: readonly string[]
  /** Whether to run as a job after the statement returns. */
  readonly isInBackground: boolean
}

const AGENT_OPTIONS = [
  'questions',
  'judge',
  'judge_model',
  'compare',
  'concurrency',
  'limit',
  'run',
  'save_to',
  'summary',
  'not_found_phrases',
  'background',
] as const

export const QUESTIONS_MAX = 10_000
const CONCURRENCY_DEFAULT = 4
const CONCURRENCY_MAX = 32
const RUN_CHARS_MAX = 200
const PHRASES_MAX = 100

/** Other options are fields of the agent. @throws AppError `unknown_field`, … */
export function agentEvaluationOptions(sent: Fields): AgentEvaluationOptions {
  const read = new FieldReader(sent, INVALID_OPTION)
  read.allowOnly(new Set([...AGENT_OPTIONS, ...AGENT_FIELDS]), (name) => {
    const fields = [...AGENT_FIELDS].filter((field) => field !== 'name').join(', ')
    return `There is no option '${name}' in EVALUATE AGENT; there are ${AGENT_OPTIONS.join(', ')}, and the agent's ${fields}`
  })
  const questions = read.text('questions')?.trim() ?? ''
  if (questions === '') {
    const how = 'questions = (SELECT question, answer FROM files.golden), or the name of a table'
    throw new AppError('missing_parameter', `EVALUATE AGENT needs its questions: ${how}`)
  }
  const run = read.text('run')?.trim() ?? null
  if (run !== null && (run === '' || run.length > RUN_CHARS_MAX)) {
    const message = `Option "run" must be a name of 1 to ${RUN_CHARS_MAX} characters`
    throw new AppError(INVALID_OPTION, message)
  }
  const changes = Object.entries(sent).filter(([name]) => AGENT_FIELDS.has(name))
  return {
    questions,
    judges: judgesOf(sent.judge),
    judgeModel: read.object('judge_model') ?? null,
    changes: Object.fromEntries(changes),
    comparedChanges: read.object('compare') ?? null,
    concurrency:
      read.integer('concurrency', { min: 1, max: CONCURRENCY_MAX }) ?? CONCURRENCY_DEFAULT,
    limit: read.integer('limit', { min: 1, max: QUESTIONS_MAX }) ?? null,
    run,
    saveTo: read.text('save_to')?.trim() ?? null,
    isSummary: read.truth('summary') ?? false,
    notFoundPhrases: phrasesOf(read),
    isInBackground: read.truth('background') ?? false,
  }
}

/** Reads a name, several names separated by commas, or a list. */
function judgesOf(sent: unknown): readonly Judge[] | null {
  if (sent === undefined || sent === null) return null
  const names = [sent].flat().flatMap((name) => String(name).split(','))
  return [...new Set(names.map((name) => choiceOf('judge', name.trim(), JUDGES, 'of')))]
}

function phrasesOf(read: FieldReader): readonly string[] {
  const phrases = (read.textList('not_found_phrases') ?? []).map((phrase) => phrase.trim())
  if (phrases.length <= PHRASES_MAX && phrases.every(Boolean)) return phrases
  const message = `Option "not_found_phrases" must be a list of at most ${PHRASES_MAX} texts`
  throw new AppError(INVALID_OPTION, message)
}
