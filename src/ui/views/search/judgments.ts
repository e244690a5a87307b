/** Which documents are right for which question: a table of the project, `<knowledge base>_judgments`. */
import { useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { may } from '../../api/session.ts'
import { literal, quoted, runSql } from '../../api/sql.ts'
import { useResource } from '../../components/resource.ts'
import { tellFailed } from '../../shell/notices.tsx'

interface Judged {
  readonly question: string
  readonly document: string
  /** Above 0: right; 0: wrong. */
  readonly grade: number
}

export interface Judging {
  readonly all: readonly Judged[]
  readonly failure: Error | undefined
  readonly isLoading: boolean
  readonly canJudge: boolean
  readonly gradeOf: (question: string, document: string) => number | undefined
  /** null takes a judgment back. */
  readonly judge: (question: string, document: string, grade: number | null) => void
  readonly reload: () => void
}

export function useJudgments(place: KnowledgeBaseName): Judging {
  const { project, name } = place
  const saved = useResource((signal) => savedJudgments(place, signal), [project, name])
  // Marked here, and shown before the table says so.
  const [marked, setMarked] = useState<ReadonlyMap<string, number | null>>(new Map())
  const grades = new Map<string, number | null>(
    (saved.data ?? []).map((one) => [keyOf(one.question, one.document), one.grade]),
  )
  for (const [key, grade] of marked) grades.set(key, grade)
  return {
    all: saved.data ?? [],
    failure: saved.failure,
    isLoading: saved.isLoading && saved.data === undefined,
    canJudge: may('write'),
    gradeOf: (question, document) => grades.get(keyOf(question, document)) ?? undefined,
    judge: (question, document, grade) => {
      const key = keyOf(question, document)
      const before = grades.get(key) ?? null
      setMarked((all) => new Map(all).set(key, grade))
      storeJudgments(place, SELECT_ONE, { question, document, grade }).catch((error) => {
        setMarked((all) => new Map(all).set(key, before))
        tellFailed(error)
      })
    },
    reload: saved.reload,
  }
}

function keyOf(question: string, document: string): string {
  return JSON.stringify([question, document])
}

const SELECT_ONE = `SELECT :question::VARCHAR AS question, :document::VARCHAR AS document,
  :grade::DOUBLE AS grade`

export function judgmentsTable({ project, name }: KnowledgeBaseName): string {
  return `${quoted(project)}.${quoted(`${name}_judgments`)}`
}

/** @throws ApiError */
async function savedJudgments(
  place: KnowledgeBaseName,
  signal: AbortSignal,
): Promise<readonly Judged[]> {
  const { project, name } = place
  const { rows: tables } = await runSql({
    sql: `SELECT 1 FROM information_schema.tables WHERE lower(table_schema) = lower(${literal(project)})
      AND lower(table_name) = lower(${literal(`${name}_judgments`)})`,
    signal,
  })
  if (tables.length === 0) return []
  const sql = `SELECT question, document, grade FROM ${judgmentsTable(place)}`
  const { rows } = await runSql({ sql, project, signal })
  return rows.map(([question, document, grade]) => {
    return { question: String(question), document: String(document), grade: Number(grade) }
  })
}

/**
 * Replaces judgments of the same question and document; a grade of NULL deletes them. A crash between the statements
 * loses none: each changes what is there, or adds.
 * @param select of question, document and grade
 * @throws ApiError
 */
async function storeJudgments(
  place: KnowledgeBaseName,
  select: string,
  params: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const { project } = place
  const table = judgmentsTable(place)
  const columns = 'question VARCHAR, document VARCHAR, grade DOUBLE'
  await runSql({ sql: `CREATE TABLE IF NOT EXISTS ${table} (${columns})`, project })
  const isSame = 'added.question = old.question AND added.document = old.document'
  for (const sql of [
    `UPDATE ${table} AS old SET grade = added.grade FROM (${select}) AS added
      WHERE ${isSame} AND added.grade IS NOT NULL`,
    `INSERT INTO ${table} SELECT * FROM (${select}) AS added WHERE grade IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM ${table} AS old WHERE ${isSame})`,
    `DELETE FROM ${table} AS old
      WHERE EXISTS (SELECT 1 FROM (${select}) AS added WHERE ${isSame} AND grade IS NULL)`,
  ]) {
    await runSql({ sql, project, params })
  }
}

/** A table with questions and the ids of their right documents. */
export interface QuestionTable {
  readonly schema: string
  readonly table: string
  readonly question: string
  readonly document: string
  readonly grade: string | undefined
}

const COLUMN_NAMES = {
  question: ['question', 'query'],
  document: ['document_id', 'doc_id', 'document'],
  grade: ['grade', 'score', 'relevance'],
} as const

/** Tables and files whose columns fit, except the judgments themselves. @throws ApiError */
export async function questionTables(
  place: KnowledgeBaseName,
  signal: AbortSignal,
): Promise<readonly QuestionTable[]> {
  const names = Object.values(COLUMN_NAMES).flat().map(literal).join(', ')
  const { rows } = await runSql({
    sql: `SELECT table_schema, table_name, list(column_name) FROM information_schema.columns
      WHERE lower(column_name) IN (${names}) GROUP BY ALL ORDER BY ALL`,
    signal,
  })
  const own = `${place.project}.${place.name}_judgments`.toLowerCase()
  return rows.flatMap(([schema, table, list]) => {
    const columns = Array.isArray(list) ? list.map(String) : []
    const named = (wanted: readonly string[]) => {
      return columns.find((column) => wanted.includes(column.toLowerCase()))
    }
    const [question, document] = [named(COLUMN_NAMES.question), named(COLUMN_NAMES.document)]
    const isOwn = `${schema}.${table}`.toLowerCase() === own
    if (question === undefined || document === undefined || isOwn) return []
    const grade = named(COLUMN_NAMES.grade)
    return [{ schema: String(schema), table: String(table), question, document, grade }]
  })
}

/** Without a grade each document counts as right. @throws ApiError */
export function importQuestions(place: KnowledgeBaseName, from: QuestionTable): Promise<void> {
  const grade = from.grade === undefined ? '1.0' : `CAST(${quoted(from.grade)} AS DOUBLE)`
  const [question, document] = [quoted(from.question), quoted(from.document)]
  return storeJudgments(
    place,
    `SELECT CAST(${question} AS VARCHAR) AS question, CAST(${document} AS VARCHAR) AS document,
      CAST(max(${grade}) AS DOUBLE) AS grade
    FROM ${quoted(from.schema)}.${quoted(from.table)}
    WHERE ${question} IS NOT NULL AND ${document} IS NOT NULL GROUP BY ALL`,
  )
}
