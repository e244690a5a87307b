/**
 * The picture of a map. It is moved by dragging and with the arrow keys, zoomed with the wheel, two
 * fingers, + and -, and opens points.
 */
import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type MapAddress, type MapPoints, type MapRegion, readChunks } from '../../api/maps.ts'
import { Button } from '../../components/button.tsx'
import { useResource } from '../../components/resource.ts'
import { watchTheme } from '../../components/theme-colours.ts'
import { useShortcuts } from '../../shell/keyboard.tsx'
import {
  lookOf,
  nearestPoint,
  textOfLook,
  toMap,
  toScreen,
  type Viewport,
  viewAt,
  wholeMap,
  zoomed,
} from './map-model.ts'
import { followPointer, keyPressed, wheeled } from './map-moves.ts'
import { MapPainter } from './map-painter.ts'
import type { Coloured } from './point-colours.ts'

interface MapCanvasProps {
  readonly address: MapAddress
  readonly points: MapPoints
  readonly regions: readonly MapRegion[]
  readonly coloured: Coloured
  readonly chosen: ReadonlySet<number> | null
  /** The best results of a search. */
  readonly best: readonly number[]
  /** Called with the visible part for the address; undefined for the whole map. */
  readonly onLook: (text: string | undefined) => void
  /** Selects all visible points. */
  readonly onSelect: (view: Viewport) => void
  readonly onOpen: (point: number) => void
}

/** How close a point must be to the pointer, or to the centre when the map is moved by keys. */
const REACH_PIXELS = 12
const KEY_REACH_PIXELS = 60

export function MapCanvas(props: MapCanvasProps) {
  const { address, points, regions, coloured, chosen, best } = props
  const below = useRef<HTMLCanvasElement>(null)
  const above = useRef<HTMLCanvasElement>(null)
  const painter = useRef<MapPainter | undefined>(undefined)
  const [hovered, setHovered] = useState<number | null>(null)
  const read = useRef<number | null>(null)
  read.current = hovered
  const mask = useMemo(() => maskOf(chosen, points.count), [chosen, points])
  const latest = useRef(props)
  latest.current = props
  const { url } = useLocation()
  useEffect(() => {
    if (below.current === null || above.current === null) return
    const onLook = (view: Viewport) => latest.current.onLook(textOfLook(view))
    const own = new MapPainter(below.current, above.current, onLook)
    painter.current = own
    return watched(above.current, own)
  }, [])
  useEffect(() => {
    if (painter.current) followAddress(painter.current)
  }, [url])
  useEffect(() => {
    const ringed = hovered === null ? best : [...best, hovered]
    const { places } = coloured
    painter.current?.show({ points, regions, places, chosen: mask, ringed })
  }, [points, regions, coloured, mask, best, hovered])
  // On a newer map, the index belongs to another point.
  useEffect(() => setHovered(null), [address])
  const pointAt = (x: number, y: number, reach = REACH_PIXELS) => {
    const own = painter.current
    if (own === undefined) return null
    return nearestPoint(latest.current.points, ...toMap(own.view, x, y), reach / own.view.scale)
  }
  useEffect(() => {
    const element = above.current
    const own = painter.current
    if (element === null || own === undefined) return
    return followPointer(element, {
      view: () => own.view,
      onView: (view) => own.look(view),
      onHover: (place) => setHovered(place === null ? null : pointAt(...place)),
      onClick: (x, y, isFinger) => {
        const point = pointAt(x, y)
        // A finger cannot hover, so the first touch shows the text and the second opens the point.
        const isRead = !isFinger || read.current === point
        setHovered(point)
        if (isRead && point !== null) latest.current.onOpen(point)
      },
    })
  }, [])
  const pressed = (event: KeyboardEvent) => {
    const own = painter.current
    if (own === undefined) return
    if (event.key === 'Enter' && hovered !== null) props.onOpen(hovered)
    if (event.key === 'Escape') setHovered(null)
    // Announces the point in the centre, so that every point can be reached with the keyboard.
    if (keyPressed(event, own)) {
      setHovered(pointAt(own.view.width / 2, own.view.height / 2, KEY_REACH_PIXELS))
    }
  }
  return (
    <>
      <div class="map-frame">
        <div
          class="map-surface"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it is moved and zoomed by keys
          tabIndex={0}
          role="application"
          aria-label="Map of the chunks. Arrow keys move it and read the chunk in the middle; Enter opens that chunk. Plus and minus zoom, 0 shows everything. The regions are listed below. “Select what is visible” selects the chunks that are shown"
          onKeyDown={pressed}
          onWheel={(event) => {
            wheeled(event, painter.current)
            setHovered(null)
          }}
        >
          <canvas ref={below} class="map-points" />
          <canvas ref={above} class="map-marks" />
        </div>
        {hovered !== null && painter.current && (
          <MapTip
            address={address}
            point={hovered}
            value={coloured.shownOf(hovered)}
            view={painter.current.view}
            at={toScreen(painter.current.view, points.x[hovered] ?? 0, points.y[hovered] ?? 0)}
          />
        )}
      </div>
      <div class="row">
        <MapZoom painter={painter} onSelect={props.onSelect} />
      </div>
    </>
  )
}

function maskOf(chosen: ReadonlySet<number> | null, count: number): Uint8Array | null {
  if (chosen === null) return null
  const mask = new Uint8Array(count)
  for (const point of chosen) mask[point] = 1
  return mask
}

/** Shows the part in the address, at first and after Back or Forward. */
function followAddress(painter: MapPainter): void {
  const wanted = new URLSearchParams(location.search).get('at') ?? undefined
  const { width, height } = painter.view
  if (wanted === textOfLook(painter.view)) return
  const look = lookOf(wanted)
  painter.look(look === null ? wholeMap(width, height) : viewAt(look, width, height))
}

/** Redraws when the window or the theme changes. @returns a function that stops this */
function watched(element: HTMLElement, painter: MapPainter): () => void {
  const refresh = () => painter.refresh()
  const sizes = new ResizeObserver(refresh)
  sizes.observe(element)
  const unwatch = watchTheme(refresh)
  return () => {
    sizes.disconnect()
    unwatch()
    painter.close()
  }
}

const FACTOR = 1.5

/** The buttons of a map: zoom in and out, show all, and select the visible part. */
function MapZoom(props: {
  readonly painter: RefObject<MapPainter | undefined>
  readonly onSelect: (view: Viewport) => void
}) {
  const { painter, onSelect } = props
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

interface MapTipProps {
  readonly address: MapAddress
  readonly point: number
  /** The value that determines the point's colour. */
  readonly value: string
  readonly view: Viewport
  /** The point's position on the screen. */
  readonly at: readonly [number, number]
}

const TEXT_CHARS = 280
/** How long the pointer must rest on a point before its text is read. */
const REST_MS = 80

/** The tooltip of a point, with its document and the start of its text. */
function MapTip({ address, point, value, view, at }: MapTipProps) {
  const { data, failure } = useResource(
    async (signal) => {
      await new Promise((resolve) => setTimeout(resolve, REST_MS))
      signal.throwIfAborted()
      return (await readChunks(address, [point], signal))[0]?.chunk ?? null
    },
    [address, point],
  )
  return (
    <div class="map-tip" role="status" style={placeBeside(view, at)}>
      {data === undefined && !failure && <span class="quiet">…</span>}
      {failure && <span class="bad">{failure.message}</span>}
      {data === null && (
        <span class="quiet">This chunk was deleted after the map was created.</span>
      )}
      {data && (
        <>
          <strong class="one-line" dir="auto">
            {titleOf(data.metadata) ?? data.id}
          </strong>
          <span class="map-tip-text" dir="auto">
            {data.chunk_content.slice(0, TEXT_CHARS)}
          </span>
          {value !== '' && (
            <span class="quiet one-line" dir="auto">
              {value}
            </span>
          )}
        </>
      )}
    </div>
  )
}

const WIDTH_PIXELS = 320
const GAP_PIXELS = 14
const EDGE_PIXELS = 6

/** Below a point in the upper half, above one in the lower half, within the edges. */
function placeBeside({ width, height }: Viewport, [x, y]: readonly [number, number]) {
  const wide = Math.min(WIDTH_PIXELS, width - 2 * EDGE_PIXELS)
  const left = Math.min(width - wide - EDGE_PIXELS, Math.max(EDGE_PIXELS, x - wide / 2))
  const side =
    y < height / 2 ? { top: `${y + GAP_PIXELS}px` } : { bottom: `${height - y + GAP_PIXELS}px` }
  return { left: `${left}px`, width: `${wide}px`, ...side }
}

function titleOf(metadata: Readonly<Record<string, unknown>>): string | undefined {
  const { title } = metadata
  return typeof title === 'string' && title !== '' ? title : undefined
}
