/** Takes questions with the ids of their right documents from a file or table into the judgments. */
import { useState } from 'preact/hooks'
import { quoted, runSql } from '../../../api/sql.ts'
import { Dialog } from '../../../components/dialog.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useAction, useResource } from '../../../components/resource.ts'
import { tellDone } from '../../../shell/notices.tsx'
import type { KnowledgeBaseAddress } from '../../knowledge-base/knowledge-base-frame.tsx'
import { addRows } from './judgments.ts'

interface ImportQuestionsProps {
  readonly place: KnowledgeBaseAddress
  readonly onDone: () => void
}

export function ImportQuestions(props: ImportQuestionsProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button type="button" class="button" onClick={() => setIsOpen(true)}>
        Import questions
      </button>
      {isOpen && <Chooser {...props} onClose={() => setIsOpen(false)} />}
    </>
  )
}

function Chooser({ place, onDone, onClose }: ImportQuestionsProps & { onClose: () => void }) {
  const sources = useResource((signal) => sourcesOf(signal), [])
  const { act, failure } = useAction()
  const take = async (source: Source) => {
    await act(async () => {
      await imported(place, source)
      tellDone(`The questions of ${source.table} were imported`)
      onDone()
      onClose()
    })
  }
  return (
    <Dialog title="Import questions" onClose={onClose}>
      <p class="quiet">
        Files and tables with a column <code>question</code> or <code>query</code> and a column{' '}
        <code>document_id</code>, <code>doc_id</code> or <code>document</code>. A column{' '}
        <code>grade</code> is read too; without one each document counts as right.
      </p>
      {failure && <Failure error={failure} />}
      {sources.failure && <Failure error={sources.failure} onRetry={sources.reload} />}
      {sources.isLoading && <Loading what="files and tables" />}
      {sources.data?.length === 0 && (
        <EmptyState icon="file" title="There is none yet">
          <p>
            Upload such a file <a href="/">at home</a>, as CSV, JSON or Parquet.
          </p>
        </EmptyState>
      )}
      <ul class="search-values">
        {(sources.data ?? []).map((source) => (
          <li key={`${source.schema}.${source.table}`}>
            <button type="button" class="button" onClick={() => take(source)}>
              <bdi>
                {source.schema}.{source.table}
              </bdi>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

interface Source {
  readonly schema: string
  readonly table: string
  readonly question: string
  readonly document: string
  readonly grade: string | undefined
}

const QUESTIONS = ['question', 'query']
const DOCUMENTS = ['document_id', 'doc_id', 'document']
const GRADES = ['grade', 'score', 'relevance']

async function sourcesOf(signal: AbortSignal): Promise<readonly Source[]> {
  const names = [...QUESTIONS, ...DOCUMENTS, ...GRADES].map((name) => `'${name}'`).join(', ')
  const { rows } = await runSql({
    sql: `SELECT table_schema, table_name, column_name FROM information_schema.columns
      WHERE lower(column_name) IN (${names})`,
    signal,
  })
  const tables = new Map<string, { schema: string; table: string; columns: string[] }>()
  for (const [schema, table, column] of rows) {
    const key = JSON.stringify([schema, table])
    const one = tables.get(key) ?? { schema: String(schema), table: String(table), columns: [] }
    one.columns.push(String(column))
    tables.set(key, one)
  }
  return [...tables.values()].flatMap(({ schema, table, columns }) => {
    const named = (wanted: readonly string[]) => {
      return columns.find((column) => wanted.includes(column.toLowerCase()))
    }
    const [question, document] = [named(QUESTIONS), named(DOCUMENTS)]
    if (question === undefined || document === undefined) return []
    return [{ schema, table, question, document, grade: named(GRADES) }]
  })
}

async function imported(place: KnowledgeBaseAddress, source: Source): Promise<void> {
  const grade = source.grade === undefined ? '1.0' : `CAST(${quoted(source.grade)} AS DOUBLE)`
  const [question, document] = [quoted(source.question), quoted(source.document)]
  const select = `SELECT CAST(${question} AS VARCHAR) AS question,
      CAST(${document} AS VARCHAR) AS document, CAST(max(${grade}) AS DOUBLE) AS grade
    FROM ${quoted(source.schema)}.${quoted(source.table)}
    WHERE ${question} IS NOT NULL AND ${document} IS NOT NULL GROUP BY ALL`
  const others = `concat(document, chr(10), question) NOT IN
    (SELECT concat(${document}, chr(10), ${question})
    FROM ${quoted(source.schema)}.${quoted(source.table)})`
  await addRows(place, { select, others })
}
