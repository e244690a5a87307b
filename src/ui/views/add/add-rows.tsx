/** The rows of a SELECT into a knowledge base, after a look at the first of them. */
import { useState } from 'preact/hooks'
import { getKnowledgeBase } from '../../api/knowledge-bases.ts'
import { ApiError } from '../../api/request.ts'
import { type Cell, type Rows, streamSql } from '../../api/sql.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { TextAreaField } from '../../components/form/field.tsx'
import { RecordTable } from '../../components/record-list.tsx'
import { useResource } from '../../components/resource.ts'
import { useBegin, useDraft, type WayInProps } from './use-insert.ts'

const PREVIEW_ROWS = 5
const CELL_CHARS_MAX = 200

export function AddRows(props: WayInProps) {
  const { project, name } = props
  const { text: sql, set: setSql } = useDraft(props, 'sql')
  const [preview, setPreview] = useState<Rows>()
  const { begin, act, failure, isBusy } = useBegin(props)
  const { data: knowledgeBase } = useResource(
    (signal) => getKnowledgeBase(project, name, signal),
    [project, name],
  )
  const look = async () => {
    const isSeen = await act(async () => {
      setPreview(await firstRows(sql, project))
    })
    if (!isSeen) setPreview(undefined)
  }
  const add = async (event: Event) => {
    event.preventDefault()
    if (await begin({ query: sql })) setPreview(undefined)
  }
  return (
    <form class="stack" onSubmit={add}>
      <TextAreaField
        label="SELECT"
        hint={<Columns knowledgeBase={knowledgeBase} />}
        dir="ltr"
        class="mono"
        required
        spellcheck={false}
        rows={5}
        placeholder="SELECT id, body AS content FROM files.articles"
        value={sql}
        onText={setSql}
      />
      {failure && <Failure error={failure} />}
      {preview && <Preview rows={preview} textColumns={knowledgeBase?.content_columns} />}
      <div class="row">
        <Button label="Show the first rows" disabled={sql.trim() === ''} onClick={look} />
        <Button type="submit" look="primary" label="Add the rows" aria-disabled={isBusy} />
      </div>
    </form>
  )
}

/** Of a million rows as quickly as of ten: the statement ends with the first. @throws SqlError, ApiError */
async function firstRows(sql: string, project: string): Promise<Rows> {
  const enough = new AbortController()
  let columns: readonly string[] = []
  const rows: (readonly Cell[])[] = []
  try {
    await streamSql(
      { sql, project, signal: enough.signal, isReadOnly: true },
      {
        columns: (all) => {
          columns = all.map(({ name }) => name)
        },
        rows: (some) => {
          rows.push(...some.slice(0, PREVIEW_ROWS - rows.length))
          if (rows.length >= PREVIEW_ROWS) enough.abort(new DOMException('Enough', 'AbortError'))
        },
        warned: () => {},
        changed: () => {},
      },
    )
  } catch (error) {
    const isNoQuery = error instanceof ApiError && error.code === 'sql_not_a_query'
    if (isNoQuery) throw NOT_A_SELECT
    if (!enough.signal.aborted) throw error
  }
  return { columns, rows }
}

const NOT_A_SELECT = new ApiError({
  code: 'sql_not_a_query',
  status: 400,
  title: 'This statement returns no rows',
  message: 'Only the rows of a SELECT can be added. It has not been run',
})

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
      columns become metadata. Each row becomes a document.
    </>
  )
}

interface PreviewProps {
  readonly rows: Rows
  readonly textColumns: readonly string[] | undefined
}

function Preview({ rows: { columns, rows }, textColumns = [] }: PreviewProps) {
  const hasText = textColumns.some((text) => columns.some((one) => isSame(one, text)))
  return (
    <>
      {rows.length === 0 && <p role="status">The statement returns no rows.</p>}
      {!hasText && textColumns[0] !== undefined && (
        <p class="bad" role="alert">
          No column is the text. Name one of them so: <code>SELECT … AS {textColumns[0]}</code>
        </p>
      )}
      {rows.length > 0 && (
        <RecordTable
          label="The first rows"
          class="add-preview"
          look=""
          rows={rows}
          columns={columns.map((title, at) => ({
            title,
            cell: (row: readonly unknown[]) => shownCell(row[at]),
          }))}
        />
      )}
    </>
  )
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

function shownCell(cell: unknown): string {
  if (cell === null || cell === undefined) return '—'
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell)
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX)} …` : text
}
