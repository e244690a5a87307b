/** What an agent may read, picked from what there is: knowledge bases, tables, views, files, or all of a project. */
import { useState } from 'preact/hooks'
import { projects } from '../../../api/catalog.ts'
import { runSql } from '../../../api/sql.ts'
import { Button } from '../../../components/button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'
import { counted } from '../../../format/numbers.ts'
import type { AgentDraft } from './agent-draft.ts'
import { type Choice, isCovered, PickGroup } from './pick-group.tsx'

interface DataFieldsProps {
  readonly draft: AgentDraft
  readonly onChange: (changes: Partial<AgentDraft>) => void
}

export function DataFields({ draft, onChange }: DataFieldsProps) {
  const [typed, setTyped] = useState('')
  const tables = useResource(readTables, ['tables for agents'])
  const knowledgeBases = (projects.value ?? []).flatMap(({ name, knowledgeBases: own }) => {
    return own.map((one): Choice => ({ schema: name, name: one.name, kind: '' }))
  })
  const all = [...knowledgeBases, ...(tables.data ?? [])]
  const isKnown = tables.data !== undefined && projects.value !== undefined
  const isMissing = (name: string) => isKnown && !all.some((choice) => isCovered(choice, [name]))
  const isListed = all.some(({ schema, name }) => `${schema}.${name}` === typed)
  const canAdd = typed.includes('.') && !isListed && !draft.tables.includes(typed)
  const picked = [
    ...draft.knowledgeBases.map((name) => ({ name, field: 'knowledgeBases' as const })),
    ...draft.tables.map((name) => ({ name, field: 'tables' as const })),
  ]
  return (
    <fieldset class="agent-fields">
      <legend>What it may read</legend>
      {picked.length === 0 ? (
        <p class="small quiet">Nothing yet. It knows only what you choose here.</p>
      ) : (
        <ul class="row agent-picked" aria-label={`Picked: ${counted(picked.length, 'name')}`}>
          {picked.map(({ name, field }) => (
            <li key={`${field} ${name}`} class={`badge ${isMissing(name) ? 'warn' : 'accent'}`}>
              <bdi>{name}</bdi>
              {isMissing(name) && ' is not there'}
              <Button
                look="quiet icon-only small"
                icon="close"
                aria-label={`Do not read ${name}`}
                onClick={() => onChange({ [field]: draft[field].filter((one) => one !== name) })}
              />
            </li>
          ))}
        </ul>
      )}
      <input
        type="search"
        aria-label="Find in the list"
        placeholder="Find in the list, or type a name such as shop.orders"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          // Enter would save the agent.
          if (event.key === 'Enter') event.preventDefault()
        }}
      />
      {canAdd && (
        <Button
          look="small"
          icon="plus"
          onClick={() => {
            onChange({ tables: [...draft.tables, typed] })
            setTyped('')
          }}
        >
          Add the table <bdi>{typed}</bdi>
        </Button>
      )}
      {tables.failure && <Failure error={tables.failure} onRetry={tables.reload} />}
      {!isKnown && tables.isLoading && <Loading what="names" />}
      <div class="agent-data">
        <PickGroup
          label="Knowledge bases"
          choices={knowledgeBases}
          typed={typed}
          picked={draft.knowledgeBases}
          onPick={(names) => onChange({ knowledgeBases: names })}
        />
        <PickGroup
          label="Tables, files and views"
          choices={tables.data ?? []}
          typed={typed}
          picked={draft.tables}
          onPick={(names) => onChange({ tables: names })}
        />
      </div>
    </fieldset>
  )
}

const KINDS: Readonly<Record<string, string>> = { VIEW: 'view', 'BASE TABLE': 'table' }

async function readTables(signal: AbortSignal): Promise<readonly Choice[]> {
  const sql = `SELECT table_schema, table_name, table_type FROM information_schema.tables
WHERE table_schema <> 'information_schema' AND table_type NOT IN ('KNOWLEDGE BASE', 'AGENT')
ORDER BY ALL LIMIT 20000`
  const { rows } = await runSql({ sql, signal })
  return rows.map(([schema, name, type]) => {
    const kind = schema === 'files' ? 'file' : (KINDS[String(type)] ?? '')
    return { schema: String(schema), name: String(name), kind }
  })
}
