import { nameKey, quote } from '../../domain/identifier.ts'
import type { ResultValue } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import type { QueryDeps } from '../query-deps.ts'
import { runComposedSelect } from '../select/composed-select.ts'

/** The table of an evaluation's questions, open for reading. */
export interface TestTable {
  /** Quoted, for SQL. */
  readonly source: string
  /** As the caller named it: for messages. */
  readonly shownName: string
  readonly columns: readonly string[]
  /** DuckDB's, one for each column. */
  readonly types: readonly string[]
  readonly database: string
}

/** What a column holds, and the names under which it is known, the first that is there. */
const COLUMN_NAMES = {
  question: ['question', 'query'],
  document: ['doc_id', 'document_id', 'document'],
  grade: ['grade', 'score', 'relevance'],
} as const

export type TestColumn = keyof typeof COLUMN_NAMES

/** A question and the grades of documents. */
export interface GradedQuestion {
  readonly question: string
  /** Document → grade. */
  readonly judgments: ReadonlyMap<string, number>
}

/** A question and the one document that answers it. */
export interface AnsweredQuestion {
  readonly question: string
  readonly documentId: string
}

const JUDGMENTS_MAX = 1_000_000

/** @throws AppError `sql_unknown_name` for a table that there is not */
export async function openTestTable(
  { project, name }: QualifiedName,
  { db, deps }: { readonly db: string; readonly deps: QueryDeps },
  signal: AbortSignal,
): Promise<TestTable> {
  const source = `${quote(project ?? db)}.${quote(name)}`
  const select = { sql: `SELECT * FROM ${source} LIMIT 0`, database: db, params: {} }
  const rows = await runComposedSelect(select, deps, signal)
  await rows.batches[Symbol.asyncIterator]().return?.()
  const columns = rows.columns.map((column) => column.name)
  const types = rows.columns.map((column) => column.type)
  return { source, shownName: `${project ?? db}.${name}`, columns, types, database: db }
}

export function hasColumns(table: TestTable, wanted: readonly TestColumn[]): boolean {
  return wanted.every((column) => columnOf(table, column) !== undefined)
}

/** @throws AppError `invalid_request` naming what is missing and what there is */
export function requireColumns(
  table: TestTable,
  { wanted, version }: { readonly wanted: readonly TestColumn[]; readonly version: string },
): void {
  const missing = wanted.filter((column) => columnOf(table, column) === undefined)
  if (missing.length === 0) {
    for (const column of wanted) requireType(table, column)
    return
  }
  const names = missing.map((column) => `a column ${COLUMN_NAMES[column].join(' or ')}`)
  const has = table.columns.length === 0 ? 'none' : table.columns.join(', ')
  const needs = `version '${version}' needs ${names.join(', and ')}`
  throw new AppError('invalid_request', `${needs} in ${table.shownName}; its columns are ${has}`)
}

/** Whether a column of this type can hold such a thing: texts, ids, numbers. */
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

function requireType(table: TestTable, column: TestColumn): void {
  const name = columnOf(table, column) ?? ''
  const type = table.types[table.columns.indexOf(name)] ?? ''
  if (FITS[column](type)) return
  const found = `the column ${quote(name)} of ${table.shownName} holds ${type}`
  throw new AppError('invalid_request', `${found}; ${EXPECTED[column]}`)
}

/** The quoted name of the column, for SQL. */
export function quotedColumn(table: TestTable, column: TestColumn): string {
  const name = columnOf(table, column)
  if (name === undefined) throw new Error('its columns are required before')
  return quote(name)
}

function columnOf({ columns }: TestTable, wanted: TestColumn): string | undefined {
  const found = COLUMN_NAMES[wanted].map((name) => {
    return columns.find((column) => nameKey(column) === name)
  })
  return found.find((column) => column !== undefined)
}

interface Reading {
  readonly deps: QueryDeps
  readonly questionsMax: number
  readonly signal: AbortSignal
}

/**
 * Each question once, in the order of the table, with the grades of its documents; of several grades of one document the
 * highest counts.
 * @throws AppError `invalid_request` for an empty table, an empty value, a grade that is no number, too many rows
 */
export async function gradedQuestions(
  table: TestTable,
  reading: Reading,
): Promise<readonly GradedQuestion[]> {
  const questions = new Map<string, Map<string, number>>()
  for await (const { texts, place } of rowsOf(table, ['question', 'document', 'grade'], reading)) {
    const [question = '', document = '', written = ''] = texts
    const grade = Number(written)
    if (!Number.isFinite(grade)) {
      throw new AppError('invalid_request', `${place}: the grade '${written}' is no number`)
    }
    const judgments = questions.get(question) ?? new Map<string, number>()
    questions.set(question, judgments)
    judgments.set(document, Math.max(grade, judgments.get(document) ?? Number.NEGATIVE_INFINITY))
    refuseTooMany(table, questions.size, reading)
  }
  refuseEmpty(table, questions.size)
  return [...questions].map(([question, judgments]) => ({ question, judgments }))
}

/** @throws AppError as `gradedQuestions` */
export async function answeredQuestions(
  table: TestTable,
  reading: Reading,
): Promise<readonly AnsweredQuestion[]> {
  const questions: AnsweredQuestion[] = []
  for await (const { texts } of rowsOf(table, ['question', 'document'], reading)) {
    const [question = '', documentId = ''] = texts
    questions.push({ question, documentId })
    refuseTooMany(table, questions.length, reading)
  }
  refuseEmpty(table, questions.length)
  return questions
}

/** @throws AppError as `gradedQuestions` */
export async function plainQuestions(
  table: TestTable,
  reading: Reading,
): Promise<readonly string[]> {
  const questions: string[] = []
  for await (const { texts } of rowsOf(table, ['question'], reading)) {
    questions.push(...texts)
    refuseTooMany(table, questions.length, reading)
  }
  refuseEmpty(table, questions.length)
  return questions
}

interface TestRow {
  /** One for each of the columns. */
  readonly texts: readonly string[]
  /** `shop.tests, row 3`: for messages. */
  readonly place: string
}

/** The rows with these columns as texts. @throws AppError `invalid_request` for one without a text */
async function* rowsOf(
  table: TestTable,
  wanted: readonly TestColumn[],
  { deps, signal }: Reading,
): AsyncGenerator<TestRow, void> {
  const columns = wanted.map((column) => quotedColumn(table, column))
  const list = columns.map((column) => `CAST(${column} AS VARCHAR)`).join(', ')
  const sql = `SELECT ${list} FROM ${table.source}`
  const select = { sql, database: table.database, params: {} }
  const { batches } = await runComposedSelect(select, deps, signal)
  let row = 0
  for await (const batch of batches) {
    for (const values of batch) {
      row += 1
      if (row > JUDGMENTS_MAX) throw tooManyRows(table)
      const place = `${table.shownName}, row ${row}`
      const texts = values.map((value, index) => {
        return textOf(value, { place, column: columns[index] ?? '' })
      })
      yield { texts, place }
    }
  }
}

function textOf(
  value: ResultValue,
  { place, column }: { readonly place: string; readonly column: string },
): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new AppError('invalid_request', `${place}: the column ${column} is empty`)
}

function refuseEmpty({ shownName }: TestTable, count: number): void {
  if (count > 0) return
  throw new AppError('invalid_request', `The test table ${shownName} has no rows`)
}

function refuseTooMany({ shownName }: TestTable, count: number, { questionsMax }: Reading): void {
  if (count <= questionsMax) return
  const found = `The test table ${shownName} has more than ${questionsMax} questions`
  throw new AppError('invalid_request', `${found}: name a view of some of them`)
}

function tooManyRows({ shownName }: TestTable): AppError {
  return new AppError('invalid_request', `${shownName} has more than ${JUDGMENTS_MAX} rows`)
}
