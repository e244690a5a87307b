/** The picture of a map: moved by dragging and arrow keys, zoomed by wheel, two fingers, + and -; a click opens a point. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { MapAddress, MapPoints, MapRegion } from '../../api/maps.ts'
import { MapPainter } from './map-painter.ts'
import { MapTip } from './map-tip.tsx'
import { PointIndex } from './point-index.ts'
import { followPointer, keyPressed, type PointerTool, wheeled } from './pointer-moves.ts'
import { toMap, toScreen, wholeMap, zoomed } from './viewport.ts'

interface MapCanvasProps {
  readonly address: MapAddress
  readonly points: MapPoints
  readonly regions: readonly MapRegion[]
  readonly places: Uint8Array
  readonly chosen: ReadonlySet<number> | null
  /** The best of a search. */
  readonly best: readonly number[]
  readonly tool: PointerTool
  readonly onChosen: (points: readonly number[]) => void
  readonly onOpen: (point: number) => void
}

/** How far beside a point the pointer may be. */
const REACH_PIXELS = 12

export function MapCanvas(props: MapCanvasProps) {
  const { address, points, regions, places, chosen, best, tool } = props
  const below = useRef<HTMLCanvasElement>(null)
  const above = useRef<HTMLCanvasElement>(null)
  const painter = useRef<MapPainter | undefined>(undefined)
  const [hovered, setHovered] = useState<number | null>(null)
  const [lasso, setLasso] = useState<readonly (readonly [number, number])[]>([])
  const index = useMemo(() => new PointIndex(points), [points])
  const mask = useMemo(() => maskOf(chosen, points.count), [chosen, points])
  const read = useRef<number | null>(null)
  const latest = useRef(props)
  latest.current = props
  useEffect(() => {
    if (below.current === null || above.current === null) return
    const own = new MapPainter(below.current, above.current)
    painter.current = own
    return watched(above.current, own)
  }, [])
  useEffect(() => {
    const ringed = hovered === null ? best : [...best, hovered]
    painter.current?.show({ points, regions, places, chosen: mask, ringed, lasso })
  }, [points, regions, places, mask, best, hovered, lasso])
  useEffect(() => {
    const element = above.current
    const own = painter.current
    if (element === null || own === undefined) return
    const pointAt = (x: number, y: number) => {
      const [mapX, mapY] = toMap(own.view, x, y)
      return index.nearest(mapX, mapY, REACH_PIXELS / own.view.scale)
    }
    return followPointer(element, {
      tool,
      view: () => own.view,
      onView: (view) => own.look(view),
      onHover: (place) => setHovered(place === null ? null : pointAt(...place)),
      onLine: setLasso,
      onLineEnd: (line) => {
        setLasso([])
        const inside = index.inside(line.map(([x, y]) => toMap(own.view, x, y)))
        latest.current.onChosen(inside)
      },
      onClick: (x, y, isFinger) => {
        const point = pointAt(x, y)
        // A finger cannot point without touching: it reads first, and opens with a second touch.
        const isRead = !isFinger || read.current === point
        read.current = point
        if (!isRead) setHovered(point)
        else if (point !== null) latest.current.onOpen(point)
      },
    })
  }, [index, tool])
  const zoom = (factor: number) => {
    const own = painter.current
    if (own) own.look(zoomed(own.view, factor, own.view.width / 2, own.view.height / 2))
  }
  const chooseVisible = () => {
    const own = painter.current
    if (own === undefined) return
    const [left, top] = toMap(own.view, 0, 0)
    const [right, bottom] = toMap(own.view, own.view.width, own.view.height)
    props.onChosen(index.within(left, top, right, bottom))
  }
  const place = hovered === null ? null : placeOf(painter.current, points, hovered)
  return (
    <div class="map-frame">
      <div
        class="map-surface"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is moved and zoomed by keys
        tabIndex={0}
        role="application"
        aria-label="Map of the chunks. Arrow keys move it, plus and minus zoom, 0 shows all of it. The regions are listed below"
        onKeyDown={(event) => keyPressed(event, painter.current)}
        onWheel={(event) => wheeled(event, painter.current)}
      >
        <canvas ref={below} class="map-points" />
        <canvas ref={above} class={`map-marks ${tool}`} />
      </div>
      {hovered !== null && place !== null && (
        <MapTip address={address} point={hovered} x={place[0]} y={place[1]} />
      )}
      <div class="map-zoom">
        <button type="button" class="button" aria-label="Zoom in" onClick={() => zoom(1.5)}>
          +
        </button>
        <button type="button" class="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.5)}>
          −
        </button>
        <button type="button" class="button small" onClick={() => showAll(painter.current)}>
          Show all
        </button>
        <button type="button" class="button small" onClick={chooseVisible}>
          Select what is visible
        </button>
      </div>
    </div>
  )
}

function showAll(painter: MapPainter | undefined): void {
  if (painter) painter.look(wholeMap(painter.view.width, painter.view.height))
}

function maskOf(chosen: ReadonlySet<number> | null, count: number): Uint8Array | null {
  if (chosen === null) return null
  const mask = new Uint8Array(count)
  for (const point of chosen) mask[point] = 1
  return mask
}

function placeOf(painter: MapPainter | undefined, { x, y }: MapPoints, point: number) {
  if (painter === undefined) return null
  return toScreen(painter.view, x[point] ?? 0, y[point] ?? 0)
}

/** Draws again where the window or the theme changes. @returns what ends that */
function watched(element: HTMLElement, painter: MapPainter): () => void {
  const refresh = () => painter.refresh()
  const sizes = new ResizeObserver(refresh)
  sizes.observe(element)
  const themes = new MutationObserver(refresh)
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  const scheme = matchMedia('(prefers-color-scheme: dark)')
  scheme.addEventListener('change', refresh)
  return () => {
    sizes.disconnect()
    themes.disconnect()
    scheme.removeEventListener('change', refresh)
    painter.close()
  }
}
