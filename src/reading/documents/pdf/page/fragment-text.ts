import { twinSigns } from '../../../twin-signs.ts'

interface Line {
  readonly baseline: number
  readonly size: number
  /** Whether the page contains space characters. If not, words are separated only by gaps. */
  readonly spaced: boolean
  /** Whether the line is long enough that a raised number at its start belongs to a note. */
  readonly isLong: boolean
}

/** Returns the text of a line's characters in reading order. */
export function fragmentText(glyphs: readonly Glyph[], line: Line): string {
  const isRtl = glyphs.some((glyph) => RTL.test(glyph.text))
  const visual = [...glyphs].sort(isRtl ? byMiddle : byStart)
  const gapMin = wordGap(visual, line)
  let text = ''
  const pieces: string[] = []
  let end = Number.NEGATIVE_INFINITY
  let before: Glyph | null = null
  let hasSpace = false
  let waiting = ''
  for (const [index, glyph] of visual.entries()) {
    if (isJoinedSpace(glyph.text)) {
      hasSpace = before !== null
      end = Math.max(end, Math.min(glyph.x1, end + line.size * 0.1))
      continue
    }
    const mark = ACCENTS.get(glyph.text)
    const next = visual[index + 1]
    // TeX draws an accent before its letter.
    if (mark !== undefined && next !== undefined && isOver(glyph, next)) {
      waiting += mark
      continue
    }
    if (mark !== undefined && next !== undefined && isLostAccent(glyph, next, line)) {
      waiting += mark
      end += glyph.x1 - glyph.x0
      continue
    }
    if (before !== null && (hasSpace || isWordGap(before, glyph, end, gapMin * line.size))) {
      pieces.push(' ')
    }
    if (mark !== undefined && before !== null && isOver(glyph, before)) {
      pieces.push(mark)
      continue
    }
    pieces.push(waiting !== '' && glyph.text === 'ı' ? 'i' : writtenText(glyph, before, line))
    if (waiting !== '') pieces.push(waiting)
    waiting = ''
    end = Math.max(hasSpace ? glyph.x1 : end, glyph.x1)
    before = glyph
    hasSpace = false
  }
  text = (isRtl ? logical(pieces) : pieces).join('')
  // A combining mark above a letter is not a separate word.
  const composed = pieces.some((piece) => MARKS.has(piece)) ? text.normalize('NFC') : text
  return cyrillic(
    normalized(composed)
      .replace(/ (?=\p{M})/gu, '')
      .trim(),
  )
}

function byStart(a: Glyph, b: Glyph): number {
  return a.x0 - b.x0 || a.order - b.order
}

/** A space without width belongs after the character that ends to its left. */
function byMiddle(a: Glyph, b: Glyph): number {
  return a.x0 + a.x1 - b.x0 - b.x1 || b.order - a.order
}

export function isJoinedSpace(text: string): boolean {
  return text === ' ' || text === '\u00a0' || text === '\u3000'
}

/** In font sizes. Letter-spaced text has gaps everywhere, so only wider ones separate words. */
function wordGap(visual: readonly Glyph[], { size, spaced }: Line): number {
  const usual = spaced ? 0.25 : 0.15
  const gaps: number[] = []
  for (const [index, glyph] of visual.entries()) {
    const next = visual[index + 1]
    if (next === undefined || isJoinedSpace(glyph.text) || isJoinedSpace(next.text)) continue
    // Leader dots before a number are not letters.
    if (glyph.text === '..' || next.text === '..') continue
    gaps.push((next.x0 - glyph.x1) / size)
  }
  if (gaps.length < 4) return usual
  gaps.sort((a, b) => a - b)
  const median = gaps[gaps.length >> 1] ?? 0
  return median > usual * 0.6 ? median * 1.3 + 0.1 : usual
}

function isWordGap(before: Glyph, glyph: Glyph, end: number, gapMin: number): boolean {
  const gap = glyph.x0 - end
  // Half a gap is enough if the library also saw a space and the characters were drawn
  // consecutively.
  const isHinted = glyph.isAfterGap && glyph.order - before.order === 2
  if (isHinted && gap > gapMin * 0.45 && !WIDE.test(before.text) && !WIDE.test(glyph.text))
    return true
  const wide = [before, glyph].filter(({ text }) => WIDE.test(text)).length
  // The gap between an ideograph and a Latin letter is a quarter of the height; two ideographs have
  // no gap.
  return gap > (wide === 0 ? gapMin : Math.max(gapMin, glyph.size * (wide === 2 ? 0.6 : 0.35)))
}

/** Some fonts draw a letter and its accent separately. Either can be narrower than the other. */
function isOver(accent: Glyph, letter: Glyph): boolean {
  const shared = Math.min(accent.x1, letter.x1) - Math.max(accent.x0, letter.x0)
  const width = Math.min(letter.x1 - letter.x0, accent.x1 - accent.x0)
  return LETTER.test(letter.text) && shared > width * 0.6
}

/** An accent next to its letter, as in `M¨oller`, has no other meaning there. */
function isLostAccent(accent: Glyph, letter: Glyph, { size }: Line): boolean {
  const isNext = Math.abs(letter.x0 - accent.x1) < size * 0.15
  const mark = LOST_ACCENTS.has(accent.text) ? ACCENTS.get(accent.text) : undefined
  return mark !== undefined && isNext && `${letter.text}${mark}`.normalize('NFC').length === 1
}

/** Keeps digits raised: 10³ is not 103, and a note's number is not part of the word. */
function writtenText(glyph: Glyph, before: Glyph | null, line: Line): string {
  const digit = SUPERSCRIPTS.get(glyph.text)
  if (digit === undefined || (before === null && !line.isLong)) return glyph.text
  const isRaised = line.baseline - glyph.baseline > line.size * 0.2 && glyph.size < line.size * 0.85
  return isRaised ? digit : glyph.text
}

/** Reverses right-to-left text, but not words and numbers inside it. */
function logical(pieces: readonly string[]): string[] {
  const all = pieces.join('')
  const rtlCount = all.match(RTL_ALL)?.length ?? 0
  const ltrCount = all.match(LTR_ALL)?.length ?? 0
  return rtlCount >= ltrCount ? turned(pieces, LTR, RTL) : turnedWithin(pieces)
}

/** For a line that runs from right to left as a whole. */
function turned(pieces: readonly string[], kept: RegExp, turning: RegExp): string[] {
  const result: string[] = []
  let index = pieces.length - 1
  while (index >= 0) {
    if (!kept.test(pieces[index] ?? '')) {
      result.push(mirrored(pieces[index] ?? ''))
      index -= 1
      continue
    }
    // The range of consecutive Latin letters or digits, with the characters between them.
    let start = index
    for (let at = index; at >= 0 && !turning.test(pieces[at] ?? ''); at -= 1) {
      if (kept.test(pieces[at] ?? '')) start = at
    }
    result.push(...pieces.slice(start, index + 1))
    index = start - 1
  }
  return result
}

/** For a left-to-right line that contains right-to-left words. */
function turnedWithin(pieces: readonly string[]): string[] {
  const result: string[] = []
  let index = 0
  while (index < pieces.length) {
    if (!RTL.test(pieces[index] ?? '')) {
      result.push(pieces[index] ?? '')
      index += 1
      continue
    }
    let end = index
    for (let at = index; at < pieces.length && !LTR.test(pieces[at] ?? ''); at += 1) {
      if (RTL.test(pieces[at] ?? '')) end = at
    }
    result.push(...turned(pieces.slice(index, end + 1), LTR, RTL))
    index = end + 1
  }
  return result
}

function mirrored(piece: string): string {
  return MIRRORED.get(piece) ?? piece
}

/** Replaces ligatures, Arabic forms and radicals by what people type. */
function normalized(text: string): string {
  return SHAPES.test(text) ? text.replace(SHAPES_ALL, (shape) => shape.normalize('NFKC')) : text
}

const LETTER = /^\p{L}$/u
const ACCENTS = twinSigns(
  '´¨ˆ˜ˇ˚¯˘˝¸',
  '\u0301\u0308\u0302\u0303\u030c\u030a\u0304\u0306\u030b\u0327',
)
const MARKS: ReadonlySet<string> = new Set(ACCENTS.values())
const LOST_ACCENTS: ReadonlySet<string> = new Set('¨ˇ˚˝')
const MIRRORED = twinSigns('()[]{}«»<>', ')(][}{»«><')
const SUPERSCRIPTS = twinSigns('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹')
/** Without digits, which always run from left to right. */
const RTL = /[\u0590-\u065f\u066a-\u06ef\u06fa-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/
const RTL_ALL = new RegExp(RTL.source, 'g')
const LTR = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Nd}]/u
const LTR_ALL = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/gu
/** Without Korean, which has spaces between words. */
const WIDE = /[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]|[\u{20000}-\u{3ffff}]/u
const SHAPES = /[\ufb00-\ufdff\ufe70-\ufefc\u2e80-\u2fdf]/
const SHAPES_ALL = new RegExp(SHAPES.source, 'g')

/** A character's position on a page, in points. Text is upright, and `baseline` grows downwards. */
export interface Glyph {
  readonly text: string
  readonly x0: number
  readonly x1: number
  readonly baseline: number
  readonly size: number
  readonly font: Font
  /** Its index in the order in which the page draws characters. */
  readonly order: number
  /** Whether the library also takes the gap before it for a space. */
  readonly isAfterGap: boolean
}

export interface Font {
  readonly name: string
  readonly bold: boolean
  readonly monospace: boolean
}

/** Some fonts encode Cyrillic letters as Latin ones that look the same; a search misses them. */
function cyrillic(text: string): string {
  if (!CYRILLIC.test(text) || !LATIN.test(text)) return text
  const repaired = text.replace(WORD_GAPS, (word) => {
    if (!CYRILLIC.test(word) || !LATIN.test(word)) return word
    const own = word.replace(BESIDE_CYRILLIC, inCyrillic)
    const others = own.match(LATIN_ALL) ?? []
    // The word is mixed on purpose: a unit after a number, or a program's name with an ending.
    const isMeant = others.some((letter) => LOOKALIKES.get(letter) === undefined)
    if (isMeant || others.length > word.length / 2 || GLYPH_NAME.test(own)) return own
    return own.replace(LATIN_ALL, inCyrillic)
  })
  // In Ukrainian, a single "i" is the word for "and"; in Russian text, the letter is part of a
  // formula.
  return UKRAINIAN.test(repaired) ? repaired.replace(ALONE, inCyrillic) : repaired
}

function inCyrillic(letter: string): string {
  return LOOKALIKES.get(letter) ?? letter
}

const CYRILLIC = /[\u0400-\u04ff]/
const LATIN = /[A-Za-z]/
const LATIN_ALL = /[A-Za-z]/g
const WORD_GAPS = /[A-Za-z\u0400-\u04ff]+/g
const GLYPH_NAME = /[A-Za-z]{2}/
const UKRAINIAN = /[\u0404\u0406\u0407\u0454\u0456\u0457\u0490\u0491\u040e\u045e]/
const BESIDE_CYRILLIC = /(?<=[\u0400-\u04ff])[iI]|[iI](?=[\u0400-\u04ff])/g
const ALONE = /(?<=^|\s)[iI](?=\s[\u0400-\u04ff])|(?<=[\u0400-\u04ff,;:»]\s)[iI](?=\s|$)/g
const LOOKALIKES = twinSigns('ABCEHIJKMOPSTXaceijopsxy', 'АВСЕНІЈКМОРЅТХасеіјорѕху')

/** The library returns right-to-left text with mirrored brackets; this returns the drawn codes. */
export class LineDirection {
  readonly #codeOf: (index: number) => number
  /** The direction of the preceding letters; null if there are none yet. */
  #isFromRight: boolean | null = null

  constructor(codeOf: (index: number) => number) {
    this.#codeOf = codeOf
  }

  /** Skips a character that the library added: a space, or the end of the line. */
  pass(index: number): void {
    if (isLineEnd(this.#codeOf(index))) this.#isFromRight = null
  }

  codeAt(index: number): number {
    const code = this.#codeOf(index)
    // Latin letters are checked first, because this runs for every character.
    if (code >= 0x41 && code < 0x590) {
      if (BRACKETS.has(code)) return this.#drawn(code, index)
      if (code !== 0x5c && code !== 0x5e && code !== 0x5f && code !== 0x7c)
        this.#isFromRight = false
    } else if (code >= 0x30 && code <= 0x39) this.#isFromRight = false
    else if (isFromRight(code)) this.#isFromRight = true
    else if (code >= 0x3040 && code < 0xfb00) this.#isFromRight = false
    else if (BRACKETS.has(code)) return this.#drawn(code, index)
    return code
  }

  #drawn(code: number, index: number): number {
    this.#isFromRight ??= this.#nextIsFromRight(index)
    return this.#isFromRight ? (BRACKETS.get(code) ?? code) : code
  }

  #nextIsFromRight(index: number): boolean {
    for (let at = index + 1; at < index + LOOKED_AT; at += 1) {
      const code = this.#codeOf(at)
      if (isFromRight(code)) return true
      const isOther = code >= 0x30 && !BRACKETS.has(code)
      if (isOther || isLineEnd(code)) return false
    }
    return false
  }
}

/** Hebrew, Arabic and related scripts, but not digits, which always run from left to right. */
function isFromRight(code: number): boolean {
  if (code < 0x590 || (code > 0x8ff && code < 0xfb1d)) return false
  if (code > 0x8ff) return code <= 0xfdff || (code >= 0xfe70 && code <= 0xfefc)
  return !(code >= 0x660 && code <= 0x669) && !(code >= 0x6f0 && code <= 0x6f9)
}

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13
}

const BRACKETS: ReadonlyMap<number, number> = new Map(
  ['()', '[]', '{}', '<>', '«»'].flatMap((pair) => {
    const [open, close] = [pair.charCodeAt(0), pair.charCodeAt(1)]
    return [
      [open, close],
      [close, open],
    ] as const
  }),
)
const LOOKED_AT = 20
