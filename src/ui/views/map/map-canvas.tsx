/** The picture of a map: moved by dragging and arrow keys, zoomed by wheel, two fingers, + and -; a click opens a point. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { MapAddress, MapPoints, MapRegion } from '../../api/maps.ts'
import { lookOf, textOfLook } from './map-address.ts'
import { MapPainter } from './map-painter.ts'
import { MapTip } from './map-tip.tsx'
import { MapZoom } from './map-zoom.tsx'
import type { Coloured } from './point-colours.ts'
import { followPointer, keyPressed, type Line, type PointerTool, wheeled } from './pointer-moves.ts'
import { LassoHint, useMapRectangle } from './selecting/map-rectangle.tsx'
import type { PointIndex } from './selecting/point-index.ts'
import { MAP_SIDE, toMap, toScreen, type Viewport, viewAt, wholeMap, zoomOf } from './viewport.ts'

interface MapCanvasProps {
  readonly address: MapAddress
  readonly points: MapPoints
  readonly index: PointIndex
  readonly regions: readonly MapRegion[]
  readonly coloured: Coloured
  readonly chosen: ReadonlySet<number> | null
  /** The best of a search. */
  readonly best: readonly number[]
  readonly tool: PointerTool
  /** A line was drawn, in units of the map. */
  readonly onLine: (line: Line) => void
  /** What is seen, as the address says it; null: all of it. */
  readonly onLook: (text: string | null) => void
  readonly onOpen: (point: number) => void
}

/** How far beside a point the pointer may be, and the middle of the map where keys move it. */
const REACH_PIXELS = 12
const KEY_REACH_PIXELS = 60

export function MapCanvas(props: MapCanvasProps) {
  const { address, points, regions, coloured, chosen, best, tool } = props
  const below = useRef<HTMLCanvasElement>(null)
  const above = useRef<HTMLCanvasElement>(null)
  const painter = useRef<MapPainter | undefined>(undefined)
  const [hovered, setHovered] = useState<number | null>(null)
  const [lasso, setLasso] = useState<Line>([])
  const rectangle = useMapRectangle({ tool, painter, index: props.index, onLine: props.onLine })
  const drawn = rectangle.line ?? lasso
  const read = useRef<number | null>(null)
  read.current = hovered
  const mask = useMemo(() => maskOf(chosen, points.count), [chosen, points])
  const latest = useRef(props)
  latest.current = props
  const { url } = useLocation()
  useEffect(() => {
    if (below.current === null || above.current === null) return
    const onLook = (view: Viewport) => {
      latest.current.onLook(textOf(view))
      rectangle.looked()
    }
    const own = new MapPainter(below.current, above.current, onLook)
    painter.current = own
    return watched(above.current, own, rectangle.looked)
  }, [])
  useEffect(() => {
    if (painter.current) followAddress(painter.current)
  }, [url])
  useEffect(() => {
    const ringed = hovered === null ? best : [...best, hovered]
    const { places } = coloured
    painter.current?.show({ points, regions, places, chosen: mask, ringed, lasso: drawn })
  }, [points, regions, coloured, mask, best, hovered, drawn])
  // In a newer map it is another point.
  useEffect(() => setHovered(null), [address])
  const pointAt = (x: number, y: number, reach = REACH_PIXELS) => {
    const own = painter.current
    return own
      ? latest.current.index.nearest(...toMap(own.view, x, y), reach / own.view.scale)
      : null
  }
  useEffect(() => {
    const element = above.current
    const own = painter.current
    if (element === null || own === undefined) return
    return followPointer(element, {
      tool,
      view: () => own.view,
      onView: (view) => own.look(view),
      onHover: (place) => setHovered(place === null ? null : pointAt(...place)),
      onLine: (line) => {
        rectangle.close()
        setLasso(line)
      },
      onLineEnd: (line) => {
        setLasso([])
        latest.current.onLine(line.map(([x, y]) => toMap(own.view, x, y)))
      },
      onClick: (x, y, isFinger) => {
        const point = pointAt(x, y)
        // A finger cannot point without touching: it reads first, and opens with a second touch.
        const isRead = !isFinger || read.current === point
        setHovered(point)
        if (isRead && point !== null) latest.current.onOpen(point)
      },
    })
  }, [tool])
  const pressed = (event: KeyboardEvent) => {
    const own = painter.current
    if (own === undefined) return
    if (rectangle.pressed(event)) return
    if (event.key === 'Enter' && hovered !== null) props.onOpen(hovered)
    if (event.key === 'Escape') setHovered(null)
    // What is in the middle then is read, so that keys reach every point.
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
          aria-label="Map of the chunks. Arrow keys move it and read the chunk in its middle, which Enter opens. Plus and minus zoom, 0 shows all of it. The regions are listed below. With Lasso on, arrow keys move a rectangle, and Enter selects what is in it"
          onKeyDown={pressed}
          onWheel={(event) => {
            wheeled(event, painter.current)
            setHovered(null)
          }}
        >
          <canvas ref={below} class="map-points" />
          <canvas ref={above} class={`map-marks ${tool}`} />
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
        {tool === 'lasso' && <LassoHint count={rectangle.count} />}
        <MapZoom painter={painter} onSelect={(view) => props.onLine(cornersOf(view))} />
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

/** Of what is seen, in units of the map. */
function cornersOf(view: Viewport): Line {
  const { width, height } = view
  const corners = [
    [0, 0],
    [width, 0],
    [width, height],
    [0, height],
  ] as const
  // Outside there is nothing. A point on the edge of the map is within the line.
  const within = (value: number) => Math.min(MAP_SIDE + 1, Math.max(-1, value))
  return corners.map(([x, y]) => {
    const [mapX, mapY] = toMap(view, x, y)
    return [within(mapX), within(mapY)] as const
  })
}

function textOf(view: Viewport): string | null {
  const text = textOfLook({ x: view.x, y: view.y, zoom: zoomOf(view) })
  return text === WHOLE ? null : text
}

const WHOLE = textOfLook({ x: MAP_SIDE / 2, y: MAP_SIDE / 2, zoom: 1 })

/** Looks where the address says: it is there from the start, and Back and Forward change it. */
function followAddress(painter: MapPainter): void {
  const wanted = new URLSearchParams(location.search).get('at') ?? undefined
  const { width, height } = painter.view
  if (wanted === (textOf(painter.view) ?? undefined)) return
  const look = lookOf(wanted)
  painter.look(look === null ? wholeMap(width, height) : viewAt(look, width, height))
}

/** Draws again where the window or the theme changes. @returns what ends that */
function watched(element: HTMLElement, painter: MapPainter, onSize: () => void): () => void {
  const refresh = () => {
    painter.refresh()
    onSize()
  }
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
