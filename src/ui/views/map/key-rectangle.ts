/** A rectangle that keys move and grow: what a pointer draws around points, for those who have none. Pure. */
import type { Line } from './pointer-moves.ts'

/** In pixels of the window. */
export interface KeyRectangle {
  /** Its middle. */
  readonly x: number
  readonly y: number
  readonly halfWidth: number
  readonly halfHeight: number
}

const STEP_PIXELS = 20
const HALF_MIN = 10
/** Of the window, when it comes. */
const FIRST_SHARE = 1 / 8

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/**
 * An arrow brings it, and then moves it; with Shift it makes it larger or smaller.
 * @returns undefined: the key means nothing to it
 */
export function rectangleAfter(
  { key, shiftKey }: { readonly key: string; readonly shiftKey: boolean },
  before: KeyRectangle | null,
  { width, height }: { readonly width: number; readonly height: number },
): KeyRectangle | undefined {
  const arrow = ARROWS[key]
  if (arrow === undefined) return undefined
  if (before === null) {
    const half = Math.max(HALF_MIN, Math.min(width, height) * FIRST_SHARE)
    return { x: width / 2, y: height / 2, halfWidth: half, halfHeight: half }
  }
  const [dx, dy] = [arrow[0] * STEP_PIXELS, arrow[1] * STEP_PIXELS]
  const { x, y, halfWidth, halfHeight } = before
  if (!shiftKey) return { ...before, x: within(x + dx, 0, width), y: within(y + dy, 0, height) }
  return {
    ...before,
    halfWidth: within(halfWidth + dx, HALF_MIN, width),
    halfHeight: within(halfHeight + dy, HALF_MIN, height),
  }
}

function within(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}

export function lineAround({ x, y, halfWidth, halfHeight }: KeyRectangle): Line {
  const [left, right] = [x - halfWidth, x + halfWidth]
  const [top, bottom] = [y - halfHeight, y + halfHeight]
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ]
}
