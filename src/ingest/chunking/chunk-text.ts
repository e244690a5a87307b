import { fits, reachOf, type SpanLimits } from './span-limits.ts'
import {
  afterSpace,
  firstBoundary,
  isSpace,
  lastBoundary,
  safeCut,
  wordBreak,
} from './text-boundary.ts'

/** Code units into a text. */
export interface TextSpan {
  readonly startChar: number
  readonly endChar: number
}

/**
 * Cuts a text into overlapping spans within the limits: at the end of a paragraph, a line, a sentence or a word, in this
 * order, within the second half of what may be taken. A text that fits is one span as it is; the spans of a longer one
 * begin and end without white space. They cover the whole text except white space. At most half of a span overlaps, so
 * that the work is linear in the length.
 */
export function* chunkText(text: string, limits: SpanLimits): Generator<TextSpan> {
  if (fits(text, 0, text.length, limits)) {
    if (text.trim() !== '') yield { startChar: 0, endChar: text.length }
    return
  }
  let start = 0
  let covered = 0
  while (covered < text.length) {
    const next = afterSpace(text, covered, covered + limits.chunkSizeChars)
    if (next > covered) {
      start = next
      covered = next
      continue
    }
    let reach = reachOf(text, start, text.length, limits)
    let cut = reach > covered ? cutOf(text, { start, covered, reach }, limits) : covered
    if (start < covered && !isWithin(text, { start, covered, reach }, cut, limits)) {
      // The overlap leaves no room, such as for a character of several units: it fits without the overlap.
      start = covered
      reach = reachOf(text, start, text.length, limits)
      cut = cutOf(text, { start, covered, reach }, limits)
    }
    covered = withinTokens(text, { start, covered, reach }, cut, limits)
    yield { startChar: start, endChar: endOf(text, start, covered) }
    start = restartOf(text, { start, covered, reach }, limits)
  }
}

interface Progress {
  /** Where the span begins. */
  readonly start: number
  /** Up to where earlier spans reach. */
  readonly covered: number
  /** Up to where this one may. */
  readonly reach: number
}

function isWithin(text: string, progress: Progress, cut: number, limits: SpanLimits): boolean {
  const { start, covered, reach } = progress
  return reach > covered && endOf(text, start, cut) - start <= limits.chunkSizeChars
}

/** Where the span ends, before its white space is dropped; always beyond what is covered. */
function cutOf(
  text: string,
  { start, covered, reach }: Progress,
  { separators }: SpanLimits,
): number {
  if (reach >= text.length) return text.length
  // Not even a word: a part of it.
  const limit = Math.max(reach, covered + 1)
  const after = Math.max(start + Math.floor((limit - start) / 2), covered)
  if (separators !== undefined) {
    return lastSeparator(text, after, limit, separators) ?? safeCut(text, covered, limit)
  }
  const boundary = lastBoundary(text, after, limit)
  return boundary ?? wordBreak(text, after, limit) ?? safeCut(text, covered, limit)
}

/** After the last of the first separators that stands there. */
function lastSeparator(
  text: string,
  after: number,
  limit: number,
  separators: readonly string[],
): number | undefined {
  const part = text.slice(after, limit)
  for (const separator of separators) {
    if (separator === '') return undefined
    const found = part.lastIndexOf(separator)
    if (found !== -1) return after + found + separator.length
  }
  return undefined
}

/** A part of a word may have more tokens than the whole: such a cut moves back until it fits. */
function withinTokens(text: string, progress: Progress, cut: number, limits: SpanLimits): number {
  if (limits.tokens === null) return cut
  const { start, covered, reach } = progress
  const isWhole = cut === text.length || isSpace(text.charCodeAt(cut - 1))
  if (reach > covered && isWhole) return cut
  const end = endOf(text, start, cut)
  if (reach > covered && reachOf(text, start, end, limits) >= end) return cut
  return longestPart(text, progress, cut, limits)
}

/** The longest part of what comes next that fits; the smallest that can be shown where not even that does. */
function longestPart(
  text: string,
  { start, covered }: Progress,
  cut: number,
  limits: SpanLimits,
): number {
  let [low, high] = [covered, Math.max(cut, covered + 1)]
  const whole = Math.min(text.length, start + limits.chunkSizeChars)
  if (cut <= covered + 1) high = whole
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (reachOf(text, start, middle, limits) >= middle) low = middle
    else high = middle
  }
  return safeCut(text, covered, Math.max(low, covered + 1))
}

function endOf(text: string, start: number, cut: number): number {
  let end = cut
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1
  return end
}

function restartOf(text: string, { start, covered }: Progress, limits: SpanLimits): number {
  const { chunkOverlapChars, chunkSizeChars, tokens } = limits
  // A span that is short because its tokens are many has an overlap in proportion.
  const taken = tokens === null ? chunkSizeChars : covered - start
  const share = Math.floor((chunkOverlapChars * taken) / chunkSizeChars)
  const overlap = Math.min(share, Math.floor(taken / 2))
  const earliest = Math.max(start + 1, covered - overlap)
  if (overlap === 0 || earliest >= covered) return covered
  const boundary = firstBoundary(text, earliest, covered)
  return boundary ?? Math.min(covered, safeCut(text, earliest - 1, earliest))
}
