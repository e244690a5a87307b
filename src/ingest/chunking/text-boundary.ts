import { ABBREVIATIONS } from '../../core/text/words.ts'

/** How good a position is for splitting. After `stop`, the sentence may continue. */
const BOUNDARY = { none: 0, word: 1, stop: 2, sentence: 3, line: 4, paragraph: 5 } as const

/** Examine at most this much white space before and after a position. */
const RUN_CHARS_MAX = 64
/** A cut avoids splitting up to this many combining marks. */
const MARKS_MAX = 16

const NEWLINE = 10
const ZERO_WIDTH_JOINER = 0x200d
/** Latin, Greek, Arabic, Urdu, Hindi, Armenian, Amharic, Khmer and Burmese. */
const SENTENCE_ENDS = codesOf('.!?…;؟۔।॥։።፧។៕။'.replace(';', '\u037e'))
/** These end a sentence without a space after them. */
const WIDE_SENTENCE_ENDS = codesOf('。！？｡．')
const CLOSERS = codesOf('"\')]}»”’›')
const WIDE_CLOSERS = codesOf('」』）】〉》〕”’')
const COMBINING_MARK = /^\p{M}/u

function codesOf(chars: string): ReadonlySet<number> {
  return new Set([...chars].map((char) => char.charCodeAt(0)))
}

export function isSpace(code: number): boolean {
  if (code < 0x80) return code === 32 || (code >= 9 && code <= 13)
  if (code === 0xa0 || code === 0xfeff || code === 0x1680 || code === 0x3000) return true
  if (code < 0x2000 || code > 0x205f) return false
  return code <= 0x200a || code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x205f
}

/** Returns the first position from `start` on that is not white space, at most `end`. */
export function afterSpace(text: string, start: number, end: number): number {
  const last = Math.min(end, text.length)
  let at = start
  while (at < last && isSpace(text.charCodeAt(at))) at += 1
  return at
}

/** Returns what ends right before `at`: a paragraph, a line, a sentence, a word, or nothing. */
function boundaryBefore(text: string, at: number): number {
  const first = Math.max(0, at - RUN_CHARS_MAX)
  let newlines = 0
  let before = at - 1
  while (before >= first && isSpace(text.charCodeAt(before))) {
    if (text.charCodeAt(before) === NEWLINE) newlines += 1
    before -= 1
  }
  if (before === at - 1) return isWideEnd(text, at) ? BOUNDARY.sentence : BOUNDARY.none
  if (newlines > 0) return newlines > 1 ? BOUNDARY.paragraph : BOUNDARY.line
  if (CLOSERS.has(text.charCodeAt(before))) before -= 1
  const code = text.charCodeAt(before)
  if (WIDE_SENTENCE_ENDS.has(code)) return BOUNDARY.sentence
  if (!SENTENCE_ENDS.has(code)) return BOUNDARY.word
  if (code !== DOT) return BOUNDARY.sentence
  if (isAbbreviation(text, before)) return BOUNDARY.word
  return /^\p{Ll}/u.test(text.slice(at, at + 2)) ? BOUNDARY.stop : BOUNDARY.sentence
}

/** Whether a sentence of a script without spaces ends here, including closing quotes. */
function isWideEnd(text: string, at: number): boolean {
  if (WIDE_CLOSERS.has(text.charCodeAt(at))) return false
  let before = at - 1
  while (before > at - 4 && WIDE_CLOSERS.has(text.charCodeAt(before))) before -= 1
  return WIDE_SENTENCE_ENDS.has(text.charCodeAt(before))
}

const DOT = 46
const ABBREVIATION_CHARS_MAX = 12
/** Whether the full stop belongs to an abbreviation, an initial or an ordinal number. */
function isAbbreviation(text: string, dot: number): boolean {
  let start = dot
  while (
    start > 0 &&
    dot - start < ABBREVIATION_CHARS_MAX &&
    isWordCode(text.charCodeAt(start - 1))
  ) {
    start -= 1
  }
  const word = text.slice(start, dot)
  // As in "e.g.", "z. B.", "J. Smith" and "3. Oktober".
  if (/^\p{L}$/u.test(word) || /^\d{1,2}$/.test(word)) return true
  return ABBREVIATIONS.has(word.toLowerCase())
}

function isWordCode(code: number): boolean {
  return code > 0x7f
    ? !isSpace(code)
    : (code >= 48 && code <= 57) || ((code | 32) >= 97 && (code | 32) <= 122)
}

const SEGMENTED_CHARS = 96
const wordSegmenter = lazySegmenter()

/** Creates the segmenter at its first use, because loading its tables would delay startup. */
function lazySegmenter(): () => Intl.Segmenter {
  let segmenter: Intl.Segmenter | undefined
  return () => {
    segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' })
    return segmenter
  }
}

/** `after < place <= limit`, between two words without a space, as in Chinese and Thai. */
export function wordBreak(text: string, after: number, limit: number): number | undefined {
  if (text.charCodeAt(limit) < 0x80 && text.charCodeAt(limit - 1) < 0x80) return undefined
  const first = Math.max(after, limit - SEGMENTED_CHARS)
  let place: number | undefined
  for (const { index } of wordSegmenter().segment(text.slice(first, limit + SEGMENTED_CHARS / 4))) {
    const at = first + index
    if (at > limit) break
    if (index > 0 && at > after && !isInsidePair(text, at) && !isInsideCluster(text, at)) place = at
  }
  return place
}

/** The best position to split with `after < place <= limit`. Of equally good ones, the last. */
export function lastBoundary(text: string, after: number, limit: number): number | undefined {
  let best: number = BOUNDARY.none
  let place: number | undefined
  // A word that ends at the limit fits, because the white space after it belongs to no chunk.
  for (let at = afterSpace(text, limit, limit + RUN_CHARS_MAX); at > after; at -= 1) {
    if (at <= limit && isSpace(text.charCodeAt(at))) continue
    const strength = boundaryBefore(text, at)
    if (strength > best) [best, place] = [strength, at]
    if (best === BOUNDARY.paragraph) break
    if (at > limit) at = limit + 1
  }
  return place
}

/** `start <= place < end`. Of equally good ones, the first. */
export function firstBoundary(text: string, start: number, end: number): number | undefined {
  let best: number = BOUNDARY.none
  let place: number | undefined
  for (let at = start; at < end; at += 1) {
    if (isSpace(text.charCodeAt(at))) continue
    const strength = boundaryBefore(text, at)
    if (strength > best) [best, place] = [strength, at]
    if (best === BOUNDARY.paragraph) break
  }
  return place
}

/** Does not split a visible character, for text without a boundary. */
export function safeCut(text: string, after: number, limit: number): number {
  const first = Math.max(after + 1, limit - MARKS_MAX)
  for (let at = limit; at >= first; at -= 1) {
    if (!isInsidePair(text, at) && !isInsideCluster(text, at)) return at
  }
  if (!isInsidePair(text, limit)) return limit
  return limit - 1 > after ? limit - 1 : limit + 1
}

function isInsidePair(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800
}

function isInsideCluster(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < 0x300) return text.charCodeAt(at - 1) === ZERO_WIDTH_JOINER
  if (code === ZERO_WIDTH_JOINER || text.charCodeAt(at - 1) === ZERO_WIDTH_JOINER) return true
  return COMBINING_MARK.test(text.slice(at, at + 2))
}
