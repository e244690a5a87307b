/** How good a position is for a cut, larger is better. After a full stop, a sentence may continue. */
export const BOUNDARY = { none: 0, word: 1, stop: 2, sentence: 3, line: 4, paragraph: 5 } as const

/** White space examined before and after a position; a longer run counts as its nearest part. */
const RUN_CHARS_MAX = 64
/** Combining marks in a row that a cut avoids. */
const MARKS_MAX = 16

const NEWLINE = 10
const ZERO_WIDTH_JOINER = 0x200d
/** Latin, Greek, Arabic, Urdu, Hindi, Armenian, Amharic, Khmer and Burmese full stops and question marks. */
const SENTENCE_ENDS = codesOf('.!?…;؟۔।॥։።፧។៕။'.replace(';', '\u037e'))
/** They end a sentence without a space after them. */
const WIDE_SENTENCE_ENDS = codesOf('。！？｡．')
const CLOSERS = codesOf('"\')]}»”’›')
const WIDE_CLOSERS = codesOf('」』）】〉》〕”’')
const COMBINING_MARK = /^\p{M}/u

function codesOf(chars: string): ReadonlySet<number> {
  return new Set([...chars].map((char) => char.charCodeAt(0)))
}

/** White space as `String.prototype.trim` knows it. */
export function isSpace(code: number): boolean {
  if (code < 0x80) return code === 32 || (code >= 9 && code <= 13)
  if (code === 0xa0 || code === 0xfeff || code === 0x1680 || code === 0x3000) return true
  if (code < 0x2000 || code > 0x205f) return false
  return code <= 0x200a || code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x205f
}

/** The first position from `start` on without white space, at most `end`. */
export function afterSpace(text: string, start: number, end: number): number {
  const last = Math.min(end, text.length)
  let at = start
  while (at < last && isSpace(text.charCodeAt(at))) at += 1
  return at
}

/** What ends just before `at`: a paragraph, a line, a sentence, a word, or nothing. */
export function boundaryBefore(text: string, at: number): number {
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

/** A full stop of a script without spaces, with the quotes that it closes. */
function isWideEnd(text: string, at: number): boolean {
  if (WIDE_CLOSERS.has(text.charCodeAt(at))) return false
  let before = at - 1
  while (before > at - 4 && WIDE_CLOSERS.has(text.charCodeAt(before))) before -= 1
  return WIDE_SENTENCE_ENDS.has(text.charCodeAt(before))
}

const DOT = 46
const ABBREVIATION_CHARS_MAX = 12
/** Abbreviations that precede other words: their dot does not end a sentence. */
const ABBREVIATIONS = new Set(
  (
    'mr mrs ms dr prof st sr jr gen col capt hon rev no nr vol pp p fig figs eq eqs sec ch art op cf vs viz approx ca ' +
    'abs aufl bd bzw dipl evtl ggf hrsg inkl max min mio mrd sog str tel usw vgl zzgl mme mlle av env ej pág núm sra ' +
    'тыс млн млрд им ул рис табл стр см др'
  ).split(' '),
)

/** Whether a full stop is that of an abbreviation, an initial or an ordinal. */
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
  // Such as "e.g.", "z. B.", "J. Smith" and "3. Oktober".
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

/** Created with the first text that needs it: a start does not wait for its tables. */
function lazySegmenter(): () => Intl.Segmenter {
  let segmenter: Intl.Segmenter | undefined
  return () => {
    segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' })
    return segmenter
  }
}

/** The last position between two words without white space, as in Chinese and Thai: `after < place <= limit`. */
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

/** The best position to cut in `after < place <= limit`, the last of its kind; undefined: none. */
export function lastBoundary(text: string, after: number, limit: number): number | undefined {
  let best: number = BOUNDARY.none
  let place: number | undefined
  // A word that ends at the limit may be kept whole: the white space after it belongs to no chunk.
  for (let at = afterSpace(text, limit, limit + RUN_CHARS_MAX); at > after; at -= 1) {
    if (at <= limit && isSpace(text.charCodeAt(at))) continue
    const strength = boundaryBefore(text, at)
    if (strength > best) [best, place] = [strength, at]
    if (best === BOUNDARY.paragraph) break
    if (at > limit) at = limit + 1
  }
  return place
}

/** The best position to start again in `start <= place < end`, the first of its kind. */
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

/** The nearest position to cut without a boundary, `after < place`: never inside a visible character. */
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
