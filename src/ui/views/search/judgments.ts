/** Which documents are right for a question: kept in this browser until they are saved in a table of the project. */
import { literal, quoted, runSql } from '../../api/sql.ts'
import type { KnowledgeBaseAddress } from '../knowledge-base/knowledge-base-frame.tsx'

export interface Judged {
  readonly question: string
  readonly document: string
  /** 1: right, 0: wrong, null: neither, any more. */
  readonly grade: number | null
}

export type Judgments = readonly Judged[]

const keyOf = ({ project, name }: KnowledgeBaseAddress) => `eider.judgments.${project}/${name}`

/** Marks that are not saved yet. */
export function unsavedJudgments(place: KnowledgeBaseAddress): Judgments {
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

export function keepUnsaved(place: KnowledgeBaseAddress, judgments: Judgments): void {
  try {
    localStorage.setItem(keyOf(place), JSON.stringify(judgments))
  } catch {
    // A browser that keeps nothing still shows them until the page is closed.
  }
}

/** Later ones win. */
export function withJudgments(before: Judgments, added: Judgments): Judgments {
  const all = new Map(before.map((one) => [`${one.document}\n${one.question}`, one]))
  for (const one of added) all.set(`${one.document}\n${one.question}`, one)
  return [...all.values()]
}

export function tableOf({ project, name }: KnowledgeBaseAddress): string {
  return `${quoted(project)}.${quoted(`${name}_judgments`)}`
}

/** Those of the table; none where there is no table yet. @throws ApiError */
export async function savedJudgments(
  place: KnowledgeBaseAddress,
  signal?: AbortSignal,
): Promise<Judgments> {
  const { project, name } = place
  const found = await runSql({
    sql: `SELECT count(*) FROM information_schema.tables
      WHERE lower(table_schema) = lower(${literal(project)}) AND lower(table_name) = lower(${literal(`${name}_judgments`)})`,
    project,
    signal,
  })
  if (Number(found.rows[0]?.[0]) === 0) return []
  const sql = `SELECT question, document, grade FROM ${tableOf(place)}`
  const { rows } = await runSql({ sql, project, signal })
  return rows.map(([question, document, grade]) => {
    return { question: String(question), document: String(document), grade: Number(grade) }
  })
}

/** Writes the marks into the table, and forgets them here. @throws ApiError */
export async function saveJudgments(place: KnowledgeBaseAddress, added: Judgments): Promise<void> {
  const { project } = place
  const table = tableOf(place)
  const run = (sql: string, params?: Readonly<Record<string, unknown>>) => {
    return runSql({ sql, project, ...(params === undefined ? {} : { params }) })
  }
  await run(
    `CREATE TABLE IF NOT EXISTS ${table} (question VARCHAR, document VARCHAR, grade DOUBLE)`,
  )
  for (const { question, document, grade } of added) {
    const params = { question, document, grade: grade ?? 0 }
    await run(`DELETE FROM ${table} WHERE question = :question AND document = :document`, {
      question,
      document,
    })
    if (grade === null) continue
    await run(`INSERT INTO ${table} SELECT :question, :document, :grade`, params)
  }
  keepUnsaved(place, [])
}
