import type { SentenceWindows } from '../../core/domain/knowledge-base.ts'
import type { TokenCounter } from '../../core/domain/ports/model-ports.ts'
import {
  afterSpace,
  BOUNDARY,
  boundaryBefore,
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
 * order, within the second half of the allowed length. A text that fits is one span as it is; the spans of a longer one
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
    if (start < covered && !isInside(text, { start, covered, reach }, cut, limits)) {
      // The overlap leaves no room, such as for a character of several units: the span goes without it.
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
  /** The start of the span. */
  readonly start: number
  /** Up to where earlier spans reach. */
  readonly covered: number
  /** The furthest end of this one. */
  readonly reach: number
}

function isInside(text: string, progress: Progress, cut: number, limits: SpanLimits): boolean {
  const { start, covered, reach } = progress
  return reach > covered && endOfPiece(text, start, cut) - start <= limits.chunkSizeChars
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

/** After the last occurrence of the first separator that occurs. */
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
  const end = endOfPiece(text, start, cut)
  if (reach > covered && reachOf(text, start, end, limits) >= end) return cut
  return longestPart(text, progress, cut, limits)
}

/** The longest part of the following text that fits; if none does, the smallest that can be shown. */
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
  // A span that is short because its tokens are many has an overlap in proportion.
  const taken = tokens === null ? chunkSizeChars : covered - start
  const share = Math.floor((chunkOverlapChars * taken) / chunkSizeChars)
  const overlap = Math.min(share, Math.floor(taken / 2))
  const earliest = Math.max(start + 1, covered - overlap)
  if (overlap === 0 || earliest >= covered) return covered
  const boundary = firstBoundary(text, earliest, covered)
  return boundary ?? Math.min(covered, safeCut(text, earliest - 1, earliest))
}

/** The length limits of a span. */
export interface SpanLimits {
  readonly chunkSizeChars: number
  readonly chunkOverlapChars: number
  /** null: only characters count. */
  readonly tokens: {
    readonly counter: TokenCounter
    readonly tokensMax: number
    /** The text before a chunk takes a share of these. */
    readonly tokensAtOnce: number
  } | null
  /** Where to cut, the best first; '' is anywhere. Missing: at paragraphs, lines, sentences and words. */
  readonly separators?: readonly string[]
}

/** How far a span from `start` may reach, at most `end`. `start`: its first word has too many tokens. */
function reachOf(text: string, start: number, end: number, limits: SpanLimits): number {
  const last = Math.min(end, start + limits.chunkSizeChars)
  if (limits.tokens === null) return last
  const { counter, tokensMax } = limits.tokens
  return counter.fit(text, start, last, tokensMax)
}

export function fits(text: string, start: number, end: number, limits: SpanLimits): boolean {
  return end - start <= limits.chunkSizeChars && reachOf(text, start, end, limits) >= end
}

/** The room left for the content after this text. */
export function limitsBelow(limits: SpanLimits, context: string): SpanLimits {
  if (limits.tokens === null || context === '') return limits
  const { counter, tokensMax, tokensAtOnce } = limits.tokens
  const taken = counter.count(context)
  const [left, leftAtOnce] = [tokensMax, tokensAtOnce].map((max) => Math.max(1, max - taken))
  return { ...limits, tokens: { counter, tokensMax: left ?? 1, tokensAtOnce: leftAtOnce ?? 1 } }
}

/** A token has at least one byte. */
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

/** A span with its known position. */
export interface TextPiece extends TextSpan {
  /** The headings above its first character, outermost first, without its own. */
  readonly above: readonly string[]
  /** All of them. */
  readonly headings: readonly string[]
  /** Further text repeated before it when it is embedded, such as a table header. */
  readonly repeated: string
}

/** The end of the line that starts there, with its line feed. */
export function lineEnd(text: string, start: number): number {
  const newline = text.indexOf('\n', start)
  return newline === -1 ? text.length : newline + 1
}

/** The span without trailing white space; null: it has nothing else. */
export function trimmedSpan(text: string, { startChar, endChar }: TextSpan): TextSpan | null {
  let end = endChar
  while (end > startChar && isSpace(text.charCodeAt(end - 1))) end -= 1
  return end === startChar ? null : { startChar, endChar: end }
}

/** Spans of as many whole lines as fit; a line that does not fit is cut like text. */
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

/** Windows of sentences, each overlapping the previous one; a sentence that does not fit is cut like text. */
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
  for (const sentence of sentencesOf(text)) {
    const { startChar, endChar } = sentence
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
    window.push(sentence)
    hasNew = true
  }
  yield* span()
}

/** The sentences of a text, without white space around them; a line that ends a paragraph ends one too. */
function* sentencesOf(text: string): Generator<TextSpan> {
  let start = 0
  for (let at = 1; at <= text.length; at += 1) {
    if (at < text.length) {
      if (isSpace(text.charCodeAt(at))) continue
      const strength = boundaryBefore(text, at)
      if (strength !== BOUNDARY.sentence && strength !== BOUNDARY.paragraph) continue
    }
    let first = start
    while (first < at && isSpace(text.charCodeAt(first))) first += 1
    const span = trimmedSpan(text, { startChar: first, endChar: at })
    if (span !== null) yield span
    start = at
  }
}
