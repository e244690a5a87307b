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
    questions: graded.map(({ question }) => question),
    documents: graded.map(({ document }) => document),
    grades: graded.map(({ grade }) => grade),
  }
  const select = `SELECT unnest(:questions::VARCHAR[]) AS question,
    unnest(:documents::VARCHAR[]) AS document, unnest(:grades::DOUBLE[]) AS grade`
  await addJudgments(place, select, params)
  const removed = added.filter(({ grade }) => grade === null).map(keyOfJudged)
  if (removed.length > 0) {
    const sql = `DELETE FROM ${tableOf(place)} WHERE concat(document, chr(10), question) IN :removed`
    await runSql({ sql, project: place.project, params: { removed } })
  }
  const savedGrades = new Map(added.map((one) => [keyOfJudged(one), one.grade]))
  const isSaved = (one: Judged) => savedGrades.get(keyOfJudged(one)) === one.grade
  keepUnsaved(
    place,
    unsavedJudgments(place).filter((one) => !isSaved(one)),
  )
}

/**
 * Stores judgments; those for the same question and document get the new grade. A table of an older version has no key.
 * @param select of question, document and grade
 * @throws ApiError
 */
export async function addJudgments(
  { project, name }: KnowledgeBaseName,
  select: string,
  params: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const table = tableOf({ project, name })
  const columns = 'question VARCHAR, document VARCHAR, grade DOUBLE'
  await runSql({ sql: `CREATE TABLE IF NOT EXISTS ${table} (${columns})`, project })
  const isSame = 'old.question = added.question AND old.document = added.document'
  const added = `(${select}) AS added`
  const update = `UPDATE ${table} AS old SET grade = added.grade FROM ${added} WHERE ${isSame}`
  await runSql({ sql: update, project, params })
  const insert = `INSERT INTO ${table} (question, document, grade) SELECT * FROM ${added}
    WHERE NOT EXISTS (SELECT 1 FROM ${table} AS old WHERE ${isSame})`
  await runSql({ sql: insert, project, params })
}
