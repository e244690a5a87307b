/**
 * Databases on other servers: add them with a connection test, browse them, and sync them into
 * knowledge bases.
 */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { DEFAULT_PROJECT, quote } from '../../../core/domain/names.ts'
import { projects, refreshCatalog } from '../../api/catalog.ts'
import { addSource, createKnowledgeBase, runSource } from '../../api/knowledge-bases.ts'
import type { NamedDatabase } from '../../api/records.ts'
import { ApiError, path, request } from '../../api/request.ts'
import { may } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { DialogButton, RemoveButton, TryButton } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/failure.tsx'
import { FormDialog, type InputField, Inputs, type Values } from '../../components/form/form.tsx'
import { knowledgeBaseChoices } from '../../components/known-name.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Details, Entries, Entry, RecordList } from '../../components/record-list.tsx'
import { useRequest } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellDone } from '../../shell/notices.tsx'
import { SCHEDULES } from './source-list.tsx'

export function ConnectionsView() {
  const all = useRequest<readonly NamedDatabase[]>('/api/databases')
  const connections = {
    ...all,
    data: all.data?.filter(({ type, engine }) => type === 'data' && engine !== 'files'),
  }
  const mayAdd = may('admin')
  const empty = (
    <EmptyState icon="link" title="No connections yet">
      <p>
        Connect a database to query its tables with SQL, and to keep a knowledge base in sync with
        them. Nothing is copied until you sync.
      </p>
      {!mayAdd && <p class="quiet">Admins add connections.</p>}
    </EmptyState>
  )
  return (
    <>
      <PageHeader title="Connections">
        {mayAdd && (
          <DialogButton look="primary" icon="plus" label="Connect">
            {(onClose) => <NewConnection onClose={onClose} onAdded={all.reload} />}
          </DialogButton>
        )}
      </PageHeader>
      <Entries of={connections} what="the connections" empty={empty}>
        {(one) => <Connection key={one.name} of={one} onRemoved={all.reload} />}
      </Entries>
    </>
  )
}

function Connection(props: { readonly of: NamedDatabase; readonly onRemoved: () => void }) {
  const { of: database, onRemoved } = props
  const { name, engine, connection_data: given = {} } = database
  const at = path`/api/databases/${name}`
  const place = given.url ?? given.db_file ?? given.host
  const beside = (
    <>
      <span class="badge">{engine}</span>
      {may('admin') && (
        <>
          <Test address={`${at}/check`} />
          <RemoveButton verb="Remove" icon="trash" name={name} address={at} onDone={onRemoved}>
            Statements can no longer read its tables. Synced documents are kept.
          </RemoveButton>
        </>
      )}
    </>
  )
  return (
    <Entry title={name} beside={beside}>
      <p class="small quiet">{[place, given.database].filter(Boolean).join(' · ')}</p>
      <Details head={<summary>Tables</summary>}>
        <Tables of={name} />
      </Details>
    </Entry>
  )
}

/** The answers of both checks, for a stored and for a new connection. */
type Check =
  | { readonly success: boolean; readonly error_message: string | null }
  | { readonly status: string; readonly detail?: string }

/** Connects once. */
function Test({ address, json }: { readonly address: string; readonly json?: unknown }) {
  const attempt = async () => {
    const check = await request<Check>(address, { method: 'POST', ...(json ? { json } : {}) })
    const isThere = 'success' in check ? check.success : check.status === 'success'
    const trouble = 'success' in check ? check.error_message : check.detail
    if (!isThere) throw new Error(trouble ?? 'It does not respond')
    return 'Connected'
  }
  return <TryButton look="small" label="Test" attempt={attempt} />
}

function Tables({ of: database }: { readonly of: string }) {
  const tables = useRequest<readonly { readonly name: string }[]>(
    path`/api/databases/${database}/tables`,
  )
  const [synced, setSynced] = useState<string>()
  return (
    <RecordList of={tables} what="the tables" empty={<p class="quiet">It has no tables.</p>}>
      {(items) => (
        <>
          <ul class="list add-files" aria-label={`Tables of ${database}`}>
            {items.map(({ name }) => (
              <li key={name} class="row">
                <a
                  class="grow"
                  href={addressOf.statement(
                    `SELECT * FROM ${quote(database)}.${quote(name)} LIMIT 100`,
                  )}
                >
                  {name}
                </a>
                {may('write') && (
                  <Button
                    look="small"
                    label="Sync into a knowledge base"
                    aria-label={`Sync ${name} into a knowledge base`}
                    onClick={() => setSynced(name)}
                  />
                )}
              </li>
            ))}
          </ul>
          {synced !== undefined && (
            <SyncTable {...{ database, table: synced }} onClose={() => setSynced(undefined)} />
          )}
        </>
      )}
    </RecordList>
  )
}

const NEW = ''
function SyncTable(props: {
  readonly database: string
  readonly table: string
  readonly onClose: () => void
}) {
  const { database, table, onClose } = props
  const { route } = useLocation()
  const [values, setValues] = useState<Values>({ name: table, id: 'id', schedule: 'every hour' })
  const details = useRequest<{ readonly columns: readonly { readonly name: string }[] }>(
    path`/api/databases/${database}/tables/${table}`,
  )
  const columns = (details.data?.columns ?? []).map(({ name }) => name)
  const { into = NEW, name = '', id = '', schedule = '' } = values
  const text = values.text || columns.find((column) => column !== id) || ''
  const { places, options } = knowledgeBaseChoices()
  const choices = (names: readonly string[]) => names.map((one) => [one, one] as const)
  const sync = async () => {
    const project = projects.value?.[0]?.name ?? DEFAULT_PROJECT
    const place = places.find(({ key }) => key === into) ?? { project, name: name.trim() }
    if (into === NEW) {
      const definition = { name: place.name, id_column: id, content_columns: [text] }
      await createKnowledgeBase(place.project, definition)
      await refreshCatalog().catch(() => {})
    }
    const source = await addSource(place.project, place.name, {
      name: `${database}_${table}`,
      kind: 'table',
      table: `${quote(database)}.${quote(table)}`,
      ...(schedule === '' ? {} : { schedule }),
    })
    await runSource(source)
    route(`${addressOf.addDocuments(place.project, place.name)}?from=sources`)
  }
  const ids = columns.includes(id) ? columns : [id, ...columns]
  const ofNew: readonly InputField[] = [
    { name: 'name', label: 'Name', isRequired: true },
    { name: 'id', label: 'Id column', hint: 'Identifies each row', options: choices(ids) },
    { name: 'text', label: 'Text column', hint: 'The text to search', options: choices(columns) },
  ]
  return (
    <FormDialog title={`Sync ${table}`} verb="Sync" onSubmit={sync} onClose={onClose}>
      <Inputs
        fields={[
          { name: 'into', label: 'Knowledge base', options: [[NEW, 'A new one'], ...options] },
          ...(into === NEW ? ofNew : []),
          { name: 'schedule', label: 'Schedule', options: SCHEDULES },
        ]}
        values={{ ...values, text }}
        // A suggested column follows the id column until the user chooses one.
        onChange={(next) => {
          setValues(next.text === text ? { ...next, text: values.text ?? '' } : next)
        }}
      />
    </FormDialog>
  )
}

const ENGINES = [
  ['postgres', 'PostgreSQL'],
  ['mysql', 'MySQL or MariaDB'],
  ['sqlite', 'SQLite file'],
  ['duckdb', 'DuckDB file'],
] as const

/** The fields of a connection, with the parameters' names in the API. */
function parameterFields(engine: string): readonly InputField[] {
  if (engine === 'sqlite' || engine === 'duckdb') {
    const hint = 'Path below the folder in EIDER_SOURCES_DIR'
    return [{ name: 'db_file', label: 'File', isRequired: true, hint }]
  }
  const port = engine === 'mysql' ? '3306' : '5432'
  return [
    { name: 'host', label: 'Host', isRequired: true, placeholder: '127.0.0.1' },
    { name: 'port', label: 'Port', kind: 'number', placeholder: port },
    { name: 'database', label: 'Database' },
    { name: 'user', label: 'User' },
    { name: 'password', label: 'Password', kind: 'password' },
  ]
}

function NewConnection(props: { readonly onAdded: () => void; readonly onClose: () => void }) {
  const { onAdded, onClose } = props
  const [values, setValues] = useState<Values>({ engine: 'postgres' })
  const { engine = '', name = '' } = values
  const fields = parameterFields(engine)
  const parameters = Object.fromEntries(
    fields.flatMap(({ name: field, kind }) => {
      const text = values[field] ?? ''
      return text === '' ? [] : [[field, kind === 'number' ? Number(text) : text]]
    }),
  )
  const add = async () => {
    const database = { name: name.trim(), engine, parameters }
    const json = { database, check_connection: true }
    const made = await request<NamedDatabase | Check>('/api/databases', { method: 'POST', json })
    if ('status' in made) {
      const message = made.detail ?? 'It does not respond'
      throw new ApiError({ code: 'source_failed', status: 200, title: 'No connection', message })
    }
    tellDone(`Connected ${database.name}`)
    onAdded()
  }
  return (
    <FormDialog title="Connect a database" verb="Connect" onSubmit={add} onClose={onClose}>
      <Inputs
        fields={[
          { name: 'engine', label: 'Engine', options: ENGINES },
          { name: 'name', label: 'Name', hint: 'Name in SQL, such as shop', isRequired: true },
          ...fields,
        ]}
        values={values}
        onChange={setValues}
      />
      <div class="row">
        <Test address="/api/databases/status" json={{ engine, ...parameters }} />
      </div>
    </FormDialog>
  )
}
