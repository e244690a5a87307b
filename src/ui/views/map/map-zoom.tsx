/** The buttons of a map: nearer, farther, all of it, and its visible part as a selection. */
import type { RefObject } from 'preact'
import { useShortcuts } from '../../shell/keyboard.tsx'
import type { MapPainter } from './map-painter.ts'
import { type Viewport, wholeMap, zoomed } from './viewport.ts'

interface MapZoomProps {
  readonly painter: RefObject<MapPainter | undefined>
  readonly onSelect: (view: Viewport) => void
}

const FACTOR = 1.5

export function MapZoom({ painter, onSelect }: MapZoomProps) {
  const look = (next: (view: Viewport) => Viewport) => {
    painter.current?.look(next(painter.current.view))
  }
  const zoom = (factor: number) => {
    look((view) => zoomed(view, factor, view.width / 2, view.height / 2))
  }
  const showAll = () => look(({ width, height }) => wholeMap(width, height))
  useShortcuts([
    { keys: '+', does: 'Zoom in', run: () => zoom(FACTOR) },
    { keys: '-', does: 'Zoom out', run: () => zoom(1 / FACTOR) },
    { keys: '0', does: 'Show all of the map', run: showAll },
  ])
  return (
    <div class="map-zoom">
      <button type="button" class="button" aria-label="Zoom in" onClick={() => zoom(FACTOR)}>
        +
      </button>
      <button type="button" class="button" aria-label="Zoom out" onClick={() => zoom(1 / FACTOR)}>
        −
      </button>
      <button type="button" class="button small" onClick={showAll}>
        Show all
      </button>
      <button
        type="button"
        class="button small"
        onClick={() => painter.current && onSelect(painter.current.view)}
      >
        Select what is visible
      </button>
    </div>
  )
}
