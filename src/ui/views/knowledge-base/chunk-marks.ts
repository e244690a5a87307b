/** Splits a text into blocks that are rendered separately, and each block by its chunks. */
export interface Span {
  readonly start: number
  readonly end: number
}

interface Piece extends Span {
  /** Indexes of the chunks that contain this span. */
  readonly chunks: readonly number[]
  readonly isMarked: boolean
}

const BLOCK_CHARS = 6000

/** Blocks end at line ends, otherwise at spaces, but never within a character. */
export function blocksOf(text: string): readonly Span[] {
  const blocks: Span[] = []
  for (let start = 0; start < text.length; ) {
    const end = start + BLOCK_CHARS >= text.length ? text.length : cutIn(text, start)
    blocks.push({ start, end })
    start = end
  }
  return blocks
}

function cutIn(text: string, start: number): number {
  const latest = start + BLOCK_CHARS
  for (const sign of ['\n', ' ']) {
    const found = text.lastIndexOf(sign, latest - 1)
    if (found > start + BLOCK_CHARS / 2) return found + 1
  }
  const isInPair = /[\udc00-\udfff]/.test(text.charAt(latest))
  return isInPair ? latest - 1 : latest
}

export function piecesOf(
  block: Span,
  chunks: readonly Span[],
  marked: Span | undefined,
): readonly Piece[] {
  const near = chunks.flatMap((chunk, index) => (overlaps(chunk, block) ? [{ chunk, index }] : []))
  const edges = [...near.map(({ chunk }) => chunk), ...(marked ? [marked] : [])]
    .flatMap(({ start, end }) => [start, end])
    .filter((edge) => edge > block.start && edge < block.end)
  const cuts = [...new Set([block.start, ...edges, block.end])].sort((a, b) => a - b)
  return cuts.slice(0, -1).map((start, at) => {
    const piece = { start, end: cuts[at + 1] ?? block.end }
    return {
      ...piece,
      chunks: near.filter(({ chunk }) => overlaps(chunk, piece)).map(({ index }) => index),
      isMarked: marked !== undefined && overlaps(marked, piece),
    }
  })
}

function overlaps(one: Span, other: Span): boolean {
  return one.start < other.end && other.start < one.end
}

/** Parses the span in `<id>:<column>:<n>of<total>:<start>to<end>`. */
export function placeIn(chunkId: string): Span | undefined {
  const [, start, end] = /:(\d+)to(\d+)$/.exec(chunkId) ?? []
  return start === undefined ? undefined : { start: Number(start), end: Number(end) }
}

/** What an address refers to: offsets from a search result, and the chunk in its column. */
export interface NamedSpan extends Span {
  readonly number?: number | undefined
}

export interface PlacedSpan extends NamedSpan {
  /** A chunk made from JSON has no position in a text, so it is given one. */
  readonly cut: Span
}

/** Or the one with that start (-1 if there is none), and the range to highlight. */
export function markOf(
  named: NamedSpan,
  chunks: readonly PlacedSpan[],
): { readonly at: number; readonly mark: Span } {
  const { number, start, end } = named
  const byNumber = chunks.findIndex((chunk) => {
    return number === chunk.number && number !== undefined && holds(chunk.cut, named)
  })
  const chunk = chunks[byNumber]
  if (chunk !== undefined) {
    const shift = chunk.start - chunk.cut.start
    return { at: byNumber, mark: { start: start + shift, end: end + shift } }
  }
  const exact = chunks.findIndex((one) => one.start === start && one.end === end)
  const around = chunks.findIndex((one) => one.start <= start && start < one.end)
  return { at: exact >= 0 ? exact : around, mark: { start, end } }
}

/** Documents may have been re-chunked since the address was created. */
function holds(one: Span, other: Span): boolean {
  return one.start <= other.start && other.end <= one.end
}

const OF_JSON = 'JSONChunkingPreprocessor'

/** No document contains their text, so they are shown one below the other. */
export function areMadeOfJson(chunks: readonly { readonly source: string }[]): boolean {
  return chunks.some(({ source }) => source === OF_JSON)
}
