/** Which documents are right for a question: kept in this browser until they are saved in a table of the project. */
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { literal, quoted, runSql } from '../../../api/sql.ts'

export interface Judged {
  readonly question: string
  readonly document: string
  /** 1: right, 0: wrong, null: neither, any more. */
  readonly grade: number | null
}

export type Judgments = readonly Judged[]

const keyOf = ({ project, name }: KnowledgeBaseName) => `eider.judgments.${project}/${name}`

/** Marks that are not saved yet. */
export function unsavedJudgments(place: KnowledgeBaseName): Judgments {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(place)) ?? '[]')
    return Array.isArray(stored) ? stored.filter(isJudged) : []
  } catch {
    return []
  }
}

function isJudged(value: unknown): value is Judged {
  if (typeof value !== 'object' || value === null) return false
  return 'question' in value && 'document' in value && 'grade' in value
}

export function keepUnsaved(place: KnowledgeBaseName, judgments: Judgments): void {
  try {
    localStorage.setItem(keyOf(place), JSON.stringify(judgments))
  } catch {
    // A browser that keeps nothing still shows them until the page is closed.
  }
}

/** Later ones win. */
export function withJudgments(before: Judgments, added: Judgments): Judgments {
  const all = new Map(before.map((one) => [keyOfJudged(one), one]))
  for (const one of added) all.set(keyOfJudged(one), one)
  return [...all.values()]
}

/** As the statements below write it. */
export function keyOfJudged({ question, document }: Omit<Judged, 'grade'>): string {
  return `${document}\n${question}`
}

export function tableOf({ project, name }: KnowledgeBaseName): string {
  return `${quoted(project)}.${quoted(`${name}_judgments`)}`
}

/** Those of the table; none where there is no table yet. @throws ApiError */
export async function savedJudgments(
  place: KnowledgeBaseName,
  signal?: AbortSignal,
): Promise<Judgments> {
  if (!(await hasTable(place.project, `${place.name}_judgments`, signal))) return []
  const sql = `SELECT question, document, grade FROM ${tableOf(place)}`
  const { rows } = await runSql({ sql, project: place.project, signal })
  return rows.map(([question, document, grade]) => {
    return { question: String(question), document: String(document), grade: Number(grade) }
  })
}

/** @throws ApiError */
export async function hasTable(
  project: string,
  name: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const sql = `SELECT count(*) FROM information_schema.tables
    WHERE lower(table_schema) = lower(${literal(project)}) AND lower(table_name) = lower(${literal(name)})`
  const { rows } = await runSql({ sql, project, signal })
  return Number(rows[0]?.[0]) > 0
}

/** Writes the marks into the table, and forgets them here. @throws ApiError */
export async function saveJudgments(place: KnowledgeBaseName, added: Judgments): Promise<void> {
  const graded = added.filter(({ grade }) => grade !== null)
  const params = {
    keys: added.map(keyOfJudged),
    questions: graded.map(({ question }) => question),
    documents: graded.map(({ document }) => document),
    grades: graded.map(({ grade }) => grade),
  }
  const select = `SELECT unnest(:questions::VARCHAR[]) AS question,
    unnest(:documents::VARCHAR[]) AS document, unnest(:grades::DOUBLE[]) AS grade`
  const others = 'concat(document, chr(10), question) NOT IN :keys'
  await addRows(place, { select, others, params })
  const savedGrades = new Map(added.map((one) => [keyOfJudged(one), one.grade]))
  const isSaved = (one: Judged) => savedGrades.get(keyOfJudged(one)) === one.grade
  keepUnsaved(
    place,
    unsavedJudgments(place).filter((one) => !isSaved(one)),
  )
}

interface AddedRows {
  /** Of question, document and grade. */
  readonly select: string
  /** Which of the rows that are there stay. */
  readonly others: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** To the table as it then is, not as it was when it was looked at. @throws ApiError */
export async function addRows(
  place: KnowledgeBaseName,
  { select, others, params = {} }: AddedRows,
): Promise<void> {
  const table = tableOf(place)
  const { project } = place
  const none = `SELECT '' AS question, '' AS document, CAST(0 AS DOUBLE) AS grade WHERE false`
  await runSql({ sql: `CREATE TABLE IF NOT EXISTS ${table} AS ${none}`, project })
  const before = `SELECT question, document, grade FROM ${table} WHERE ${others}`
  const sql = `CREATE OR REPLACE TABLE ${table} AS ${before} UNION ALL ${select}`
  await runSql({ sql, project, params })
}
