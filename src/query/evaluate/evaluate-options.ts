import {
  FUSIONS,
  type Fusion,
  SEARCH_MODES,
  type SearchMode,
} from '../../core/domain/hybrid-search.ts'
import { AppError } from '../../core/errors.ts'
import { FieldReader, type Fields } from '../definitions/fields.ts'

/** `judgments`: grades of documents; `doc_id`: one right document; `llm_relevancy`: a model's grades. */
export type EvaluationVersion = 'judgments' | 'doc_id' | 'llm_relevancy'

export interface EvaluateOptions {
  /** `project.table`, as it was written. */
  readonly testTable: string
  /** null: as the columns of the test table say. */
  readonly version: EvaluationVersion | null
  /** null: the test table is there already. */
  readonly generation: GenerationOptions | null
  readonly evaluates: boolean
  /** The fields of a chat model. */
  readonly llm: Fields | null
  readonly saveTo: string | null
  readonly search: EvaluationSearch
  readonly isPerQuestion: boolean
}

export interface GenerationOptions {
  /** A SELECT of the texts; null: chunks of the knowledge base. */
  readonly fromSql: string | null
  /** Questions. */
  readonly count: number
  /** The same seed chooses the same texts; null: different ones each time. */
  readonly seed: string | null
}

/** How the questions are searched; null: as the knowledge base does by default. */
export interface EvaluationSearch {
  /** null: the default of the version. */
  readonly k: number | null
  readonly mode: SearchMode | null
  /** The weight of the vectors in a hybrid search, 0 to 1. */
  readonly alpha: number | null
  readonly fusion: Fusion | null
  readonly reranking: boolean | null
}

const INVALID_OPTION = 'invalid_request'

const VERSIONS: readonly EvaluationVersion[] = ['doc_id', 'llm_relevancy', 'judgments']

const EVALUATE_OPTIONS = [
  'test_table',
  'version',
  'generate_data',
  'evaluate',
  'llm',
  'save_to',
  'k',
  'mode',
  'alpha',
  'fusion',
  'reranking',
  'per_question',
] as const

/** How to measure. */
const MEASURING_OPTIONS = [
  'save_to',
  'k',
  'mode',
  'alpha',
  'fusion',
  'reranking',
  'per_question',
] as const

const GENERATION_OPTIONS = ['from_sql', 'count', 'seed'] as const

const EVALUATED_K_MAX = 1000
/** The model is called this often for each question. */
const JUDGED_K_MAX = 100
const GENERATED_DEFAULT = 20
export const GENERATED_MAX = 1000

/**
 * The options of EVALUATE KNOWLEDGE_BASE, which follow USING.
 * @throws AppError `unknown_field`, `missing_parameter`, `invalid_request`
 */
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
  if (alpha !== undefined && alpha !== null) {
    if (typeof alpha !== 'number' || !(alpha >= 0 && alpha <= 1)) {
      throw new AppError(INVALID_OPTION, 'Option "alpha" must be a number from 0 to 1')
    }
    if (mode !== null && mode !== 'hybrid') {
      throw new AppError(INVALID_OPTION, `Option "alpha" is for mode 'hybrid', not '${mode}'`)
    }
  }
  const fusion = chosenOption(read, 'fusion', FUSIONS)
  if (fusion !== null && mode !== null && mode !== 'hybrid') {
    throw new AppError(INVALID_OPTION, `Option "fusion" is for mode 'hybrid', not '${mode}'`)
  }
  return {
    k: read.integer('k', { min: 1, max: kMax }) ?? null,
    mode: typeof alpha === 'number' || fusion !== null ? 'hybrid' : mode,
    fusion,
    alpha: typeof alpha === 'number' ? alpha : null,
    reranking: read.truth('reranking') ?? null,
  }
}

/** `true`, or an object with what differs from the defaults. */
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

export function chosenOption<T extends string>(
  read: FieldReader,
  name: string,
  known: readonly T[],
): T | null {
  const sent = read.text(name)
  if (sent === undefined) return null
  const found = known.find((value) => value === sent.trim().toLowerCase())
  if (found !== undefined) return found
  const choices = known.map((value) => `'${value}'`).join(', ')
  throw new AppError(INVALID_OPTION, `Option "${name}" must be one of ${choices}; it is '${sent}'`)
}

function allowOnly(read: FieldReader, known: readonly string[], place: string): void {
  read.allowOnly(new Set(known), (name) => {
    return `There is no option '${name}' in ${place}; there are ${known.join(', ')}`
  })
}
