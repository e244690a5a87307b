/** The rectangle of the keys over a map, and what is said of it. */
import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { counted } from '../../components/numbers.ts'
import { type KeyRectangle, lineAround, rectangleAfter } from './key-rectangle.ts'
import type { MapPainter } from './map-painter.ts'
import type { PointIndex } from './point-index.ts'
import type { Line, PointerTool } from './pointer-moves.ts'
import { toMap } from './viewport.ts'

interface MapRectangleProps {
  readonly tool: PointerTool
  readonly index: PointIndex
  readonly painter: RefObject<MapPainter | undefined>
  /** In units of the map. */
  readonly onLine: (line: Line) => void
}

interface MapRectangle {
  /** In pixels of the window; null: there is none. */
  readonly line: Line | null
  /** @returns whether the key was for it */
  readonly pressed: (event: KeyboardEvent) => boolean
  readonly close: () => void
  /** The map below it was moved or zoomed, or has another size. */
  readonly looked: () => void
  /** How many chunks are in it; null: there is none. */
  readonly count: number | null
}

export function useMapRectangle({ tool, index, painter, onLine }: MapRectangleProps): MapRectangle {
  const [shown, setShown] = useState<KeyRectangle | null>(null)
  // Keys may come faster than frames.
  const latest = useRef<KeyRectangle | null>(null)
  const show = (next: KeyRectangle | null) => {
    latest.current = next
    setShown(next)
  }
  const [lookCount, setLookCount] = useState(0)
  useEffect(() => show(null), [tool])
  const line = useMemo(() => shown && lineAround(shown), [shown])
  const onMap = (drawn: Line): Line => {
    const view = painter.current?.view
    return view ? drawn.map(([x, y]) => toMap(view, x, y)) : []
  }
  const count = useMemo(() => line && index.inside(onMap(line)).length, [line, index, lookCount])
  return {
    line,
    close: () => show(null),
    looked: () => {
      if (latest.current !== null) setLookCount((before) => before + 1)
    },
    count,
    pressed: (event) => {
      const { current } = latest
      const view = painter.current?.view
      if (tool !== 'lasso' || view === undefined || hasOtherKey(event)) return false
      const next = rectangleAfter(event, current, view)
      const isOver = current !== null && (event.key === 'Enter' || event.key === 'Escape')
      if (next === undefined && !isOver) return false
      event.preventDefault()
      if (isOver && event.key === 'Enter') onLine(onMap(lineAround(current)))
      show(next ?? null)
      return true
    },
  }
}

function hasOtherKey({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey
}

/** What can be done while Lasso is on. */
export function LassoHint({ count }: Pick<MapRectangle, 'count'>) {
  return (
    <p class="map-hint small" role="status">
      {count === null
        ? 'Draw a line around points, or press an arrow key in the map for a rectangle.'
        : `${counted(count, 'chunk')} in the rectangle. Arrows move it, Shift with an arrow changes its size, Enter selects, Escape ends.`}
    </p>
  )
}
