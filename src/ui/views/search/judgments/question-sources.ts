/** Files and tables with questions and the ids of their right documents. */
import { sendFile } from '../../../api/files.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { ApiError } from '../../../api/request.ts'
import { literal, quoted, runSql } from '../../../api/sql.ts'
import { addJudgments } from './judgments.ts'

export interface QuestionSource {
  readonly schema: string
  readonly table: string
  readonly question: string
  readonly document: string
  readonly grade: string | undefined
}

const QUESTIONS = ['question', 'query']
const DOCUMENTS = ['document_id', 'doc_id', 'document']
const GRADES = ['grade', 'score', 'relevance']

/** Those whose columns fit, but not the judgments themselves. @throws ApiError */
export async function questionSources(
  place: KnowledgeBaseName,
  signal: AbortSignal,
): Promise<readonly QuestionSource[]> {
  const names = [...QUESTIONS, ...DOCUMENTS, ...GRADES].map((name) => `'${name}'`).join(', ')
  const sources = await sourcesWhere(`lower(column_name) IN (${names})`, signal)
  const own = `${place.project}.${place.name}_judgments`.toLowerCase()
  return sources.filter(({ schema, table }) => `${schema}.${table}`.toLowerCase() !== own)
}

async function sourcesWhere(condition: string, signal?: AbortSignal) {
  const { rows } = await runSql({
    sql: `SELECT table_schema, table_name, column_name FROM information_schema.columns
      WHERE ${condition}`,
    signal,
  })
  const tables = new Map<string, { schema: string; table: string; columns: string[] }>()
  for (const [schema, table, column] of rows) {
    const key = JSON.stringify([schema, table])
    const one = tables.get(key) ?? { schema: String(schema), table: String(table), columns: [] }
    one.columns.push(String(column))
    tables.set(key, one)
  }
  return [...tables.values()].flatMap((table) => sourceOf(table) ?? [])
}

interface NamedColumns {
  readonly schema: string
  readonly table: string
  readonly columns: readonly string[]
}

function sourceOf({ schema, table, columns }: NamedColumns): QuestionSource | undefined {
  const named = (wanted: readonly string[]) => {
    return columns.find((column) => wanted.includes(column.toLowerCase()))
  }
  const [question, document] = [named(QUESTIONS), named(DOCUMENTS)]
  if (question === undefined || document === undefined) return undefined
  return { schema, table, question, document, grade: named(GRADES) }
}

/**
 * Puts a file on the server, where it is a table like others.
 * @throws ApiError, also where its columns do not fit; what `signal` was aborted with
 */
export async function sentSource(
  place: KnowledgeBaseName,
  file: File,
  signal: AbortSignal,
): Promise<QuestionSource> {
  // A name of its own: it takes the place of the same file as it was before, and of no other.
  const name = `${place.name}_questions_${file.name}`
  const { files } = await sendFile({ name, content: file, replaces: true, signal })
  const [sent] = files
  const [sheet] = sent?.sheets ?? []
  const table = sheet?.table ?? sent?.name ?? name
  const inFiles = `lower(table_schema) = 'files' AND lower(table_name) = lower(${literal(table)})`
  const [source] = await sourcesWhere(inFiles, signal)
  if (source !== undefined) return source
  const columns = (sheet?.columns ?? sent?.columns ?? []).slice(0, 20).join(', ')
  const message = `There is no question in ${file.name} with the id of a document. Its columns: ${columns || 'none'}`
  throw new ApiError({ code: 'invalid_request', status: 400, title: 'No questions found', message })
}

/** Takes them into the judgments; those for the same question and document give way. @throws ApiError */
export async function importedQuestions(
  place: KnowledgeBaseName,
  source: QuestionSource,
): Promise<void> {
  const grade = source.grade === undefined ? '1.0' : `CAST(${quoted(source.grade)} AS DOUBLE)`
  const [question, document] = [quoted(source.question), quoted(source.document)]
  const table = `${quoted(source.schema)}.${quoted(source.table)}`
  const select = `SELECT CAST(${question} AS VARCHAR) AS question,
      CAST(${document} AS VARCHAR) AS document, CAST(max(${grade}) AS DOUBLE) AS grade
    FROM ${table}
    WHERE ${question} IS NOT NULL AND ${document} IS NOT NULL GROUP BY ALL`
  await addJudgments(place, select)
}
