/** Which part of a map is seen, and how large: pure, so that every way to move it is the same sum. */

/** The side of the map, as the server counts. */
export const MAP_SIDE = 65_535

export interface Viewport {
  /** The point of the map in the middle. */
  readonly x: number
  readonly y: number
  /** Pixels for a unit of the map. */
  readonly scale: number
  readonly width: number
  readonly height: number
}

const ZOOM_MAX = 60

/** All of it. */
export function wholeMap(width: number, height: number): Viewport {
  const scale = Math.max(1e-4, Math.min(width, height) / MAP_SIDE)
  return { x: MAP_SIDE / 2, y: MAP_SIDE / 2, scale, width, height }
}

/** The same place in a window of another size. */
export function resized(view: Viewport, width: number, height: number): Viewport {
  const scale =
    view.scale * (Math.min(width, height) / Math.max(1, Math.min(view.width, view.height)))
  return { ...view, width, height, scale }
}

/** How much nearer than the whole map: 1 shows all of it. */
export function zoomOf({ scale, width, height }: Viewport): number {
  return scale / wholeMap(width, height).scale
}

/** @param look its place is kept within the map */
export function viewAt(
  { x, y, zoom }: { readonly x: number; readonly y: number; readonly zoom: number },
  width: number,
  height: number,
): Viewport {
  const whole = wholeMap(width, height)
  return zoomed({ ...moved({ ...whole, x, y }, 0, 0) }, zoom, width / 2, height / 2)
}

export function moved(view: Viewport, dx: number, dy: number): Viewport {
  const within = (value: number) => Math.min(MAP_SIDE, Math.max(0, value))
  return { ...view, x: within(view.x - dx / view.scale), y: within(view.y - dy / view.scale) }
}

/** What is at `atX`, `atY` stays there. */
export function zoomed(view: Viewport, factor: number, atX: number, atY: number): Viewport {
  const least = wholeMap(view.width, view.height).scale
  const scale = Math.min(least * ZOOM_MAX, Math.max(least * 0.8, view.scale * factor))
  const share = 1 / view.scale - 1 / scale
  const x = view.x + (atX - view.width / 2) * share
  const y = view.y + (atY - view.height / 2) * share
  return moved({ ...view, scale, x, y }, 0, 0)
}

export function toScreen(view: Viewport, x: number, y: number): readonly [number, number] {
  return [(x - view.x) * view.scale + view.width / 2, (y - view.y) * view.scale + view.height / 2]
}

export function toMap(view: Viewport, x: number, y: number): readonly [number, number] {
  return [(x - view.width / 2) / view.scale + view.x, (y - view.height / 2) / view.scale + view.y]
}
