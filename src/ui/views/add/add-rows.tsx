/** The rows of a SELECT into a knowledge base, after a look at the first of them. */
import { useState } from 'preact/hooks'
import { getKnowledgeBase } from '../../api/knowledge-bases.ts'
import { type Rows, runSql } from '../../api/sql.ts'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useAction, useResource } from '../../components/resource.ts'
import { useBegin, type WayInProps } from './use-begin.ts'

const PREVIEW_ROWS = 5
const CELL_CHARS_MAX = 200

export function AddRows(props: WayInProps) {
  const { project, name } = props
  const [sql, setSql] = useState('')
  const [preview, setPreview] = useState<Rows>()
  const { act, failure: refusal } = useAction()
  const { begin, failure, isBusy } = useBegin(props)
  const { data: knowledgeBase } = useResource(
    (signal) => getKnowledgeBase(project, name, signal),
    [project, name],
  )
  const look = async () => {
    const isSeen = await act(async () => {
      const query = sql.replace(/;\s*$/, '')
      setPreview(await runSql({ sql: `SELECT * FROM (${query}\n) LIMIT ${PREVIEW_ROWS}`, project }))
    })
    if (!isSeen) setPreview(undefined)
  }
  const add = async (event: Event) => {
    event.preventDefault()
    if (await begin({ query: sql })) setPreview(undefined)
  }
  const shownFailure = refusal ?? failure
  return (
    <form class="stack" onSubmit={add}>
      <Field label="SELECT" hint={<Columns knowledgeBase={knowledgeBase} />}>
        {(control) => (
          <textarea
            {...control}
            class="mono"
            required
            spellcheck={false}
            rows={5}
            placeholder="SELECT id, body AS content FROM files.articles"
            value={sql}
            onInput={(event) => setSql(event.currentTarget.value)}
          />
        )}
      </Field>
      {shownFailure && <Failure error={shownFailure} />}
      {preview && <Preview rows={preview} />}
      <div class="row">
        <button type="button" class="button" disabled={sql.trim() === ''} onClick={look}>
          Show the first rows
        </button>
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          Add the rows
        </button>
      </div>
    </form>
  )
}

interface ColumnsProps {
  readonly knowledgeBase:
    | { readonly id_column: string; readonly content_columns: readonly string[] }
    | undefined
}

function Columns({ knowledgeBase }: ColumnsProps) {
  if (knowledgeBase === undefined) return <>&nbsp;</>
  const { id_column: id, content_columns: content } = knowledgeBase
  return (
    <>
      The id is taken from <code>{id}</code>, the text from <code>{content.join(', ')}</code>; other
      columns become metadata. Each row is a document.
    </>
  )
}

function Preview({ rows: { columns, rows } }: { readonly rows: Rows }) {
  if (rows.length === 0) return <p role="status">The statement gives no rows.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll it
    <section class="add-preview" aria-label="The first rows" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={`${index} ${column}`} dir="auto">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at} dir="auto">
                  {shownCell(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function shownCell(cell: unknown): string {
  if (cell === null || cell === undefined) return '—'
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell)
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX)} …` : text
}
