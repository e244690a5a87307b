/** Reads the questions of an evaluation from a table, a file, a view or a SELECT. */
import { nameKey, quote } from '../../core/domain/names.ts'
import type { ResultValue, RowStream } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { isObject, parsedJson, textOfValue } from '../../core/json.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { Parameters } from '../select/run-select.ts'
import { runComposedSelect } from '../select/views.ts'
import { type EvaluationVersion, QUESTIONS_MAX } from './evaluate-options.ts'
import { isSelect, tableName } from './evaluation-table.ts'

/** Possible names for each column. The first one that exists is used. */
const COLUMN_NAMES = {
  question: ['question', 'query'],
  document: ['doc_id', 'document_id', 'document'],
  grade: ['grade', 'score', 'relevance'],
  answer: ['answer', 'answers', 'expected', 'expected_answer', 'reference_answer'],
  documents: ['doc_id', 'document_id', 'document', 'document_ids'],
  knowledgeBase: ['knowledge_base'],
  id: ['id', 'question_id'],
} as const

type Column = keyof typeof COLUMN_NAMES

interface QuestionSource {
  /** A table name or a SELECT, as the client wrote it. */
  readonly written: string
  /** The option it comes from, for messages. */
  readonly option: string
  readonly db: string
  readonly params: Parameters
}

/** The rows with which a knowledge base or an agent is measured. */
export interface TestSet {
  /** The name as the client wrote it, for messages. */
  readonly shownName: string
  readonly rows: RowStream
}

/** @throws AppError `sql_unknown_name` without such a table */
export async function openTestSet(
  { written, option, db, params }: QuestionSource,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<TestSet> {
  const read = (sql: string) => runComposedSelect({ sql, database: db, params }, deps, signal)
  if (isSelect(written)) return { rows: await read(written), shownName: '(SELECT …)' }
  const { project, name } = tableName(written, option)
  const rows = await read(`SELECT * FROM ${quote(project ?? db)}.${quote(name)}`)
  return { rows, shownName: `${project ?? db}.${name}` }
}

/** The column's index; -1 if there is none. */
function placeOf(column: Column, { columns }: Pick<RowStream, 'columns'>): number {
  const keys = columns.map(({ name }) => nameKey(name))
  const name = COLUMN_NAMES[column].find((one) => keys.includes(one))
  return name === undefined ? -1 : keys.indexOf(name)
}

function shownColumns({ columns }: Pick<RowStream, 'columns'>): string {
  const names = columns.map(({ name }) => name).join(', ')
  return names === '' ? 'none' : names.slice(0, 500)
}

/** Ends the read of a test set that is not needed. */
export async function closeTestSet({ rows }: TestSet): Promise<void> {
  await rows.batches[Symbol.asyncIterator]().return?.()
}

/** The values of these columns, null where there is no such column. */
async function* namedCells<C extends Column>(
  rows: RowStream,
  columns: readonly C[],
): AsyncGenerator<Readonly<Record<C, ResultValue>>, void> {
  const places = columns.map((column) => [column, placeOf(column, rows)] as const)
  for await (const batch of rows.batches) {
    for (const values of batch) {
      const cells = places.map(([column, place]) => [column, values[place] ?? null])
      // Its keys are the columns.
      yield Object.fromEntries(cells) as Record<C, ResultValue>
    }
  }
}

type TestColumn = 'question' | 'document' | 'grade'

const TEST_COLUMNS: Readonly<Record<EvaluationVersion, readonly TestColumn[]>> = {
  judgments: ['question', 'document', 'grade'],
  doc_id: ['question', 'document'],
  llm_relevancy: ['question'],
}

/** The version that the columns are for. */
export function versionOf({ rows }: TestSet): EvaluationVersion {
  const isGraded = TEST_COLUMNS.judgments.every((column) => placeOf(column, rows) !== -1)
  return isGraded ? 'judgments' : 'doc_id'
}

/** What a column holds, and whether its type can hold it. */
const HELD: Readonly<Record<TestColumn, readonly [string, (type: string) => boolean]>> = {
  question: ['a question is a text', (type) => type === 'VARCHAR' || type.startsWith('ENUM')],
  document: [
    'a document is named by its id',
    (type) => !/^(STRUCT|MAP|UNION|JSON|BLOB)|\]$/.test(type),
  ],
  grade: [
    'a grade is a number',
    (type) => /INT|^FLOAT|^DOUBLE|^DECIMAL|^VARCHAR/.test(type) && !type.endsWith(']'),
  ],
}

/** @throws AppError `invalid_request` for a missing column or one of another type */
export function checkTestColumns({ rows, shownName }: TestSet, version: EvaluationVersion): void {
  const wanted = TEST_COLUMNS[version]
  const missing = wanted.filter((column) => placeOf(column, rows) === -1)
  if (missing.length > 0) {
    const names = missing.map((column) => `a column ${COLUMN_NAMES[column].join(' or ')}`)
    const needs = `version '${version}' needs ${names.join(', and ')} in ${shownName}`
    throw new AppError('invalid_request', `${needs}; its columns are ${shownColumns(rows)}`)
  }
  for (const column of wanted) {
    const { name = '', type = '' } = rows.columns[placeOf(column, rows)] ?? {}
    const [expected, fits] = HELD[column]
    if (fits(type)) continue
    const found = `the column ${quote(name)} of ${shownName} holds ${type}`
    throw new AppError('invalid_request', `${found}; ${expected}`)
  }
}

export type TestRow = Readonly<Record<TestColumn, string>>

/**
 * Reads at most this many rows, in the order of the table.
 * @throws AppError `invalid_request` for an empty table or value
 */
export async function readTestRows(
  { rows, shownName }: TestSet,
  version: EvaluationVersion,
  rowsMax: number,
): Promise<readonly TestRow[]> {
  const found: TestRow[] = []
  // Leaving the loop ends the statement.
  for await (const cells of namedCells(rows, TEST_COLUMNS[version])) {
    const row = { question: '', document: '', grade: '' }
    for (const column of TEST_COLUMNS[version]) {
      row[column] = textOfValue(cells[column])
      if (row[column].trim() !== '') continue
      const where = `${shownName}, row ${found.length + 1}`
      const name = quote(rows.columns[placeOf(column, rows)]?.name ?? '')
      throw new AppError('invalid_request', `${where}: the column ${name} is empty`)
    }
    found.push(row)
    if (found.length === rowsMax) break
  }
  if (found.length > 0) return found
  throw new AppError('invalid_request', `The test table ${shownName} has no rows`)
}

/**
 * The grades of each distinct question's documents. If a document has several, the highest counts.
 * @throws AppError `invalid_request` for a grade that is not a number
 */
export function gradedQuestions(
  rows: readonly TestRow[],
  { shownName }: TestSet,
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const questions = new Map<string, Map<string, number>>()
  for (const [index, { question, document, grade: written }] of rows.entries()) {
    const grade = Number(written)
    if (!Number.isFinite(grade)) {
      const where = `${shownName}, row ${index + 1}`
      throw new AppError('invalid_request', `${where}: the grade '${written}' is not a number`)
    }
    const grades = questions.get(question) ?? new Map<string, number>()
    questions.set(question, grades)
    grades.set(document, Math.max(grade, grades.get(document) ?? Number.NEGATIVE_INFINITY))
  }
  return questions
}

/** A question to an agent. */
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

const GOLDEN_COLUMNS = ['question', 'answer', 'documents', 'knowledgeBase', 'id'] as const

/** The most characters in a question set, which stays in memory during the run. */
const QUESTION_SET_CHARS_MAX = 64_000_000

/** The most right answers per question, because each is searched for in the text. */
const ACCEPTED_MAX = 100
const ACCEPTED_CHARS_MAX = 100_000

/** In row order. @throws AppError `invalid_request` without `question`, or for too many */
export async function readQuestionSet(
  { limit, ...source }: QuestionSource & { readonly limit: number | null },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QuestionSet> {
  const { rows } = await openTestSet(source, deps, signal)
  const has = (column: Column) => placeOf(column, rows) !== -1
  if (!has('question')) {
    const message = `The questions need a column question; their columns are ${shownColumns(rows)}`
    throw new AppError('invalid_request', message)
  }
  const [hasAnswers, hasDocuments] = [has('answer'), has('documents')]
  const questions: GoldenQuestion[] = []
  let chars = 0
  // Leaving the loop ends the statement.
  for await (const cells of namedCells(rows, GOLDEN_COLUMNS)) {
    if (limit !== null && questions.length >= limit) break
    if (questions.length >= QUESTIONS_MAX) throw tooManyQuestions(`${QUESTIONS_MAX} questions`)
    const [accepted, documentIds] = [textsIn(cells.answer), textsIn(cells.documents)]
    const question = scalarText(cells.question)
    const position = questions.length + 1
    chars += question.length + checkedChars(accepted, position)
    if (chars > QUESTION_SET_CHARS_MAX) {
      throw tooManyQuestions(`${QUESTION_SET_CHARS_MAX} characters`)
    }
    questions.push({
      position,
      id: scalarText(cells.id) || null,
      question,
      accepted,
      documentIds,
      knowledgeBase: scalarText(cells.knowledgeBase) || null,
      isUnanswerable: hasAnswers && accepted.length === 0 && documentIds.length === 0,
    })
  }
  if (questions.length > 0) return { questions, hasAnswers, hasDocuments }
  throw new AppError('invalid_request', 'There are no questions: the SELECT has no rows')
}

/** @returns the number of characters of the accepted answers @throws AppError for too many */
function checkedChars(accepted: readonly string[], position: number): number {
  const chars = accepted.join('').length
  if (chars <= ACCEPTED_CHARS_MAX && accepted.length <= ACCEPTED_MAX) return chars
  const most = `${ACCEPTED_MAX} answers of ${ACCEPTED_CHARS_MAX} characters together`
  throw new AppError('invalid_request', `Question ${position} has more than ${most}`)
}

function scalarText(value: ResultValue): string {
  if (value === null || typeof value === 'object') return ''
  return String(value).toWellFormed().trim()
}

/** A text, a number, lists of these, objects with a `text` as in SQuAD, or JSON text. */
function textsIn(value: ResultValue): readonly string[] {
  const isJson = typeof value === 'string' && /^\s*(?:\[.*\]|\{.*\})\s*$/s.test(value)
  // Values parsed from JSON are values of results.
  const parsed = isJson ? (parsedJson(value) as ResultValue | undefined) : value
  const items = scalarsIn(parsed) ?? (typeof value === 'string' ? [value] : [])
  return items.map(scalarText).filter((text) => text !== '')
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

function tooManyQuestions(what: string): AppError {
  const message = `The questions of one evaluation are at most ${what}: set limit, or select fewer`
  return new AppError('invalid_request', message)
}
