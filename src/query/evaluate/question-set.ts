import { nameKey } from '../../core/domain/names.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { Parameters } from '../select/run-select.ts'
import { runComposedSelect } from '../select/views.ts'
import { QUESTIONS_MAX } from './evaluate-options.ts'
import { COLUMN_NAMES, isSelect, questionSource } from './test-set.ts'

export interface GoldenQuestion {
  /** Counted from 1. */
  readonly position: number
  readonly id: string | null
  readonly question: string
  /** The texts that count as right. */
  readonly accepted: readonly string[]
  /** The documents that count as right. */
  readonly documentIds: readonly string[]
  /** The knowledge base of the documents, as `name` or `project.name`; null: any. */
  readonly knowledgeBase: string | null
  /** Whether it is right to say that the data has no answer. */
  readonly isUnanswerable: boolean
}

export interface QuestionSet {
  readonly questions: readonly GoldenQuestion[]
  readonly hasAnswers: boolean
  readonly hasDocuments: boolean
}

/** Possible names for each column. The first one that exists is used. */
const QUESTION_COLUMNS = {
  question: COLUMN_NAMES.question,
  answer: ['answer', 'answers', 'expected', 'expected_answer', 'reference_answer'],
  document: [...COLUMN_NAMES.document, 'document_ids'],
  knowledgeBase: ['knowledge_base'],
  id: ['id', 'question_id'],
} as const

type Column = keyof typeof QUESTION_COLUMNS

/** The most characters in a question set, which stays in memory during the run. */
const QUESTION_SET_CHARS_MAX = 64_000_000

/** The most right answers per question, because each is searched for in the text. */
const ACCEPTED_MAX = 100
const ACCEPTED_CHARS_MAX = 100_000

/** In row order. @throws AppError `invalid_request` without `question`, or for too many */
export async function readQuestionSet(
  given: {
    readonly source: string
    readonly limit: number | null
    readonly db: string
    readonly params: Parameters
  },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QuestionSet> {
  const { source, limit, db, params } = given
  const sql = isSelect(source) ? source : `SELECT * FROM ${questionSource(source, 'questions', db)}`
  const select = { sql, database: db, params }
  const { columns, batches } = await runComposedSelect(select, deps, signal)
  const places = columnPlaces(columns.map(({ name }) => name))
  const questions: GoldenQuestion[] = []
  let chars = 0
  // Leaving the loop ends the statement.
  reading: for await (const rows of batches) {
    for (const row of rows) {
      if (limit !== null && questions.length >= limit) break reading
      if (questions.length >= QUESTIONS_MAX) throw tooManyQuestions(`${QUESTIONS_MAX} questions`)
      const question = goldenQuestion(row, places, questions.length + 1)
      const acceptedChars = question.accepted.join('').length
      if (acceptedChars > ACCEPTED_CHARS_MAX || question.accepted.length > ACCEPTED_MAX) {
        const most = `${ACCEPTED_MAX} answers of ${ACCEPTED_CHARS_MAX} characters together`
        throw new AppError('invalid_request', `Question ${question.position} has more than ${most}`)
      }
      chars += question.question.length + acceptedChars
      if (chars > QUESTION_SET_CHARS_MAX)
        throw tooManyQuestions(`${QUESTION_SET_CHARS_MAX} characters`)
      questions.push(question)
    }
  }
  if (questions.length === 0)
    throw new AppError('invalid_request', 'There are no questions: the SELECT has no rows')
  return { questions, hasAnswers: places.answer !== -1, hasDocuments: places.document !== -1 }
}

type Places = Readonly<Record<Column, number>>

/** @throws AppError `invalid_request` */
function columnPlaces(names: readonly string[]): Places {
  const keys = names.map(nameKey)
  const placeOf = (column: Column) => {
    const found = QUESTION_COLUMNS[column].find((name) => keys.includes(name))
    return found === undefined ? -1 : keys.indexOf(found)
  }
  if (placeOf('question') === -1) {
    const has = names.length === 0 ? 'none' : names.join(', ').slice(0, 500)
    throw new AppError(
      'invalid_request',
      `The questions need a column question; their columns are ${has}`,
    )
  }
  return {
    question: placeOf('question'),
    answer: placeOf('answer'),
    document: placeOf('document'),
    knowledgeBase: placeOf('knowledgeBase'),
    id: placeOf('id'),
  }
}

function goldenQuestion(
  row: readonly ResultValue[],
  places: Places,
  position: number,
): GoldenQuestion {
  const textsAt = (column: Column) => textsIn(row[places[column]] ?? null)
  const [accepted, documentIds] = [textsAt('answer'), textsAt('document')]
  return {
    position,
    id: scalarText(row[places.id]) || null,
    question: scalarText(row[places.question]),
    accepted,
    documentIds,
    knowledgeBase: scalarText(row[places.knowledgeBase]) || null,
    isUnanswerable: places.answer !== -1 && accepted.length === 0 && documentIds.length === 0,
  }
}

function scalarText(value: ResultValue | undefined): string {
  if (value === null || value === undefined || typeof value === 'object') return ''
  return String(value).toWellFormed().trim()
}

/** A text, a number, lists of these, objects with a `text` as in SQuAD, or JSON text. */
function textsIn(value: ResultValue): readonly string[] {
  const items = typeof value === 'string' ? (scalarsIn(jsonIn(value)) ?? [value]) : scalarsIn(value)
  return (items ?? []).map(scalarText).filter((text) => text !== '')
}

/** Two levels cover `[{"text": "a"}]` and `{"text": ["a", "b"]}`. Undefined for anything else. */
function scalarsIn(value: ResultValue | undefined): readonly ResultValue[] | undefined {
  if (value === undefined) return undefined
  const items = Array.isArray(value) ? value : [value]
  const scalars = items.flatMap((item) => {
    const text = isObject(item) && 'text' in item ? item.text : item
    return Array.isArray(text) ? text : [text]
  })
  return scalars.every((one) => one === null || typeof one !== 'object') ? scalars : undefined
}

function jsonIn(text: string): ResultValue | undefined {
  if (!/^\s*(?:\[.*\]|\{.*\})\s*$/s.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function tooManyQuestions(what: string): AppError {
  return new AppError(
    'invalid_request',
    `The questions of one evaluation are at most ${what}: set limit, or select fewer`,
  )
}
