/**
 * The picture of a map. It is moved by dragging and with the arrow keys, zoomed with the wheel, two
 * fingers, + and -, and opens points.
 */
import { signal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type MapAddress, type MapPoints, type MapRegion, readChunks } from '../../api/maps.ts'
import { Button } from '../../components/button.tsx'
import { useResource } from '../../components/resource.ts'
import { watchTheme } from '../../components/theme-colours.ts'
import {
  moved,
  nearestPoint,
  resized,
  toMap,
  toScreen,
  type Viewport,
  wholeMap,
  zoomed,
} from './map-model.ts'
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
  /** Selects all visible points. */
  readonly onSelect: (view: Viewport) => void
  readonly onOpen: (point: number) => void
}

/** How close a point must be to the pointer, or to the centre when the map is moved by keys. */
const REACH_PIXELS = 12
const KEY_REACH_PIXELS = 60

/** The visible part of the map that was shown last, for the Back button. */
const left = signal<{ readonly of: string; readonly view: Viewport } | undefined>(undefined)

export function MapCanvas(props: MapCanvasProps) {
  const { address, points, regions, coloured, chosen, best } = props
  const place = JSON.stringify([address.project, address.name])
  const below = useRef<HTMLCanvasElement>(null)
  const above = useRef<HTMLCanvasElement>(null)
  const painter = useRef<MapPainter | undefined>(undefined)
  const [hovered, setHovered] = useState<number | null>(null)
  const read = useRef<number | null>(null)
  read.current = hovered
  const mask = useMemo(() => maskOf(chosen, points.count), [chosen, points])
  const latest = useRef(props)
  latest.current = props
  useEffect(() => {
    if (below.current === null || above.current === null) return
    const own = new MapPainter(below.current, above.current)
    painter.current = own
    const { of, view } = left.peek() ?? {}
    if (of === place && view) own.look(resized(view, own.view.width, own.view.height))
    const unwatch = watched(above.current, own)
    return () => {
      left.value = { of: place, view: own.view }
      unwatch()
    }
  }, [])
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
      <div class="panel map-frame">
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
  return (
    <div class="row">
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
    <div class="panel list small map-tip" role="status" style={placeBeside(view, at)}>
      {data === undefined && !failure && <span class="quiet">…</span>}
      {failure && <span class="bad">{failure.message}</span>}
      {data === null && (
        <span class="quiet">This chunk was deleted after the map was created.</span>
      )}
      {data && (
        <>
          <strong class="one-line">{titleOf(data.metadata) ?? data.id}</strong>
          <bdi class="map-tip-text">{data.chunk_content.slice(0, TEXT_CHARS)}</bdi>
          {value !== '' && <span class="quiet one-line">{value}</span>}
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

// Handles pointers, the wheel and keys on a map.

type Place = readonly [number, number]

/** If a pointer moved less than this, it was a click. */
const CLICK_PIXELS = 5

/** @returns a function that stops handling the pointer */
function followPointer(
  element: HTMLElement,
  moves: {
    readonly view: () => Viewport
    readonly onView: (view: Viewport) => void
    /** null if the pointer is not over a point. */
    readonly onHover: (place: Place | null) => void
    readonly onClick: (x: number, y: number, isFinger: boolean) => void
  },
): () => void {
  const down = new Map<number, Place>()
  let dragged = 0
  const placeOf = ({ offsetX, offsetY }: PointerEvent): Place => [offsetX, offsetY]
  const pressed = (event: PointerEvent) => {
    if (event.button !== 0) return
    element.setPointerCapture(event.pointerId)
    down.set(event.pointerId, placeOf(event))
    dragged = 0
  }
  const went = (event: PointerEvent) => {
    // The button was released over something else, such as a menu.
    if (event.buttons === 0) down.delete(event.pointerId)
    const before = down.get(event.pointerId)
    const now = placeOf(event)
    if (before === undefined) {
      moves.onHover(now)
      return
    }
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]]
    dragged += Math.hypot(dx, dy)
    if (down.size === 2) moves.onView(pinched(moves.view(), down, event.pointerId, now))
    else moves.onView(moved(moves.view(), dx, dy))
    down.set(event.pointerId, now)
    moves.onHover(null)
  }
  const released = (event: PointerEvent) => {
    if (!down.has(event.pointerId)) return
    const isClick = dragged < CLICK_PIXELS && down.size === 1
    down.delete(event.pointerId)
    if (isClick) moves.onClick(...placeOf(event), event.pointerType === 'touch')
  }
  // Ignored for a finger, which always leaves; the text it opened stays.
  const left = (event: PointerEvent) => {
    if (event.pointerType !== 'touch') moves.onHover(null)
  }
  const cancelled = (event: PointerEvent) => {
    down.delete(event.pointerId)
  }
  const abort = new AbortController()
  const { signal } = abort
  element.addEventListener('pointerdown', pressed, { signal })
  element.addEventListener('pointermove', went, { signal })
  element.addEventListener('pointerup', released, { signal })
  element.addEventListener('pointercancel', cancelled, { signal })
  element.addEventListener('pointerleave', left, { signal })
  return () => abort.abort()
}

/** Two fingers move the map by their centre and zoom it by their distance. */
function pinched(
  view: Viewport,
  down: ReadonlyMap<number, Place>,
  moving: number,
  now: Place,
): Viewport {
  const before = down.get(moving) ?? now
  const other = [...down].find(([id]) => id !== moving)?.[1] ?? now
  const distance = (place: Place) =>
    Math.max(1, Math.hypot(place[0] - other[0], place[1] - other[1]))
  const half: Place = [(now[0] - before[0]) / 2, (now[1] - before[1]) / 2]
  const middle: Place = [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]
  return zoomed(moved(view, ...half), distance(now) / distance(before), ...middle)
}

function wheeled(event: WheelEvent, painter: MapPainter | undefined): void {
  if (painter === undefined) return
  event.preventDefault()
  const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * 20 : event.deltaY
  // Browsers report a pinch on a touchpad as small wheel steps with the control key.
  const factor = Math.exp(-pixels / (event.ctrlKey ? 100 : 400))
  painter.look(zoomed(painter.view, factor, event.offsetX, event.offsetY))
}

const STEP_PIXELS = 60
const STEPS: Readonly<Record<string, Place>> = {
  ArrowLeft: [STEP_PIXELS, 0],
  ArrowRight: [-STEP_PIXELS, 0],
  ArrowUp: [0, STEP_PIXELS],
  ArrowDown: [0, -STEP_PIXELS],
}
const FACTORS: Readonly<Record<string, number>> = { '+': 1.4, '=': 1.4, '-': 1 / 1.4 }

/** @returns whether the key moved the map */
function keyPressed(event: KeyboardEvent, painter: MapPainter): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false
  const { view } = painter
  const step = STEPS[event.key]
  const factor = FACTORS[event.key]
  if (step !== undefined) painter.look(moved(view, ...step))
  else if (factor !== undefined) painter.look(zoomed(view, factor, view.width / 2, view.height / 2))
  else if (event.key === '0') painter.look(wholeMap(view.width, view.height))
  else return false
  event.preventDefault()
  return true
}
