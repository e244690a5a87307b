/** Selects the part of a chunk that shows why it was found. */
import type { Range } from '../../components/marked-text.tsx'

interface Excerpt {
  readonly text: string
  readonly ranges: readonly Range[]
  /** Whether the chunk has more text than this. */
  readonly isCut: boolean
}

/** About five lines in a narrow column. */
const CHARS_MAX = 240
/** How much is shown before the first match, so that the part starts at a word or sentence. */
const CHARS_BEFORE = 40

/** Only this much of a longer chunk is shown; its document shows the rest. */
const WHOLE_CHARS_MAX = 20_000

export function wholeOf(text: string, ranges: readonly Range[]): Excerpt {
  if (text.length <= WHOLE_CHARS_MAX) return { text, ranges, isCut: false }
  const end = wholeUntil(text, WHOLE_CHARS_MAX)
  const shown = ranges.filter(([, to = 0]) => to <= end)
  return { text: `${text.slice(0, end)} …`, ranges: shown, isCut: true }
}

/** The first part with the most matching words, or the start of the text if it has as many. */
export function excerptOf(text: string, ranges: readonly Range[], charsMax = CHARS_MAX): Excerpt {
  if (text.length <= charsMax) return { text, ranges, isCut: false }
  const start = startOf(text, ranges, charsMax)
  const end = wholeUntil(text, Math.min(text.length, start + charsMax))
  const before = start === 0 ? '' : '… '
  const shift = before.length - start
  const shown = ranges.flatMap(([from = 0, to = 0]) => {
    return from >= start && to <= end ? [[from + shift, to + shift]] : []
  })
  const after = end === text.length ? '' : ' …'
  return { text: `${before}${text.slice(start, end)}${after}`, ranges: shown, isCut: true }
}

function startOf(text: string, ranges: readonly Range[], charsMax: number): number {
  let best = { start: 0, count: 0 }
  let last = 0
  const firsts = [0, ...ranges.map(([from = 0]) => Math.max(0, from - CHARS_BEFORE))]
  let first = 0
  for (const start of firsts) {
    while (first < ranges.length && (ranges[first]?.[0] ?? 0) < start) first += 1
    while (last < ranges.length && (ranges[last]?.[1] ?? 0) <= start + charsMax) last += 1
    if (last - first > best.count) best = { start, count: last - first }
  }
  // Near the end of the text, more of the text before fits.
  const start = Math.min(best.start, Math.max(0, text.length - charsMax))
  return start === 0 ? 0 : wordStart(text, start)
}

/** The start of the next word, if it is near. */
function wordStart(text: string, from: number): number {
  const space = text.slice(from, from + CHARS_BEFORE).search(/\s/)
  return wholeUntil(text, space === -1 ? from : from + space + 1)
}

/** Avoids splitting a character of two code units. */
function wholeUntil(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at
}
