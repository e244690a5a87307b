/**
 * Which documents are relevant for which question, stored in the project's table `<knowledge
 * base>_judgments`.
 */

import { useState } from 'preact/hooks'
import { literal, quote } from '../../../core/domain/names.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { may } from '../../api/session.ts'
import { runSql } from '../../api/sql.ts'
import { useResource } from '../../components/resource.ts'
import { tellFailed } from '../../shell/notices.tsx'
import type { SearchSettings } from './search-settings.ts'

interface Judged {
  readonly question: string
  readonly document: string
  /** Above 0 means relevant, 0 means not relevant. */
  readonly grade: number
}

export interface Judging {
  readonly isAny: boolean
  readonly failure: Error | undefined
  readonly canJudge: boolean
  readonly gradeOf: (question: string, document: string) => number | undefined
  /** null removes a judgment. */
  readonly judge: (question: string, document: string, grade: number | null) => void
  readonly reload: () => void
}

export function useJudgments(place: KnowledgeBaseName): Judging {
  const { project, name } = place
  const saved = useResource((signal) => savedJudgments(place, signal), [project, name])
  // Judgments made here are shown before they are stored.
  const [marked, setMarked] = useState<ReadonlyMap<string, number | null>>(new Map())
  const grades = new Map<string, number | null>(
    (saved.data ?? []).map((one) => [keyOf(one.question, one.document), one.grade]),
  )
  for (const [key, grade] of marked) grades.set(key, grade)
  return {
    isAny: [...grades.values()].some((grade) => grade !== null),
    failure: saved.failure,
    canJudge: may('write'),
    gradeOf: (question, document) => grades.get(keyOf(question, document)) ?? undefined,
    judge: (question, document, grade) => {
      const key = keyOf(question, document)
      const before = grades.get(key) ?? null
      setMarked((all) => new Map(all).set(key, grade))
      storeJudgment(place, { question, document, grade }).catch((error) => {
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

function judgmentsTable({ project, name }: KnowledgeBaseName): string {
  return `${quote(project)}.${quote(`${name}_judgments`)}`
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

const SELECT_ONE = `SELECT :question::VARCHAR AS question, :document::VARCHAR AS document,
  :grade::DOUBLE AS grade`

/** Or deletes it for null. A crash loses none: statements add or change rows. @throws ApiError */
export async function storeJudgment(
  place: KnowledgeBaseName,
  { question, document, grade }: Omit<Judged, 'grade'> & { readonly grade: number | null },
): Promise<void> {
  const { project } = place
  const table = judgmentsTable(place)
  const columns = 'question VARCHAR, document VARCHAR, grade DOUBLE'
  await runSql({ sql: `CREATE TABLE IF NOT EXISTS ${table} (${columns})`, project })
  const isSame = 'added.question = old.question AND added.document = old.document'
  for (const sql of [
    `UPDATE ${table} AS old SET grade = added.grade FROM (${SELECT_ONE}) AS added
      WHERE ${isSame} AND added.grade IS NOT NULL`,
    `INSERT INTO ${table} SELECT * FROM (${SELECT_ONE}) AS added WHERE grade IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM ${table} AS old WHERE ${isSame})`,
    `DELETE FROM ${table} AS old
      WHERE EXISTS (SELECT 1 FROM (${SELECT_ONE}) AS added WHERE ${isSame} AND grade IS NULL)`,
  ]) {
    await runSql({ sql, project, params: { question, document, grade } })
  }
}

/** Measures searches like this one by the judgments. */
export function evaluateStatement(
  place: KnowledgeBaseName,
  { mode, alpha, fusion, k }: Pick<SearchSettings, 'mode' | 'alpha' | 'fusion' | 'k'>,
): string {
  const isHybrid = mode === 'hybrid'
  const options = [
    `test_table = ${literal(judgmentsTable(place))}`,
    'per_question = true',
    `k = ${k}`,
    `mode = '${mode}'`,
    ...(isHybrid && alpha !== null ? [`alpha = ${alpha}`] : []),
    ...(isHybrid && fusion !== null ? [`fusion = ${literal(fusion)}`] : []),
  ]
  const kb = `${quote(place.project)}.${quote(place.name)}`
  return `EVALUATE KNOWLEDGE_BASE ${kb}\nUSING ${options.join(',\n  ')}`
}
