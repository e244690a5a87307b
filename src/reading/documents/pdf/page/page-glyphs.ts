import { signsByCode } from '../../../twin-signs.ts'
import { type Font, type Glyph, LineDirection } from './fragment-text.ts'
import { type Drawn, drawnObjects, type PageFrame, pageFrame } from './page-objects.ts'
import type { PdfFile, Pdfium } from './pdf-file.ts'

export interface PageDrawing extends Drawn {
  readonly width: number
  readonly height: number
  /** Characters by direction, the most frequent direction first. */
  readonly directions: readonly (readonly Glyph[])[]
  /** The number of characters that their font does not identify. */
  readonly unknownCount: number
}

/** @throws Error if the page cannot be read */
export function pageDrawing(file: PdfFile, pageIndex: number): PageDrawing {
  const { calls } = file.pdfium
  const page = calls.FPDF_LoadPage(file.document, pageIndex)
  if (page === 0) throw new Error('it is missing or damaged')
  try {
    const text = calls.FPDFText_LoadPage(page)
    if (text === 0) throw new Error('its text cannot be read')
    try {
      const frame = pageFrame(file.pdfium, page)
      const { directions, unknownCount } = new GlyphReading(file.pdfium, text, frame).read()
      const [upright = [], ...others] = directions
      const values = fieldValues(file, page, frame)
      return {
        ...frame,
        ...drawnObjects(file.pdfium, page, frame),
        directions: [[...upright, ...values], ...others],
        unknownCount,
      }
    } finally {
      calls.FPDFText_ClosePage(text)
    }
  } finally {
    calls.FPDF_ClosePage(page)
  }
}

/** Properties of a text object that its characters share. */
interface Style {
  readonly font: Font
  readonly size: number
  readonly cos: number
  readonly sin: number
  readonly direction: number
}

class GlyphReading {
  readonly #pdfium: Pdfium
  readonly #text: number
  readonly #frame: PageFrame
  readonly #styles = new Map<number, Style>()
  readonly #fonts = new Map<number, Font>()
  readonly #directions = new Map<number, Glyph[]>()
  readonly #line: LineDirection
  #unknownCount = 0
  #isAfterGap = false

  constructor(pdfium: Pdfium, text: number, frame: PageFrame) {
    this.#pdfium = pdfium
    this.#text = text
    this.#frame = frame
    this.#line = new LineDirection((index) => pdfium.characters.FPDFText_GetUnicode(text, index))
  }

  read(): Pick<PageDrawing, 'directions' | 'unknownCount'> {
    const { calls } = this.#pdfium
    const count = Math.min(calls.FPDFText_CountChars(this.#text), GLYPHS_MAX)
    for (let index = 0; index < count; index += 1) {
      // Skip spaces and line ends that the library guessed. Eider derives its own from positions.
      if (this.#pdfium.characters.FPDFText_IsGenerated(this.#text, index) === 1) {
        this.#isAfterGap = true
        this.#line.pass(index)
        continue
      }
      const character = this.#characterAt(index)
      if (character !== '') this.#add(character, index)
      this.#isAfterGap = false
    }
    const directions = [...this.#directions.values()].sort((a, b) => b.length - a.length)
    return { directions, unknownCount: this.#unknownCount }
  }

  #characterAt(index: number): string {
    const code = this.#line.codeAt(index)
    // The library's code for a hyphen at the end of a line.
    if (code === 2 || code === 0xfffe) return '-'
    if (code === 0xad) return '\u00ad'
    const symbol = SYMBOLS.get(code)
    if (symbol !== undefined) return symbol
    if (isUnknown(code) || this.#isGuessed(code, index)) {
      this.#unknownCount += 1
      return ''
    }
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return code === 9 ? ' ' : ''
    // A lone surrogate is wrong, because the library returns both halves together.
    if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return ''
    return String.fromCodePoint(code)
  }

  /** Whether the code is only a shape's number. Checked for unusual codes only: calls are slow. */
  #isGuessed(code: number, index: number): boolean {
    const { characters } = this.#pdfium
    return code >= 0x250 && characters.FPDFText_HasUnicodeMapError(this.#text, index) === 1
  }

  #add(text: string, index: number): void {
    const { scratch } = this.#pdfium
    const style = this.#styleAt(index)
    if (this.#pdfium.characters.FPDFText_GetLooseCharBox(this.#text, index, scratch) === 0) return
    let [left, top, right, bottom] = this.#float32s()
    if (!(right > left)) {
      ;[left, top, right, bottom] = this.#tightBox(index)
    }
    this.#pdfium.characters.FPDFText_GetCharOrigin(this.#text, index, scratch, scratch + 8)
    const [x, y] = this.#shown(this.#pdfium.float64(0), this.#pdfium.float64(1))
    if (!this.#isOnPage(x, y, style.size)) return
    const [startX, startY] = this.#shown(left, top)
    const [endX, endY] = this.#shown(right, bottom)
    const start = startX * style.cos + startY * style.sin
    const end = endX * style.cos + endY * style.sin
    const glyph: Glyph = {
      text,
      x0: Math.min(start, end),
      x1: Math.max(start, end),
      baseline: y * style.cos - x * style.sin,
      size: style.size,
      font: style.font,
      order: index,
      isAfterGap: this.#isAfterGap,
    }
    const others = this.#directions.get(style.direction)
    const before = others?.at(-1)
    if (others === undefined) this.#directions.set(style.direction, [glyph])
    else if (before !== undefined && isSameSyllable(before, glyph)) {
      others[others.length - 1] = { ...before, text: (before.text + text).normalize('NFC') }
    } else others.push(glyph)
  }

  #float32s(): [number, number, number, number] {
    const at = (place: number) => this.#pdfium.float32(place)
    return [at(0), at(1), at(2), at(3)]
  }

  /** Returns left, right, bottom, top; only this call uses this order. */
  #tightBox(index: number): [number, number, number, number] {
    const { calls, scratch } = this.#pdfium
    calls.FPDFText_GetCharBox(this.#text, index, scratch, scratch + 8, scratch + 16, scratch + 24)
    const at = (place: number) => this.#pdfium.float64(place)
    return [at(0), at(3), at(1), at(2)]
  }

  #shown(x: number, y: number): [number, number] {
    const [a, b, c, d, e, f] = this.#frame.matrix
    return [a * x + c * y + e, b * x + d * y + f]
  }

  #isOnPage(x: number, y: number, size: number): boolean {
    const { width, height } = this.#frame
    return x > -size && x < width && y > 0 && y < height
  }

  #styleAt(index: number): Style {
    const object = this.#pdfium.characters.FPDFText_GetTextObject(this.#text, index)
    const known = this.#styles.get(object)
    if (known !== undefined) return known
    const style = this.#newStyle(index, object)
    this.#styles.set(object, style)
    return style
  }

  #newStyle(index: number, object: number): Style {
    const { calls, scratch } = this.#pdfium
    let [a, b, c, d] = [1, 0, 0, 1]
    if (calls.FPDFText_GetMatrix(this.#text, index, scratch) !== false) {
      ;[a, b, c, d] = this.#float32s()
    }
    const [ma, mb, mc, md] = this.#frame.matrix
    const [dx, dy] = [ma * a + mc * b, mb * a + md * b]
    const length = Math.hypot(dx, dy) || 1
    const angle = Math.round((Math.atan2(dy, dx) * 180) / Math.PI)
    return {
      font: this.#fontAt(index, object),
      size: Math.abs(calls.FPDFText_GetFontSize(this.#text, index)) * Math.hypot(c, d) || 1,
      cos: dx / length,
      sin: dy / length,
      direction: Math.round(angle / 5) * 5,
    }
  }

  #fontAt(index: number, object: number): Font {
    const { calls, scratch } = this.#pdfium
    const address = object === 0 ? 0 : calls.FPDFTextObj_GetFont(object)
    const known = this.#fonts.get(address)
    if (known !== undefined) return known
    const name = this.#pdfium
      .utf8((at, bytes) => calls.FPDFText_GetFontInfo(this.#text, index, at, bytes, scratch))
      .replace(/^[A-Z]{6}\+/, '')
    const flags = this.#pdfium.int32(0)
    const font: Font = {
      name,
      bold: BOLD.test(name) || (flags & FORCE_BOLD) !== 0,
      monospace: MONOSPACE.test(name) || (flags & FIXED_PITCH) !== 0,
    }
    this.#fonts.set(address, font)
    return font
  }
}

/** Read at most this many characters, which is more than any page has. */
const GLYPHS_MAX = 300_000
const FIXED_PITCH = 1
const FORCE_BOLD = 1 << 18
const BOLD = /bold|black|heavy|semibold|demi\b|cmbx|cmb\d|cmcsc|smallcaps|sfbx|ecbx|-bd\b|medi$/i
const MONOSPACE =
  /mono|courier|consol|typewriter|cmtt|cmsltt|cmitt|cmtcsc|sfst|sfit|sftt|ectt|lmtt|menlo|inconsolata|nimbusmon|fixed|cour\b/i

/** Private codes of symbol fonts for common symbols, and codes without a known meaning. */
const SYMBOLS = signsByCode(
  'f0b7• f0a7• f076• f0d8• f0fc✓ f06c• f06e• f071• f0e0→ f0e8→ f0ae→ f02d-',
)

/** The letters are drawn over each other; the vowel and last consonant have no width. */
function isSameSyllable(before: Glyph, { text, x0, baseline }: Glyph): boolean {
  return (
    text >= '\u1160' &&
    text <= '\u11ff' &&
    LEADING_LETTERS.test(before.text) &&
    x0 < before.x1 &&
    Math.abs(baseline - before.baseline) < before.size
  )
}

/** A syllable that may continue. */
const LEADING_LETTERS = /[\u1100-\u11ff\uac00-\ud7a3]$/

function isUnknown(code: number): boolean {
  const isPrivate = (code >= 0xe000 && code <= 0xf8ff) || code >= 0xf0000
  return isPrivate || code === 0xfffd || code === 0
}

/** Returns the values filled in on a page, each at the position of its field. */
function fieldValues(file: PdfFile, page: number, frame: PageFrame): Glyph[] {
  const { form } = file
  if (form === 0) return []
  const { calls } = file.pdfium
  const count = Math.min(calls.FPDFPage_GetAnnotCount(page), FIELDS_MAX)
  const values: Glyph[] = []
  for (let index = 0; index < count; index += 1) {
    const annotation = calls.FPDFPage_GetAnnot(page, index)
    if (annotation === 0) continue
    try {
      if (calls.FPDFAnnot_GetSubtype(annotation) !== WIDGET) continue
      const text = fieldText(file, annotation)
      if (text !== '') values.push(placed(file, annotation, text, frame))
    } finally {
      calls.FPDFPage_CloseAnnot(annotation)
    }
  }
  return values
}

function fieldText({ pdfium, form }: PdfFile, annotation: number): string {
  const { calls } = pdfium
  const type = calls.FPDFAnnot_GetFormFieldType(form, annotation)
  if (type === CHECK_BOX || type === RADIO_BUTTON) {
    return calls.FPDFAnnot_IsChecked(form, annotation) ? '[x]' : ''
  }
  if (type !== COMBO_BOX && type !== LIST_BOX && type !== TEXT_FIELD) return ''
  if ((calls.FPDFAnnot_GetFormFieldFlags(form, annotation) & PASSWORD) !== 0) return ''
  return pdfium
    .utf16((at, bytes) => calls.FPDFAnnot_GetFormFieldValue(form, annotation, at, bytes))
    .replace(/\s+/g, ' ')
    .trim()
}

/** Places a value at its field, as one wide character. */
function placed({ pdfium }: PdfFile, annotation: number, text: string, frame: PageFrame): Glyph {
  const { calls, scratch } = pdfium
  calls.FPDFAnnot_GetRect(annotation, scratch)
  const [a, b, c, d, e, f] = frame.matrix
  const corner = (x: number, y: number) => [a * x + c * y + e, b * x + d * y + f] as const
  const [left, top] = corner(pdfium.float32(0), pdfium.float32(1))
  const [right, bottom] = corner(pdfium.float32(2), pdfium.float32(3))
  const height = Math.abs(bottom - top)
  const size = Math.min(Math.max(height * 0.7, 4), 10)
  const isOneLine = height < 26
  const x0 = Math.min(left, right)
  return {
    text,
    x0,
    x1: Math.max(left, right, x0 + 1),
    baseline: isOneLine ? Math.max(top, bottom) - height * 0.28 : Math.min(top, bottom) + size,
    size,
    font: FIELD_FONT,
    order: Number.MAX_SAFE_INTEGER,
    isAfterGap: true,
  }
}

const FIELD_FONT: Font = { name: 'field', bold: false, monospace: false }
const FIELDS_MAX = 5000
/** `FPDF_ANNOT_WIDGET`, `FPDF_FORMFIELD_…` */
const WIDGET = 20
const CHECK_BOX = 2
const RADIO_BUTTON = 3
const COMBO_BOX = 4
const LIST_BOX = 5
const TEXT_FIELD = 6
const PASSWORD = 1 << 13
