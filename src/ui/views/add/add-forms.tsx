/** The forms that insert a text, web pages or the rows of a SELECT. */
import { useState } from 'preact/hooks'
import { watchJob } from '../../api/jobs.ts'
import {
  getKnowledgeBase,
  type Insert,
  insertInBackground,
  type KnowledgeBaseName,
} from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import { ApiError } from '../../api/request.ts'
import { type Cell, type Rows, streamSql } from '../../api/sql.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { TextAreaField, TextField } from '../../components/form/field.tsx'
import { Form } from '../../components/form/form.tsx'
import { RecordTable } from '../../components/record-list.tsx'
import { useAction, useResource } from '../../components/resource.ts'

export interface WayInProps extends KnowledgeBaseName {
  readonly onBegun: (job: Job) => void
}

/** @param onStored called when all of it was stored, also after the form was left */
async function begin(
  { project, name, onBegun }: WayInProps,
  insert: Insert,
  onStored: () => void = () => {},
): Promise<void> {
  const job = await insertInBackground(project, name, insert)
  onBegun(job)
  const note = ({ state, error_count: leftOut }: Job) => {
    if (state === 'done' && leftOut === 0) onStored()
  }
  // The list of jobs shows how it ends.
  void watchJob(job.id, note, new AbortController().signal).catch(() => {})
}

function useKnowledgeBase({ project, name }: KnowledgeBaseName) {
  return useResource((signal) => getKnowledgeBase(project, name, signal), [project, name])
}

/** One document, typed or pasted. */
export function AddText(props: WayInProps) {
  const id = useDraft(props, 'id')
  const text = useDraft(props, 'text')
  const { data, failure } = useKnowledgeBase(props)
  const add = async () => {
    if (data === undefined) return
    const content = data.content_columns[0] ?? 'content'
    const row = {
      ...(id.value === '' ? {} : { [data.id_column]: id.value }),
      [content]: text.value,
    }
    await begin(props, { rows: [row] }, () => {
      id.clear(id.value)
      text.clear(text.value)
    })
  }
  return (
    <Form verb="Add the text" isIncomplete={data === undefined} onSend={add}>
      <TextField
        label="Id"
        hint="Its name in this knowledge base. A document with the same id is replaced. Leave empty to have one made."
        {...id.field}
      />
      <TextAreaField
        label="Text"
        hint="Markdown keeps its headings"
        required
        rows={10}
        {...text.field}
      />
      {failure && <Failure error={failure} />}
    </Form>
  )
}

/** Web pages: their addresses, and how far to follow links. */
export function AddPages(props: WayInProps) {
  const addresses = useDraft(props, 'addresses')
  const limit = useDraft(props, 'limit')
  const depth = useDraft(props, 'depth')
  const domains = useDraft(props, 'domains')
  const [wrong, setWrong] = useState<string>()
  const add = async () => {
    // A comma may be part of an address.
    const urls = split(addresses.value, /\s+/)
    const bad = urls.find((url) => !/^https?:\/\/./.test(url))
    setWrong(bad === undefined ? undefined : `Not a web address: ${bad}`)
    if (bad !== undefined) return
    const allowed = split(domains.value, /[\s,]+/)
    await begin(props, {
      urls,
      crawl_depth: Number(depth.value),
      ...(limit.value === '' ? {} : { limit: Number(limit.value) }),
      ...(allowed.length === 0 ? {} : { filters: { allowed_domains: allowed } }),
    })
  }
  return (
    <Form verb="Add the pages" onSend={add}>
      <TextAreaField
        label="Addresses"
        hint="One per line. The server fetches them."
        error={wrong}
        required
        rows={4}
        placeholder="https://example.org/handbook"
        {...addresses.field}
      />
      <div class="grid">
        <TextField
          label="Follow links"
          hint="How many links away from these pages. Leave empty for these pages only."
          type="number"
          min={0}
          max={1000}
          placeholder="0"
          {...depth.field}
        />
        <TextField
          label="Maximum pages"
          hint="Leave empty for no limit"
          type="number"
          min={1}
          max={1_000_000}
          {...limit.field}
        />
        <TextField
          label="Only these hosts"
          hint="Leave empty for the hosts of the addresses"
          placeholder="docs.example.org"
          {...domains.field}
        />
      </div>
    </Form>
  )
}

function split(text: string, between: RegExp): string[] {
  return text.split(between).filter((word) => word !== '')
}

const PREVIEW_ROWS = 5
const CELL_CHARS_MAX = 200

/** The rows of a SELECT, with a preview of the first ones. */
export function AddRows(props: WayInProps) {
  const sql = useDraft(props, 'sql')
  const [preview, setPreview] = useState<Rows>()
  const { act, failure } = useAction()
  const { data: knowledgeBase } = useKnowledgeBase(props)
  const look = async () => {
    setPreview(undefined)
    await act(async () => setPreview(await firstRows(sql.value, props.project)))
  }
  const add = async () => {
    await begin(props, { query: sql.value })
    setPreview(undefined)
  }
  return (
    <Form
      verb="Add the rows"
      onSend={add}
      beside={
        <Button label="Show the first rows" disabled={sql.value.trim() === ''} onClick={look} />
      }
    >
      <TextAreaField
        label="SELECT"
        hint={<Columns knowledgeBase={knowledgeBase} />}
        dir="ltr"
        class="mono"
        required
        spellcheck={false}
        rows={5}
        placeholder="SELECT id, body AS content FROM files.articles"
        {...sql.field}
      />
      {failure && <Failure error={failure} />}
      {preview && <Preview rows={preview} textColumns={knowledgeBase?.content_columns} />}
    </Form>
  )
}

/** As fast for a million rows as for ten: the statement ends with the first rows. @throws SqlError, ApiError */
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

function Columns(props: {
  readonly knowledgeBase:
    | { readonly id_column: string; readonly content_columns: readonly string[] }
    | undefined
}) {
  const { knowledgeBase } = props
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

/** Longer ones last as long as the page: what a tab may store is limited. */
const STORED_CHARS_MAX = 500_000

const texts = new Map<string, string>()

interface Draft {
  readonly value: string
  /** For the field that it is typed into. */
  readonly field: { readonly value: string; readonly onText: (text: string) => void }
  /** If it has not changed since it was `sent`. */
  readonly clear: (sent: string) => void
}

/** Form input per knowledge base: it survives opening another view and reloading the page. */
function useDraft({ project, name }: KnowledgeBaseName, field: string): Draft {
  const key = `eider.draft ${JSON.stringify([project, name, field])}`
  const [text, setText] = useState(() => kept(key))
  const set = (next: string) => {
    keep(key, next)
    setText(next)
  }
  return {
    value: text,
    field: { value: text, onText: set },
    clear: (sent) => {
      if (kept(key) === sent) set('')
    },
  }
}

function kept(key: string): string {
  const text = texts.get(key)
  if (text !== undefined) return text
  try {
    return sessionStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

function keep(key: string, text: string): void {
  texts.set(key, text)
  try {
    if (text === '' || text.length > STORED_CHARS_MAX) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, text)
  } catch {
    // It stays in memory.
  }
}
