import { attribute, child, elementsOf, type XmlElement } from '../../xml-tree.ts'

/** A paragraph style with its inherited properties. */
interface ParagraphStyle {
  /** From 1 to 9; null if it is not a heading. */
  readonly level: number | null
  readonly isTitle: boolean
  readonly isCode: boolean
  /** Whether it is an entry in a table of contents, which repeats a heading. */
  readonly isContents: boolean
  readonly numbering: Numbering | null
}

interface Numbering {
  readonly list: string
  /** Null if the list says which of its levels has this style. */
  readonly level: number | null
}

const PLAIN_PARAGRAPH: ParagraphStyle = {
  level: null,
  isTitle: false,
  isCode: false,
  isContents: false,
  numbering: null,
}

/** Word uses English style names in every language, but other programs do not. */
const HEADING =
  /^(?:heading|überschrift|titre|título|titolo|rubrik|kop|nagłówek|otsikko|nadpis|заголовок|标题|標題|見出し|제목)[ _]?([1-9])$/iu
const CODE =
  /^(source ?code|code( ?block)?|listing|html preformatted|preformatted( text)?|macro|verbatim)$/i

/** Word's outline level for body text. */
const BODY_LEVEL = 9

/** Word allows about ten. */
const STYLE_DEPTH_MAX = 100

export class DocxStyles {
  readonly #styles: ReadonlyMap<string, XmlElement>
  readonly #known = new Map<string, ParagraphStyle>()

  constructor(styles: XmlElement | undefined) {
    const all = elementsOf(child(styles, 'styles')).filter((one) => one.name === 'style')
    this.#styles = new Map(all.map((one) => [attribute(one, 'styleId') ?? '', one]))
  }

  /** @param depth how many styles led here, each based on the next */
  of(id: string | undefined, depth = 0): ParagraphStyle {
    if (id === undefined || depth > STYLE_DEPTH_MAX) return PLAIN_PARAGRAPH
    const known = this.#known.get(id)
    if (known !== undefined) return known
    // Set before reading on, because a style may be based on itself.
    this.#known.set(id, PLAIN_PARAGRAPH)
    const style = this.#resolved(id, depth)
    this.#known.set(id, style)
    return style
  }

  #resolved(id: string, depth: number): ParagraphStyle {
    const style = this.#styles.get(id)
    const base = this.of(attribute(child(style, 'basedOn'), 'val'), depth + 1)
    const name = attribute(child(style, 'name'), 'val') ?? id
    const properties = child(style, 'pPr')
    const isTitle = /^(title|titel|titre|título|titolo|标题|表題)$/iu.test(name)
    const named = HEADING.exec(name)?.[1]
    return {
      level: outlineLevel(properties) ?? (named === undefined ? null : Number(named)) ?? base.level,
      isTitle,
      isCode: CODE.test(name) || base.isCode,
      isContents: /^(toc|contents|table of figures|index)( \d| heading)?$/i.test(name),
      numbering: numberingOf(properties) ?? base.numbering,
    }
  }
}

/** Counted from 1; null if it is not set, or is that of body text. */
export function outlineLevel(properties: XmlElement | undefined): number | null {
  const level = Number.parseInt(attribute(child(properties, 'outlineLvl'), 'val') ?? '', 10)
  return level >= 0 && level < BODY_LEVEL ? level + 1 : null
}

export function numberingOf(properties: XmlElement | undefined): Numbering | null {
  const found = child(properties, 'numPr')
  const list = attribute(child(found, 'numId'), 'val')
  if (list === undefined) return null
  const level = Number.parseInt(attribute(child(found, 'ilvl'), 'val') ?? '', 10)
  return { list, level: Number.isInteger(level) ? Math.min(Math.max(level, 0), 8) : null }
}

interface ListLevel {
  readonly format: string
  /** For example `%1.%2`, with placeholders for the numbers of the levels. */
  readonly pattern: string
  readonly start: number
  readonly style: string | undefined
}

/** Generates the numbers and bullets of lists as Word does, because the text lacks them. */
export class DocxNumbering {
  readonly #abstracts: ReadonlyMap<string, XmlElement>
  readonly #lists: ReadonlyMap<string, XmlElement>
  readonly #levels = new Map<string, readonly (ListLevel | undefined)[]>()
  /** By abstract list: lists based on the same one continue its numbers. */
  readonly #counters = new Map<string, number[]>()
  readonly #restarted = new Set<string>()

  constructor(numbering: XmlElement | undefined) {
    const all = elementsOf(child(numbering, 'numbering'))
    const byId = (name: string, key: string) => {
      const found = all.filter((one) => one.name === name)
      return new Map(found.map((one) => [attribute(one, key) ?? '', one]))
    }
    this.#abstracts = byId('abstractNum', 'abstractNumId')
    this.#lists = byId('num', 'numId')
  }

  /** Counts a paragraph. Returns null if it has neither number nor bullet. */
  next(numbering: Numbering, styleId: string | undefined): Marked | null {
    const levels = this.#levelsOf(numbering.list)
    const styled = levels.findIndex((one) => one?.style !== undefined && one.style === styleId)
    const depth = numbering.level ?? Math.max(styled, 0)
    const level = levels[depth]
    if (level === undefined) return null
    const counters = this.#countersOf(numbering.list, depth)
    counters[depth] = (counters[depth] ?? level.start - 1) + 1
    counters.length = depth + 1
    if (level.format === 'none') return null
    if (level.format === 'bullet') return { depth, marker: '-', isBullet: true }
    const marker = level.pattern.replace(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1
      const of = levels[at]
      return formatted(counters[at] ?? of?.start ?? 1, of?.format ?? 'decimal')
    })
    return marker.trim() === '' ? null : { depth, marker: marker.trim(), isBullet: false }
  }

  #countersOf(list: string, depth: number): number[] {
    const abstract = attribute(child(this.#lists.get(list), 'abstractNumId'), 'val') ?? list
    const counters = this.#counters.get(abstract) ?? []
    this.#counters.set(abstract, counters)
    const override = elementsOf(this.#lists.get(list)).find((one) => {
      return one.name === 'lvlOverride' && attribute(one, 'ilvl') === String(depth)
    })
    const start = attribute(child(override, 'startOverride'), 'val')
    const key = `${list}:${depth}`
    if (start !== undefined && !this.#restarted.has(key)) {
      this.#restarted.add(key)
      counters[depth] = (Number.parseInt(start, 10) || 0) - 1
    }
    return counters
  }

  #levelsOf(list: string): readonly (ListLevel | undefined)[] {
    const known = this.#levels.get(list)
    if (known !== undefined) return known
    const number = this.#lists.get(list)
    const abstract = this.#linked(attribute(child(number, 'abstractNumId'), 'val') ?? '')
    const levels: (ListLevel | undefined)[] = []
    const overrides = elementsOf(number).flatMap((one) => elementsOf(one))
    for (const one of [...elementsOf(abstract), ...overrides]) {
      if (one.name !== 'lvl') continue
      const at = Number.parseInt(attribute(one, 'ilvl') ?? '', 10)
      if (at >= 0 && at < 9) levels[at] = listLevel(one)
    }
    this.#levels.set(list, levels)
    return levels
  }

  /** Resolves a list that only refers to a style with the levels. */
  #linked(id: string): XmlElement | undefined {
    const abstract = this.#abstracts.get(id)
    const link = attribute(child(abstract, 'numStyleLink'), 'val')
    if (link === undefined) return abstract
    const target = [...this.#abstracts.values()].find((one) => {
      return attribute(child(one, 'styleLink'), 'val') === link
    })
    return target ?? abstract
  }
}

export interface Marked {
  readonly depth: number
  readonly marker: string
  readonly isBullet: boolean
}

function listLevel(element: XmlElement): ListLevel {
  const value = (name: string) => attribute(child(element, name), 'val')
  return {
    format: value('numFmt') ?? 'decimal',
    pattern: value('lvlText') ?? '',
    start: Number.parseInt(value('start') ?? '1', 10) || 0,
    style: value('pStyle'),
  }
}

const ROMAN = 'm1000 cm900 d500 cd400 c100 xc90 l50 xl40 x10 ix9 v5 iv4 i1'.split(' ')

/** Formats a number for a list: `3`, `c`, `III`. */
export function formatted(number: number, format: string): string {
  if (number < 1 || number > 3999) return String(number)
  if (format === 'lowerLetter') return letters(number)
  if (format === 'upperLetter') return letters(number).toUpperCase()
  if (format === 'lowerRoman') return roman(number)
  if (format === 'upperRoman') return roman(number).toUpperCase()
  return format === 'decimalZero' ? String(number).padStart(2, '0') : String(number)
}

/** Continues after `z` with `aa`, `bb`, as Word does. */
function letters(number: number): string {
  const letter = String.fromCharCode(97 + ((number - 1) % 26))
  return letter.repeat(Math.min(Math.ceil(number / 26), 10))
}

function roman(number: number): string {
  let rest = number
  let written = ''
  for (const numeral of ROMAN) {
    const [sign = '', value = ''] = numeral.split(/(?=\d)(?<=[a-z])/)
    for (; rest >= Number(value); rest -= Number(value)) written += sign
  }
  return written
}
