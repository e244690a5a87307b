/** Forms for inserting a text, web pages, or the rows of a SELECT. */
import { useState } from 'preact/hooks'
import {
  type Insert,
  insertInBackground,
  type KnowledgeBaseName,
} from '../../api/knowledge-bases.ts'
import type { Job, KnowledgeBase } from '../../api/records.ts'
import { draftAt, keepDraft } from '../../components/browser-storage.ts'
import { TextAreaField, TextField } from '../../components/form/field.tsx'
import { Form } from '../../components/form/form.tsx'
import { knownOf } from '../../components/known-name.ts'
import { addressOf } from '../../shell/addresses.ts'

export interface WayInProps extends KnowledgeBaseName {
  readonly onBegun: (job: Job) => void
}

/** The list of jobs shows the outcome. */
async function begin({ project, name, onBegun }: WayInProps, insert: Insert): Promise<void> {
  onBegun(await insertInBackground(project, name, insert))
}

export function AddText(props: WayInProps) {
  const id = useDraft(props, 'id')
  const text = useDraft(props, 'text')
  const known = knownOf('knowledgeBases', props)
  const add = async () => {
    if (known === undefined) return
    const content = known.content_columns[0] ?? 'content'
    const row = {
      ...(id.value === '' ? {} : { [known.id_column]: id.value }),
      [content]: text.value,
    }
    await begin(props, { rows: [row] })
    id.field.onText('')
    text.field.onText('')
  }
  return (
    <Form verb="Add the text" isIncomplete={known === undefined} onSend={add}>
      <TextField
        label="Id"
        hint="A document with the same id is replaced. Leave empty for an automatic id."
        {...id.field}
      />
      <TextAreaField
        label="Text"
        hint="Markdown keeps its headings"
        required
        rows={10}
        {...text.field}
      />
    </Form>
  )
}

export function AddPages(props: WayInProps) {
  const addresses = useDraft(props, 'addresses')
  const limit = useDraft(props, 'limit')
  const depth = useDraft(props, 'depth')
  const domains = useDraft(props, 'domains')
  const [wrong, setWrong] = useState<string>()
  const add = async () => {
    // Only white space separates addresses, because a comma may be part of one.
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
          hint="How many links deep to go from these pages. Leave empty to read only these pages."
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

/** Adds the rows of a SELECT, which can be tried in the SQL view first. */
export function AddRows(props: WayInProps) {
  const sql = useDraft(props, 'sql')
  const known = knownOf('knowledgeBases', props)
  return (
    <Form
      verb="Add the rows"
      onSend={() => begin(props, { query: sql.value })}
      beside={
        sql.value.trim() !== '' && (
          <a class="button" href={addressOf.statement(sql.value)}>
            Look at the rows
          </a>
        )
      }
    >
      <TextAreaField
        label="SELECT"
        hint={known && <Columns of={known} />}
        dir="ltr"
        class="mono"
        required
        spellcheck={false}
        rows={5}
        placeholder="SELECT id, body AS content FROM files.articles"
        {...sql.field}
      />
    </Form>
  )
}

function Columns({ of }: { readonly of: KnowledgeBase }) {
  const { id_column: id, content_columns: content } = of
  return (
    <>
      The id is taken from <code>{id}</code>, the text from <code>{content.join(', ')}</code>; other
      columns become metadata. Each row becomes a document.
    </>
  )
}

/** The form's input for one knowledge base. It survives other views and a reload. */
function useDraft({ project, name }: KnowledgeBaseName, field: string) {
  const key = `eider.draft ${JSON.stringify([project, name, field])}`
  const [value, setValue] = useState(() => draftAt(key))
  const onText = (next: string) => {
    keepDraft(key, next)
    setValue(next)
  }
  return { value, field: { value, onText } }
}
