import { nameKey, quote } from '../../core/domain/names.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { Parameters } from '../select/run-select.ts'
import { runComposedSelect } from '../select/views.ts'
import { tableName } from './evaluation-table.ts'

export interface TestSet {
  /** SQL with quoted names. */
  readonly source: string
  /** The name as the client wrote it, for messages. */
  readonly shownName: string
  readonly columns: readonly string[]
  /** The DuckDB type of each column. */
  readonly types: readonly string[]
  readonly database: string
  readonly params: Parameters
}

/** Possible names for each column. The first one that exists is used. */
export const COLUMN_NAMES = {
  question: ['question', 'query'],
  document: ['doc_id', 'document_id', 'document'],
  grade: ['grade', 'score', 'relevance'],
} as const

export type TestColumn = keyof typeof COLUMN_NAMES

export interface GradedQuestion {
  readonly question: string
  readonly grades: ReadonlyMap<string, number>
}

export interface KnownItem {
  readonly question: string
  readonly documentId: string
}

const TEST_ROWS_MAX = 1_000_000

/** Whether the text is a SELECT, possibly in parentheses, and not a table name. */
export function isSelect(written: string): boolean {
  return /^(?:\(|(?:select|with|from|values)[\s(])/i.test(written)
}

/** SQL to place after FROM. @param option the option it comes from, for messages */
export function questionSource(written: string, option: string, db: string): string {
  // The line break ends a comment at the end of the text.
  if (isSelect(written)) return written.startsWith('(') ? written : `(${written}\n)`
  const { project, name } = tableName(written, option)
  return `${quote(project ?? db)}.${quote(name)}`
}

/** @param written in `test_table` @throws AppError `sql_unknown_name` without such a table */
export async function openTestSet(
  written: string,
  { db, params }: { readonly db: string; readonly params: Parameters },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<TestSet> {
  const source = questionSource(written, 'test_table', db)
  const select = { sql: `SELECT * FROM ${source} LIMIT 0`, database: db, params }
  const rows = await runComposedSelect(select, deps, signal)
  await rows.batches[Symbol.asyncIterator]().return?.()
  const columns = rows.columns.map((column) => column.name)
  const types = rows.columns.map((column) => column.type)
  const shownName = isSelect(written) ? '(SELECT …)' : source.replaceAll('"', '')
  return { source, shownName, columns, types, database: db, params }
}

export function hasColumns(testSet: TestSet, wanted: readonly TestColumn[]): boolean {
  return wanted.every((column) => testColumn(testSet, column) !== undefined)
}

/** @throws AppError `invalid_request` naming the missing columns and the existing ones */
export function requireColumns(
  testSet: TestSet,
  wanted: readonly TestColumn[],
  version: string,
): void {
  const missing = wanted.filter((column) => testColumn(testSet, column) === undefined)
  if (missing.length === 0) {
    for (const column of wanted) requireType(testSet, column)
    return
  }
  const names = missing.map((column) => `a column ${COLUMN_NAMES[column].join(' or ')}`)
  const has = testSet.columns.length === 0 ? 'none' : testSet.columns.join(', ')
  const needs = `version '${version}' needs ${names.join(', and ')}`
  throw new AppError('invalid_request', `${needs} in ${testSet.shownName}; its columns are ${has}`)
}

/** Whether a column of this type can hold questions, ids or numbers. */
const FITS: Readonly<Record<TestColumn, (type: string) => boolean>> = {
  question: (type) => type === 'VARCHAR' || type.startsWith('ENUM'),
  document: (type) => !/^(STRUCT|MAP|UNION|JSON|BLOB)|\]$/.test(type),
  grade: (type) => /INT|^FLOAT|^DOUBLE|^DECIMAL|^VARCHAR/.test(type) && !type.endsWith(']'),
}

const EXPECTED: Readonly<Record<TestColumn, string>> = {
  question: 'a question is a text',
  document: 'a document is named by its id',
  grade: 'a grade is a number',
}

function requireType(testSet: TestSet, column: TestColumn): void {
  const name = testColumn(testSet, column) ?? ''
  const type = testSet.types[testSet.columns.indexOf(name)] ?? ''
  if (FITS[column](type)) return
  const found = `the column ${quote(name)} of ${testSet.shownName} holds ${type}`
  throw new AppError('invalid_request', `${found}; ${EXPECTED[column]}`)
}

export function quotedColumn(testSet: TestSet, column: TestColumn): string {
  const name = testColumn(testSet, column)
  if (name === undefined) throw new Error('the columns are checked first')
  return quote(name)
}

function testColumn({ columns }: TestSet, wanted: TestColumn): string | undefined {
  const found = COLUMN_NAMES[wanted].map((name) => {
    return columns.find((column) => nameKey(column) === name)
  })
  return found.find((column) => column !== undefined)
}

/**
 * Reads each distinct question with the grades of its documents, in table order. If a document has
 * several grades, the highest counts.
 * @throws AppError `invalid_request` for an empty table or value, a grade that is not a number, or
 * too many rows
 */
export async function readGradedQuestions(
  testSet: TestSet,
  deps: QueryDeps,
  signal: AbortSignal,
  questionsMax: number,
): Promise<readonly GradedQuestion[]> {
  const questions = new Map<string, Map<string, number>>()
  for await (const { texts, place } of testRows(
    testSet,
    ['question', 'document', 'grade'],
    deps,
    signal,
  )) {
    const [question = '', document = '', gradeText = ''] = texts
    const grade = Number(gradeText)
    if (!Number.isFinite(grade)) {
      throw new AppError('invalid_request', `${place}: the grade '${gradeText}' is not a number`)
    }
    const grades = questions.get(question) ?? new Map<string, number>()
    questions.set(question, grades)
    grades.set(document, Math.max(grade, grades.get(document) ?? Number.NEGATIVE_INFINITY))
    refuseTooMany(testSet, questions.size, questionsMax)
  }
  refuseEmpty(testSet, questions.size)
  return [...questions].map(([question, grades]) => ({ question, grades }))
}

/** @throws AppError like `readGradedQuestions` */
export async function readKnownItems(
  testSet: TestSet,
  deps: QueryDeps,
  signal: AbortSignal,
  questionsMax: number,
): Promise<readonly KnownItem[]> {
  const questions: KnownItem[] = []
  for await (const { texts } of testRows(testSet, ['question', 'document'], deps, signal)) {
    const [question = '', documentId = ''] = texts
    questions.push({ question, documentId })
    refuseTooMany(testSet, questions.length, questionsMax)
  }
  refuseEmpty(testSet, questions.length)
  return questions
}

/** @throws AppError like `readGradedQuestions` */
export async function readQuestions(
  testSet: TestSet,
  deps: QueryDeps,
  signal: AbortSignal,
  questionsMax: number,
): Promise<readonly string[]> {
  const questions: string[] = []
  for await (const { texts } of testRows(testSet, ['question'], deps, signal)) {
    questions.push(...texts)
    refuseTooMany(testSet, questions.length, questionsMax)
  }
  refuseEmpty(testSet, questions.length)
  return questions
}

/**
 * Yields rows with these columns as texts. @throws AppError `invalid_request` for an empty value
 */
async function* testRows(
  testSet: TestSet,
  wanted: readonly TestColumn[],
  deps: QueryDeps,
  signal: AbortSignal,
): AsyncGenerator<
  {
    /** The row's texts, one per column. */
    readonly texts: readonly string[]
    /** For messages, for example `shop.tests, row 3`. */
    readonly place: string
  },
  void
> {
  const columns = wanted.map((column) => quotedColumn(testSet, column))
  const list = columns.map((column) => `CAST(${column} AS VARCHAR)`).join(', ')
  const sql = `SELECT ${list} FROM ${testSet.source}`
  const select = { sql, database: testSet.database, params: testSet.params }
  const { batches } = await runComposedSelect(select, deps, signal)
  let row = 0
  for await (const batch of batches) {
    for (const values of batch) {
      row += 1
      if (row > TEST_ROWS_MAX) throw tooManyRows(testSet)
      const place = `${testSet.shownName}, row ${row}`
      const texts = values.map((value, index) => {
        return testText(value, place, columns[index] ?? '')
      })
      yield { texts, place }
    }
  }
}

function testText(value: ResultValue, place: string, column: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new AppError('invalid_request', `${place}: the column ${column} is empty`)
}

function refuseEmpty({ shownName }: TestSet, count: number): void {
  if (count > 0) return
  throw new AppError('invalid_request', `The test table ${shownName} has no rows`)
}

function refuseTooMany({ shownName }: TestSet, count: number, questionsMax: number): void {
  if (count <= questionsMax) return
  const found = `The test table ${shownName} has more than ${questionsMax} questions`
  throw new AppError('invalid_request', `${found}: name a view of some of them`)
}

function tooManyRows({ shownName }: TestSet): AppError {
  return new AppError('invalid_request', `${shownName} has more than ${TEST_ROWS_MAX} rows`)
}
