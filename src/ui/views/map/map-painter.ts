/**
 * Draws a map on two canvases, at most once per frame and only after a change: points on the lower
 * one, labels and marks on the upper one.
 */
import type { MapPoints, MapRegion } from '../../api/maps.ts'
import { colourReader } from '../../components/theme-colours.ts'
import {
  type PointsAndColours,
  placeLabels,
  resized,
  SERIES,
  toScreen,
  type Viewport,
  wholeMap,
  zoomOf,
} from './map-model.ts'
import { FAINT, GRADIENT, GRADIENT_STEPS, OTHERS, PALETTE_SIZE } from './point-colours.ts'

interface MapPicture extends PointsAndColours {
  readonly chosen: Uint8Array | null
  /** Points with a ring: the one under the pointer, and the best of a search. */
  readonly ringed: readonly number[]
}

const FONT = '600 13px system-ui, sans-serif'
/** A higher pixel density would take longer without looking better. */
const DENSITY_MAX = 2

export class MapPainter {
  readonly #below: HTMLCanvasElement
  readonly #above: HTMLCanvasElement
  #view: Viewport
  #picture: MapPicture | null = null
  #frame = 0
  #image: ImageData | null = null
  #colours: Colours | null = null
  /** The inputs of the last drawing of the points. */
  #drawn: readonly unknown[] = []

  constructor(below: HTMLCanvasElement, above: HTMLCanvasElement) {
    this.#below = below
    this.#above = above
    this.#view = wholeMap(above.clientWidth, above.clientHeight)
  }

  get view(): Viewport {
    return this.#view
  }

  look(view: Viewport): void {
    this.#view = view
    this.#plan()
  }

  show(picture: MapPicture): void {
    this.#picture = picture
    this.#plan()
  }

  /** Called when the window or the theme has changed. */
  refresh(): void {
    const { clientWidth, clientHeight } = this.#above
    if (clientWidth === 0) return
    this.#view = resized(this.#view, clientWidth, clientHeight)
    this.#colours = null
    this.#plan()
  }

  close(): void {
    cancelAnimationFrame(this.#frame)
  }

  #plan(): void {
    cancelAnimationFrame(this.#frame)
    this.#frame = requestAnimationFrame(() => this.#draw())
  }

  #draw(): void {
    const picture = this.#picture
    const { width, height } = this.#view
    if (picture === null || width === 0 || height === 0) return
    const density = Math.min(DENSITY_MAX, devicePixelRatio)
    this.#colours ??= coloursOf(this.#above)
    // When the pointer moves over points, only the marks change.
    const { points, places, chosen } = picture
    const parts = [points, places, chosen, this.#view, this.#colours, density]
    if (parts.some((part, at) => part !== this.#drawn[at])) {
      this.#drawPoints(picture, density, this.#colours)
      this.#drawn = parts
    }
    this.#drawMarks(picture, density, this.#colours)
  }

  #drawPoints({ points, places, chosen }: MapPicture, density: number, colours: Colours): void {
    const width = Math.round(this.#view.width * density)
    const height = Math.round(this.#view.height * density)
    const context = sized(this.#below, width, height)
    if (context === null) return
    if (this.#image?.width !== width || this.#image.height !== height) {
      this.#image = context.createImageData(width, height)
    }
    const view = { ...this.#view, width, height, scale: this.#view.scale * density }
    const radius = radiusOf(points.count, view) * density
    const pixels = new Uint32Array(this.#image.data.buffer)
    drawPoints(pixels, view, points, { places, chosen, palette: colours.palette, radius })
    context.putImageData(this.#image, 0, 0)
  }

  #drawMarks(picture: MapPicture, density: number, colours: Colours): void {
    const view = this.#view
    const context = sized(this.#above, view.width * density, view.height * density)
    if (context === null) return
    context.setTransform(density, 0, 0, density, 0, 0)
    context.clearRect(0, 0, view.width, view.height)
    const { points, ringed } = picture
    context.strokeStyle = colours.ink
    context.lineWidth = 2
    const radius = radiusOf(points.count, view) + 3
    for (const point of ringed) {
      const [x, y] = toScreen(view, points.x[point] ?? 0, points.y[point] ?? 0)
      context.beginPath()
      context.arc(x, y, radius, 0, 2 * Math.PI)
      context.stroke()
    }
    drawLabels(context, picture.regions, view, colours)
  }
}

function drawLabels(
  context: CanvasRenderingContext2D,
  regions: readonly MapRegion[],
  view: Viewport,
  { ink, panel }: Colours,
): void {
  context.font = FONT
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.lineJoin = 'round'
  const labels = placeLabels(regions, view, (text) => context.measureText(text).width)
  for (const { text, x, y } of labels) {
    context.strokeStyle = panel
    context.lineWidth = 4
    context.strokeText(text, x, y)
    context.fillStyle = ink
    context.fillText(text, x, y)
  }
}

function sized(canvas: HTMLCanvasElement, width: number, height: number) {
  const [whole, high] = [Math.round(width), Math.round(height)]
  if (canvas.width !== whole) canvas.width = whole
  if (canvas.height !== high) canvas.height = high
  return canvas.getContext('2d')
}

interface Colours {
  readonly ink: string
  readonly panel: string
  readonly palette: Uint32Array
}

/** The colours of the style sheets in the current theme. */
function coloursOf(element: HTMLElement): Colours {
  const read = colourReader(element.parentElement ?? element)
  const colourOf = (name: string) => read(`--${name}`)
  const palette = new Uint32Array(PALETTE_SIZE)
  const faint = channelsOf(colourOf('line'))
  const far = channelsOf(colourOf('series-6'))
  const near = channelsOf(colourOf('series-3'))
  palette[FAINT] = pixelOf(mixed(faint, channelsOf(colourOf('edge')), 0.35))
  palette[OTHERS] = pixelOf(channelsOf(colourOf('edge')))
  for (let series = 1; series <= SERIES; series++) {
    palette[series] = pixelOf(channelsOf(colourOf(`series-${series}`)))
  }
  for (let step = 0; step < GRADIENT_STEPS; step++) {
    const share = step / (GRADIENT_STEPS - 1)
    const low = mixed(faint, far, 0.45)
    palette[GRADIENT + step] = pixelOf(mixed(low, near, share))
  }
  return { ink: colourOf('ink'), panel: colourOf('panel'), palette }
}

type Channels = readonly [number, number, number]

function channelsOf(colour: string): Channels {
  const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number)
  return [red, green, blue]
}

function mixed([r, g, b]: Channels, [red, green, blue]: Channels, share: number): Channels {
  return [r + (red - r) * share, g + (green - g) * share, b + (blue - b) * share]
}

/** A pixel as stored in a canvas: red first, as a little-endian integer. */
function pixelOf([red, green, blue]: Channels): number {
  return (255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)
}

// Writes points as pixels directly into a canvas's memory. For 100,000 points, this takes a few
// milliseconds with or without a graphics card.
interface PointStyle {
  readonly places: Uint8Array
  /** Colours by palette index, as stored in a canvas. */
  readonly palette: Uint32Array
  /** 1 for selected points, so that the others are drawn faint; null without a selection. */
  readonly chosen: Uint8Array | null
}

/** The radius of a point in CSS pixels. */
function radiusOf(count: number, view: Viewport): number {
  // With very many points, each is a single pixel, because larger ones would merge into one area.
  const size = Math.min(4, Math.max(0.7, 110 / Math.sqrt(Math.max(1, count))))
  return Math.min(7, size * zoomOf(view) ** 0.4)
}

/** @param view the view in canvas pixels */
function drawPoints(
  pixels: Uint32Array,
  view: Viewport,
  points: MapPoints,
  style: PointStyle & { readonly radius: number },
): void {
  pixels.fill(0)
  // Faint points are drawn first, below coloured ones.
  for (const layer of LAYERS) {
    // Makes a few selected points visible among many.
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

/** With a larger value, a disc looks like a square; with a smaller one, like a cross. */
const ROUNDNESS = 0.35

/** The half-width of a disc in each row. */
function spansOf(radius: number): Int32Array {
  const reach = Math.floor(radius)
  const squared = (reach + ROUNDNESS) ** 2
  return Int32Array.from({ length: 2 * reach + 1 }, (_, at) => {
    return Math.floor(Math.sqrt(squared - (at - reach) ** 2))
  })
}
