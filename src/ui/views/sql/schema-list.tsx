/** What statements can name: tables, knowledge bases, views and files with their columns. A click writes the name. */
import { useState } from 'preact/hooks'
import { type NamedTable, written } from '../../api/sql.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState, Failure, Loading } from '../../components/failure.tsx'

interface SchemaListProps {
  readonly tables: readonly NamedTable[] | undefined
  readonly failure: Error | undefined
  readonly onRetry: () => void
  readonly onInsert: (text: string) => void
  readonly onPreview: (table: NamedTable) => void
}

const SHOWN_MAX = 300

export function SchemaList({ tables, failure, onRetry, onInsert, onPreview }: SchemaListProps) {
  const [typed, setTyped] = useState('')
  if (failure && tables === undefined) return <Failure error={failure} onRetry={onRetry} />
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
            <a href="/">Load the sample or drop files</a>, and they are tables here.
          </p>
        </EmptyState>
      )}
      <ul>
        {found.slice(0, SHOWN_MAX).map((table) => (
          <li key={`${table.schema}.${table.name}`}>
            <details>
              <summary>
                <span class="one-line" dir="auto" title={`${table.schema}.${table.name}`}>
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
                      class="sql-column"
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
