/** The buttons of a map: nearer, farther, all of it, and its visible part as a selection. */
import type { RefObject } from 'preact'
import { Button } from '../../components/button.tsx'
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
      <Button label="+" aria-label="Zoom in" onClick={() => zoom(FACTOR)} />
      <Button label="−" aria-label="Zoom out" onClick={() => zoom(1 / FACTOR)} />
      <Button look="small" label="Show all" onClick={showAll} />
      <Button
        look="small"
        label="Select what is visible"
        onClick={() => painter.current && onSelect(painter.current.view)}
      />
    </div>
  )
}
