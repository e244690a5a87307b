/** Handles pointers, the wheel and keys on a map. */
import { moved, type Viewport, wholeMap, zoomed } from './map-model.ts'
import type { MapPainter } from './map-painter.ts'

type Place = readonly [number, number]

/** If a pointer moved less than this, it was a click. */
const CLICK_PIXELS = 5

/** @returns a function that stops handling the pointer */
export function followPointer(
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

export function wheeled(event: WheelEvent, painter: MapPainter | undefined): void {
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
export function keyPressed(event: KeyboardEvent, painter: MapPainter): boolean {
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
