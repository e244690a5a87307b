/** The statements at hand. */
import { useState } from 'preact/hooks'
import { Icon } from '../../components/icon.tsx'
import { forgetRuns } from './runs.ts'
import { changeTab, closeTab, openTab, showTab, tabs } from './sql-tabs.ts'

export function TabRow() {
  const [renaming, setRenaming] = useState('')
  const [undo, setUndo] = useState<() => void>()
  const { open, current } = tabs.value
  return (
    <div class="sql-tabs" role="group" aria-label="Statements">
      {open.map(({ id, name }) => (
        <span key={id} class={`sql-tab ${id === current ? 'current' : ''}`}>
          {renaming === id ? (
            <input
              aria-label="Name of the statement"
              value={name}
              autofocus
              onBlur={() => setRenaming('')}
              onKeyDown={(event) => {
                if (event.key === 'Enter' || event.key === 'Escape') setRenaming('')
              }}
              onInput={(event) => changeTab(id, { name: event.currentTarget.value })}
            />
          ) : (
            <button
              type="button"
              aria-pressed={id === current}
              title="F2 or a double click renames it"
              onClick={() => showTab(id)}
              onKeyDown={(event) => {
                if (event.key === 'F2') setRenaming(id)
              }}
              onDblClick={() => setRenaming(id)}
            >
              <span class="one-line" dir="auto">
                {name}
              </span>
            </button>
          )}
          <button
            type="button"
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
      <button type="button" class="button small quiet" onClick={() => openTab()}>
        <Icon name="plus" />
        New
      </button>
      {undo && (
        <button
          type="button"
          class="button small"
          onClick={() => {
            undo()
            setUndo(undefined)
          }}
        >
          Undo the close
        </button>
      )}
    </div>
  )
}
