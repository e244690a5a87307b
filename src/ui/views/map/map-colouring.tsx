/** What colours the points: their regions, a column, or how near they are to a text; and what dragging does. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { projects } from '../../api/catalog.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { Button } from '../../components/button.tsx'
import { useShortcuts } from '../../shell/keyboard.tsx'
import type { PointerTool } from './pointer-moves.ts'

interface MapColouringProps extends KnowledgeBaseName {
  /** Empty: none. */
  readonly column: string
  readonly searched: string
  readonly tool: PointerTool
  readonly onTool: (tool: PointerTool) => void
  /** What stands in the address. */
  readonly onColour: (by: Readonly<Record<string, string>>) => void
}

export function MapColouring(props: MapColouringProps) {
  const { project, name, column, searched, tool, onTool, onColour } = props
  const [text, setText] = useState(searched)
  // Back and Forward change it too.
  useLayoutEffect(() => setText(searched), [searched])
  const box = useRef<HTMLInputElement>(null)
  const toggle = () => onTool(tool === 'lasso' ? 'move' : 'lasso')
  useShortcuts([
    { keys: '/', does: 'Colour by nearness to a text', run: () => box.current?.select() },
    { keys: 'l', does: 'Draw a line around chunks, or move the map again', run: toggle },
  ])
  const kb = projects.value
    ?.find((one) => one.name === project)
    ?.knowledgeBases.find((one) => one.name === name)
  const columns = Object.keys(kb?.metadata_types ?? {})
  const shown = column === '' || columns.includes(column) ? columns : [column, ...columns]
  return (
    <div class="row map-tools">
      <label class="row small">
        Colour by
        <select
          class="map-column"
          value={searched === '' ? column : '\n'}
          onChange={({ currentTarget: { value } }) => {
            onColour(value === '' ? {} : { colour: value })
            setText('')
          }}
        >
          <option value="">region</option>
          {searched !== '' && <option value={'\n'}>nearness</option>}
          {shown.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <form
        class="row grow map-search"
        onSubmit={(event) => {
          event.preventDefault()
          onColour(text.trim() === '' ? {} : { q: text.trim() })
        }}
      >
        <input
          ref={box}
          type="search"
          class="grow"
          aria-label="Colour by nearness to a text"
          placeholder="or by nearness to a text"
          value={text}
          dir="auto"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <Button type="submit" label="Show" />
      </form>
      <Button
        label="Lasso"
        aria-pressed={tool === 'lasso'}
        title="Draw a line around points to select them"
        onClick={toggle}
      />
    </div>
  )
}
