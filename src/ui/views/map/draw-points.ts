/**
 * Points as pixels. Written by hand into the memory of a canvas: 100 000 take some milliseconds, with or without a
 * graphics card.
 */
import type { MapPoints } from '../../api/maps.ts'
import { FAINT, OTHERS } from './point-colours.ts'
import { type Viewport, zoomOf } from './viewport.ts'

interface PointStyle {
  readonly places: Uint8Array
  /** Colours by places, as the memory of a canvas holds them. */
  readonly palette: Uint32Array
  /** 1: chosen; the others are faint then. null: none is. */
  readonly chosen: Uint8Array | null
}

/** How large a point is, in pixels of the window. */
export function radiusOf(count: number, view: Viewport): number {
  // Of very many, single pixels: larger ones would be one plane without any structure.
  const size = Math.min(4, Math.max(0.7, 110 / Math.sqrt(Math.max(1, count))))
  return Math.min(7, size * zoomOf(view) ** 0.4)
}

/** @param view in the pixels of the canvas */
export function drawPoints(
  pixels: Uint32Array,
  view: Viewport,
  points: MapPoints,
  style: PointStyle & { readonly radius: number },
): void {
  pixels.fill(0)
  // What is faint lies below, and what has a colour of its own above.
  for (const layer of LAYERS) {
    // Few chosen ones are seen among many.
    const isLarger = layer !== 'faint' && style.chosen !== null
    const radius = style.radius + (isLarger ? CHOSEN_LARGER : 0)
    drawSome(pixels, view, points, { ...style, radius, layer })
  }
}

const CHOSEN_LARGER = 1
const LAYERS = ['faint', 'others', 'coloured'] as const
type Layer = (typeof LAYERS)[number]

function layerOf(place: number): Layer {
  if (place === FAINT) return 'faint'
  return place === OTHERS ? 'others' : 'coloured'
}

function drawSome(
  pixels: Uint32Array,
  view: Viewport,
  { count, x, y }: MapPoints,
  style: PointStyle & { readonly radius: number; readonly layer: Layer },
): void {
  const { places, palette, chosen, layer } = style
  const { width, height, scale } = view
  const left = width / 2 - view.x * scale
  const top = height / 2 - view.y * scale
  const spans = spansOf(style.radius)
  const reach = (spans.length - 1) >> 1
  for (let point = 0; point < count; point++) {
    const place = chosen !== null && chosen[point] !== 1 ? FAINT : (places[point] ?? 0)
    if (layerOf(place) !== layer) continue
    const middleX = Math.round((x[point] ?? 0) * scale + left)
    const middleY = Math.round((y[point] ?? 0) * scale + top)
    if (middleX < -reach || middleX >= width + reach) continue
    if (middleY < -reach || middleY >= height + reach) continue
    const colour = palette[place] ?? 0
    for (let row = -reach; row <= reach; row++) {
      const line = middleY + row
      if (line < 0 || line >= height) continue
      const half = spans[row + reach] ?? 0
      const from = Math.max(0, middleX - half)
      const to = Math.min(width - 1, middleX + half)
      for (let at = line * width + from; at <= line * width + to; at++) pixels[at] = colour
    }
  }
}

/** Beyond whole pixels: with more a small disc is a square, with less a cross. */
const ROUNDNESS = 0.35

/** Of a disc, row by row: how far it goes to each side. */
function spansOf(radius: number): Int32Array {
  const reach = Math.floor(radius)
  const squared = (reach + ROUNDNESS) ** 2
  return Int32Array.from({ length: 2 * reach + 1 }, (_, at) => {
    return Math.floor(Math.sqrt(squared - (at - reach) ** 2))
  })
}
