/** The statements at hand. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button, Icon } from '../../components/button.tsx'
import { forgetRuns } from './runs.ts'
import { changeTab, closeTab, openTab, showTab, tabs } from './sql-tabs.ts'

export function TabRow() {
  const [renaming, setRenaming] = useState('')
  const [undo, setUndo] = useState<() => void>()
  const row = useRef<HTMLDivElement>(null)
  const { open, current } = tabs.value
  const endRenaming = (id: string, changed: string, isByKey: boolean) => {
    if (changed.trim() !== '') changeTab(id, { name: changed.trim() })
    setRenaming('')
    if (!isByKey) return
    // Its button is back with the next frame.
    requestAnimationFrame(() => {
      const buttons = row.current?.querySelectorAll<HTMLElement>('[aria-pressed]')
      buttons?.[open.findIndex((one) => one.id === id)]?.focus()
    })
  }
  return (
    <div ref={row} class="sql-tabs" role="group" aria-label="Statements">
      {open.map(({ id, name }) => (
        <span key={id} class={`sql-tab ${id === current ? 'current' : ''}`}>
          {renaming === id ? (
            <NameField
              name={name}
              onEnd={(changed, isByKey) => endRenaming(id, changed, isByKey)}
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
      <Button look="small quiet" icon="plus" label="New" onClick={() => openTab()} />
      {undo && (
        <Button
          look="small"
          label="Reopen the closed one"
          onClick={() => {
            undo()
            setUndo(undefined)
          }}
        />
      )}
    </div>
  )
}

/** Enter keeps what was typed, and so does leaving it; Escape does not. */
function NameField({
  name,
  onEnd,
}: {
  readonly name: string
  readonly onEnd: (changed: string, isByKey: boolean) => void
}) {
  const field = useRef<HTMLInputElement>(null)
  const isOver = useRef(false)
  useEffect(() => field.current?.select(), [])
  const end = (changed: string, isByKey: boolean) => {
    if (!isOver.current) onEnd(changed, isByKey)
    isOver.current = true
  }
  return (
    <input
      ref={field}
      aria-label="Name of the statement"
      defaultValue={name}
      maxLength={100}
      onBlur={(event) => end(event.currentTarget.value, false)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') end(event.currentTarget.value, true)
        if (event.key === 'Escape') end(name, true)
      }}
    />
  )
}
