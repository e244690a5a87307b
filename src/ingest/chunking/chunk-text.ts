import type { SentenceWindows } from '../../core/domain/knowledge-base.ts'
import type { TokenCounter } from '../../core/domain/ports/model-ports.ts'
import { sentenceSpans } from '../../core/text/words.ts'
import {
  afterSpace,
  firstBoundary,
  isSpace,
  lastBoundary,
  safeCut,
  wordBreak,
} from './text-boundary.ts'

/** A range of a text in UTF-16 code units. */
export interface TextSpan {
  readonly startChar: number
  readonly endChar: number
}

/**
 * Splits a text into overlapping spans within the limits: at the end of a paragraph, line, sentence
 * or word, in this order of preference, in the second half of the allowed length. A text that fits
 * is one unchanged span; the spans of a longer one are trimmed. Together they cover the whole text
 * except white space. Overlaps are at most half a span, so the work is linear in the length.
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
    if (start < covered && !isInside(text, { start, covered, reach }, cut, limits)) {
      // There is no room for an overlap, for example if one character takes several code units.
      start = covered
      reach = reachOf(text, start, text.length, limits)
      cut = cutOf(text, { start, covered, reach }, limits)
    }
    covered = withinTokens(text, { start, covered, reach }, cut, limits)
    yield { startChar: start, endChar: endOfPiece(text, start, covered) }
    start = restartOf(text, { start, covered, reach }, limits)
  }
}

interface Progress {
  readonly start: number
  readonly covered: number
  readonly reach: number
}

function isInside(text: string, progress: Progress, cut: number, limits: SpanLimits): boolean {
  const { start, covered, reach } = progress
  return reach > covered && endOfPiece(text, start, cut) - start <= limits.chunkSizeChars
}

/** Returns the end of the span before trimming. It is always beyond the covered text. */
function cutOf(
  text: string,
  { start, covered, reach }: Progress,
  { separators }: SpanLimits,
): number {
  if (reach >= text.length) return text.length
  // If not even one word fits, take a part of it.
  const limit = Math.max(reach, covered + 1)
  const after = Math.max(start + Math.floor((limit - start) / 2), covered)
  if (separators !== undefined) {
    return lastSeparator(text, after, limit, separators) ?? safeCut(text, covered, limit)
  }
  const boundary = lastBoundary(text, after, limit)
  return boundary ?? wordBreak(text, after, limit) ?? safeCut(text, covered, limit)
}

/** Returns the position after the last occurrence of the first separator that occurs. */
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

/**
 * Moves a cut back until the span fits: part of a word may have more tokens than the whole word.
 */
function withinTokens(text: string, progress: Progress, cut: number, limits: SpanLimits): number {
  if (limits.tokens === null) return cut
  const { start, covered, reach } = progress
  const isWhole = cut === text.length || isSpace(text.charCodeAt(cut - 1))
  if (reach > covered && isWhole) return cut
  const end = endOfPiece(text, start, cut)
  if (reach > covered && reachOf(text, start, end, limits) >= end) return cut
  return longestPart(text, progress, cut, limits)
}

/** The longest part of the following text that fits, or else its first visible character. */
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

function endOfPiece(text: string, start: number, cut: number): number {
  let end = cut
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1
  return end
}

function restartOf(text: string, { start, covered }: Progress, limits: SpanLimits): number {
  const { chunkOverlapChars, chunkSizeChars, tokens } = limits
  // If the token limit shortened the span, the overlap is reduced in proportion.
  const taken = tokens === null ? chunkSizeChars : covered - start
  const share = Math.floor((chunkOverlapChars * taken) / chunkSizeChars)
  const overlap = Math.min(share, Math.floor(taken / 2))
  const earliest = Math.max(start + 1, covered - overlap)
  if (overlap === 0 || earliest >= covered) return covered
  const boundary = firstBoundary(text, earliest, covered)
  return boundary ?? Math.min(covered, safeCut(text, earliest - 1, earliest))
}

export interface SpanLimits {
  readonly chunkSizeChars: number
  readonly chunkOverlapChars: number
  /** Null: only characters are counted. */
  readonly tokens: {
    readonly counter: TokenCounter
    readonly tokensMax: number
    /** The model's input limit. The text before a chunk may take a share of it. */
    readonly tokensAtOnce: number
  } | null
  /** Best first; '' means anywhere. By default at paragraphs, lines, sentences and words. */
  readonly separators?: readonly string[]
}

/** At most `end`; `start` if the first word alone is too long. */
function reachOf(text: string, start: number, end: number, limits: SpanLimits): number {
  const last = Math.min(end, start + limits.chunkSizeChars)
  if (limits.tokens === null) return last
  const { counter, tokensMax } = limits.tokens
  return counter.fit(text, start, last, tokensMax)
}

export function fits(text: string, start: number, end: number, limits: SpanLimits): boolean {
  return end - start <= limits.chunkSizeChars && reachOf(text, start, end, limits) >= end
}

export function limitsBelow(limits: SpanLimits, context: string): SpanLimits {
  if (limits.tokens === null || context === '') return limits
  const { counter, tokensMax, tokensAtOnce } = limits.tokens
  const taken = counter.count(context)
  const [left, leftAtOnce] = [tokensMax, tokensAtOnce].map((max) => Math.max(1, max - taken))
  return { ...limits, tokens: { counter, tokensMax: left ?? 1, tokensAtOnce: leftAtOnce ?? 1 } }
}

/** Counts bytes, because a token has at least one byte. */
export const BYTE_COUNTER: TokenCounter = {
  count: (text) => Buffer.byteLength(text),
  fit(text, start, end, tokensMax) {
    let bytes = 0
    for (let at = start; at < end; ) {
      const code = text.codePointAt(at) ?? 0
      bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
      if (bytes > tokensMax) return at
      at += code > 0xffff ? 2 : 1
    }
    return end
  },
}

/** A span with what is known about its place in the text. */
export interface TextPiece extends TextSpan {
  /**
   * The headings above its first character, outermost first, without a heading in the span itself.
   */
  readonly above: readonly string[]
  /** All headings, including one in the span itself. */
  readonly headings: readonly string[]
  /** Further text that is repeated before it when it is embedded, such as a table header. */
  readonly repeated: string
}

export function lineEnd(text: string, start: number): number {
  const newline = text.indexOf('\n', start)
  return newline === -1 ? text.length : newline + 1
}

/** Trims trailing white space. Null if nothing else is left. */
export function trimmedSpan(text: string, { startChar, endChar }: TextSpan): TextSpan | null {
  let end = endChar
  while (end > startChar && isSpace(text.charCodeAt(end - 1))) end -= 1
  return end === startChar ? null : { startChar, endChar: end }
}

export function* chunkLines(
  text: string,
  { startChar, endChar }: TextSpan,
  limitsAt: (startChar: number) => SpanLimits,
): Generator<TextSpan> {
  let start = startChar
  let end = startChar
  for (let line = startChar; line < endChar; ) {
    const next = Math.min(lineEnd(text, line), endChar)
    const trimmed = trimmedSpan(text, { startChar: start, endChar: next })
    if (trimmed === null) {
      start = next
      end = next
    } else if (fits(text, start, trimmed.endChar, limitsAt(start))) end = next
    else {
      yield* spansBetween(text, start, end)
      const own = trimmedSpan(text, { startChar: line, endChar: next })
      const isWhole = own !== null && fits(text, line, own.endChar, limitsAt(line))
      if (!isWhole) yield* shifted(chunkText(text.slice(line, next), limitsAt(line)), line)
      start = isWhole ? line : next
      end = next
    }
    line = next
  }
  yield* spansBetween(text, start, end)
}

function* spansBetween(text: string, startChar: number, endChar: number): Generator<TextSpan> {
  const span = trimmedSpan(text, { startChar, endChar })
  if (span !== null) yield span
}

export function* shifted(spans: Iterable<TextSpan>, by: number): Generator<TextSpan> {
  for (const { startChar, endChar } of spans) {
    yield { startChar: startChar + by, endChar: endChar + by }
  }
}

/** Yields overlapping windows of sentences. A sentence that does not fit is split like text. */
export function* chunkSentences(
  text: string,
  { windowSize, windowOverlap }: SentenceWindows,
  limits: SpanLimits,
): Generator<TextSpan> {
  let window: TextSpan[] = []
  let hasNew = false
  const span = (): TextSpan[] => {
    const [first, last] = [window[0], window.at(-1)]
    if (first === undefined || last === undefined || !hasNew) return []
    hasNew = false
    return [{ startChar: first.startChar, endChar: last.endChar }]
  }
  const whole = { start: 0, end: text.length }
  for (const { start: startChar, end: endChar } of sentenceSpans(text, whole)) {
    if (!fits(text, startChar, endChar, limits)) {
      yield* span()
      window = []
      yield* shifted(chunkText(text.slice(startChar, endChar), limits), startChar)
      continue
    }
    const isFull = window.length >= windowSize
    if (isFull || !fits(text, window[0]?.startChar ?? startChar, endChar, limits)) {
      yield* span()
      window = windowOverlap === 0 ? [] : window.slice(-windowOverlap)
      while (!fits(text, window[0]?.startChar ?? startChar, endChar, limits)) window.shift()
    }
    window.push({ startChar, endChar })
    hasNew = true
  }
  yield* span()
}
