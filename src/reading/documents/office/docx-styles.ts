import { attribute, child, elementsOf, type XmlElement } from '../../xml-tree.ts'

/** What the style of a paragraph says about it, with all that it is based on. */
export interface ParagraphStyle {
  /** 1 to 9; null: no heading. */
  readonly level: number | null
  readonly isTitle: boolean
  readonly isCode: boolean
  /** An entry of a table of contents, which repeats headings. */
  readonly isContents: boolean
  readonly numbering: Numbering | null
}

export interface Numbering {
  readonly list: string
  /** null: the list says which level has this style. */
  readonly level: number | null
}

const PLAIN: ParagraphStyle = {
  level: null,
  isTitle: false,
  isCode: false,
  isContents: false,
  numbering: null,
}

/** Word writes English names in every language; other programs do not. */
const HEADING =
  /^(?:heading|überschrift|titre|título|titolo|rubrik|kop|nagłówek|otsikko|nadpis|заголовок|标题|標題|見出し|제목)[ _]?([1-9])$/iu
const CODE =
  /^(source ?code|code( ?block)?|listing|html preformatted|preformatted( text)?|macro|verbatim)$/i

/** Word's body text, as an outline level. */
const BODY_LEVEL = 9

export class DocxStyles {
  readonly #styles: ReadonlyMap<string, XmlElement>
  readonly #known = new Map<string, ParagraphStyle>()

  constructor(styles: XmlElement | undefined) {
    const all = elementsOf(child(styles, 'styles')).filter((one) => one.name === 'style')
    this.#styles = new Map(all.map((one) => [attribute(one, 'styleId') ?? '', one]))
  }

  of(id: string | undefined): ParagraphStyle {
    if (id === undefined) return PLAIN
    const known = this.#known.get(id)
    if (known !== undefined) return known
    // Set first: a style may be based on itself.
    this.#known.set(id, PLAIN)
    const style = this.#resolved(id)
    this.#known.set(id, style)
    return style
  }

  #resolved(id: string): ParagraphStyle {
    const style = this.#styles.get(id)
    const base = this.of(attribute(child(style, 'basedOn'), 'val'))
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

/** From 1; null: it says nothing, or body text. */
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
