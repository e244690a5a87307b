/** The tabs with statements, and the list of tables. */
import { useState } from 'preact/hooks'
import { type NamedTable, written } from '../../api/sql.ts'
import { Button, Icon } from '../../components/button.tsx'
import { EmptyState, Failure, Loading } from '../../components/failure.tsx'
import type { Resource } from '../../components/resource.ts'
import { forgetRuns } from './runs.ts'
import { closeTab, openTab, showTab, tabs } from './sql-tabs.ts'

export function TabRow() {
  const [undo, setUndo] = useState<() => void>()
  const { open, current } = tabs.value
  return (
    <div class="sql-tabs" role="group" aria-label="Statements">
      {open.map(({ id, name }) => (
        <span key={id} class={`sql-tab ${id === current ? 'current' : ''}`}>
          <button
            type="button"
            class="text-button"
            aria-pressed={id === current}
            onClick={() => showTab(id)}
          >
            <span class="one-line" dir="auto">
              {name}
            </span>
          </button>
          <button
            type="button"
            class="text-button"
            aria-label={`Close ${name}`}
            onClick={() => {
              const restore = closeTab(id)
              forgetRuns(id)
              setUndo(() => restore)
            }}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      <Button look="small quiet" icon="plus" label="New" onClick={() => openTab()} />
      {undo && (
        <Button
          look="small"
          label="Reopen the closed tab"
          onClick={() => {
            undo()
            setUndo(undefined)
          }}
        />
      )}
    </div>
  )
}

const SHOWN_MAX = 300

/** The tables that statements can name, with their columns. A click inserts a name. */
export function SchemaList(props: {
  readonly of: Resource<readonly NamedTable[]>
  readonly onInsert: (text: string) => void
  readonly onPreview: (table: NamedTable) => void
}) {
  const { of, onInsert, onPreview } = props
  const [typed, setTyped] = useState('')
  const { data: tables, failure, reload } = of
  if (failure && tables === undefined) return <Failure error={failure} onRetry={reload} />
  if (tables === undefined) return <Loading what="the tables" />
  const found = tables.filter(({ schema, name }) => {
    return `${schema}.${name}`.toLowerCase().includes(typed.toLowerCase())
  })
  return (
    <aside class="sql-schema" aria-label="Tables">
      <input
        type="search"
        aria-label="Find a table"
        placeholder="Find a table"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      {tables.length === 0 && (
        <EmptyState icon="database" title="No tables yet">
          <p class="small">
            <a href="/">Load the sample or drop files</a> to see tables here.
          </p>
        </EmptyState>
      )}
      <ul>
        {found.slice(0, SHOWN_MAX).map((table) => (
          <li key={`${table.schema}.${table.name}`}>
            <details>
              <summary class="one-line">
                <span dir="auto" title={`${table.schema}.${table.name}`}>
                  <span class="quiet">{table.schema}.</span>
                  {table.name}
                </span>
              </summary>
              <div class="row">
                <Button
                  look="small"
                  label="Insert its name"
                  onClick={() => onInsert(`${written(table.schema)}.${written(table.name)}`)}
                />
                <Button look="small" icon="play" label="50 rows" onClick={() => onPreview(table)} />
              </div>
              <ul>
                {table.columns.map(({ name, type }) => (
                  <li key={name}>
                    <button
                      type="button"
                      class="text-button sql-column"
                      onClick={() => onInsert(written(name))}
                    >
                      <span dir="auto">{name}</span>
                      <span class="quiet small">{type}</span>
                    </button>
                  </li>
                ))}
              </ul>
            </details>
          </li>
        ))}
      </ul>
    </aside>
  )
}
