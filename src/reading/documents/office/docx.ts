import type { RawDocument, ReadDocument } from '../../../core/domain/ports/reading-ports.ts'
import { type ReadingNotes, unreadable, wholeDocument } from '../../document-format.ts'
import {
  attribute,
  child,
  descendants,
  elementsOf,
  isElement,
  textOf,
  type XmlElement,
} from '../../xml-tree.ts'
import { DocxNumbering, DocxStyles, type Marked, numberingOf, outlineLevel } from './docx-styles.ts'
import { equationText, isHidden, placedText, symbolText } from './docx-text.ts'
import { type Block, markdownOfBlocks, titleOfBlocks, withWholeTitle } from './markdown-blocks.ts'
import { OfficePackage } from './office-package.ts'

export function* readDocx({ bytes }: RawDocument, notes: ReadingNotes): Generator<ReadDocument> {
  const office = new OfficePackage(bytes)
  const main = office.mainPart('word/document.xml')
  const body = child(office.part(main), 'document', 'body')
  if (body === undefined) {
    throw unreadable(`The DOCX has no text part (${main})`)
  }
  const scans = scansOf(office, main, notes)
  const parts = { ...packageParts(office, main), scans }
  const first = new DocxBody(parts, true)
  const read = first.read(body)
  // If a field has no end, it would hide the rest of the text, so read again with fields hiding
  // nothing.
  const blocks = withWholeTitle(first.hasOpenField ? new DocxBody(parts, false).read(body) : read)
  const unread = [...descendants(body, 'altChunk')].length
  if (unread > 0) notes.warn(`${unread} embedded documents of the DOCX are not read`)
  const { title, columns } = office.properties()
  yield wholeDocument({
    content: markdownOfBlocks(blocks),
    title: title ?? titleOfBlocks(blocks),
    syntax: 'markdown',
    columns,
  })
}

interface DocxParts {
  readonly styles: XmlElement | undefined
  readonly numbering: XmlElement | undefined
  readonly notes: ReadonlyMap<string, XmlElement>
  /** Returns marks for the pictures that a model should read. */
  readonly scans: (drawing: XmlElement) => readonly string[]
}

/** The body may be read twice, but each picture is taken only once. */
function scansOf(office: OfficePackage, main: string, notes: ReadingNotes): DocxParts['scans'] {
  const known = new Map<XmlElement, readonly string[]>()
  const related = office.relationships(main)
  return (drawing) => {
    const marks =
      known.get(drawing) ?? office.scans(drawing, related, { notes, place: 'a picture' })
    known.set(drawing, marks)
    return marks
  }
}

function packageParts(office: OfficePackage, main: string): Omit<DocxParts, 'scans'> {
  const related = [...office.relationships(main).values()]
  const part = (type: string) => office.part(related.find((one) => one.type === type)?.path)
  return {
    styles: part('styles'),
    numbering: part('numbering'),
    notes: new Map([
      ...notesOf(part('footnotes'), 'footnote'),
      ...notesOf(part('endnotes'), 'endnote'),
    ]),
  }
}

/** Separators between text and notes are stored as notes with a type. Leave them out. */
function notesOf(part: XmlElement | undefined, name: string): readonly [string, XmlElement][] {
  const found = [...descendants(part, name)].filter((one) => {
    return /^(normal)?$/.test(attribute(one, 'type') ?? '')
  })
  return found.map((one) => [`${name}:${attribute(one, 'id')}`, one])
}

/** Fields whose result repeats other text or is invisible. */
const REPEATING_FIELD = /^\s*\\?(TOC|INDEX|TOA|RD|XE|TC|TA)\b/
const DELETED_TEXT = new Set(['del', 'moveFrom'])
/** Elements that wrap blocks, rows, cells or text. */
const WRAPPERS = new Set([
  ...['ins', 'moveTo', 'customXml', 'smartTag', 'sdtContent', 'hyperlink', 'dir', 'bdo'],
  ...['ruby', 'rubyBase', 'Choice', 'Fallback', 'r'],
])

class DocxBody {
  readonly #styles: DocxStyles
  readonly #numbering: DocxNumbering
  readonly #notes: ReadonlyMap<string, XmlElement>
  readonly #scans: DocxParts['scans']
  readonly #hidesFields: boolean
  readonly #fields: { instruction: string; isResult: boolean }[] = []
  /** Text boxes and notes to add after the current paragraph. */
  #after: Block[] = []
  #noteCount = 0

  constructor(parts: DocxParts, hidesFields: boolean) {
    this.#styles = new DocxStyles(parts.styles)
    this.#numbering = new DocxNumbering(parts.numbering)
    this.#notes = parts.notes
    this.#scans = parts.scans
    this.#hidesFields = hidesFields
  }

  get hasOpenField(): boolean {
    return this.#fields.length > 0
  }

  read(container: XmlElement): Block[] {
    return elementsOf(container).flatMap((one) => this.#blocksOf(one))
  }

  #blocksOf(element: XmlElement): Block[] {
    if (element.name === 'p') return this.#paragraph(element)
    if (element.name === 'tbl') return [this.#table(element)]
    if (element.name === 'oMathPara') return [{ kind: 'paragraph', text: equationText(element) }]
    return this.#unwrapped(element).flatMap((one) => this.#blocksOf(one))
  }

  /** Returns the content of a wrapper; empty if it has none. */
  #unwrapped(element: XmlElement): readonly XmlElement[] {
    if (element.name === 'AlternateContent') {
      return [child(element, 'Choice') ?? child(element, 'Fallback')].filter(
        (one) => one !== undefined,
      )
    }
    if (element.name === 'sdt') return contentOfControl(element)
    return WRAPPERS.has(element.name) ? elementsOf(element) : []
  }

  #paragraph(paragraph: XmlElement): Block[] {
    const outer = this.#after
    this.#after = []
    const properties = child(paragraph, 'pPr')
    const styleId = attribute(child(properties, 'pStyle'), 'val')
    const style = this.#styles.of(styleId)
    const text = this.#text(paragraph).replaceAll('\u00a0', ' ')
    const after = this.#after
    this.#after = outer
    if (style.isContents) return after
    if (style.isCode) return [{ kind: 'code', text }, ...after]
    if (text.trim() === '') return after
    const level = outlineLevel(properties) ?? style.level ?? (style.isTitle ? 1 : null)
    const numbering = numberingOf(properties) ?? style.numbering
    const marked = numbering === null ? null : this.#numbering.next(numbering, styleId)
    const block = blockOf(text.trim(), level, marked)
    const isTitle = style.isTitle && block.kind === 'heading'
    return [isTitle ? { ...block, isTitle } : block, ...after]
  }

  #text(element: XmlElement): string {
    return elementsOf(element)
      .map((one) => this.#inline(one))
      .join('')
  }

  #inline(element: XmlElement): string {
    if (DELETED_TEXT.has(element.name)) return ''
    if (element.name === 'r') return isHidden(element) ? '' : this.#run(element)
    if (element.name === 'fldSimple') {
      const hides = REPEATING_FIELD.test(attribute(element, 'instr') ?? '')
      return hides && this.#hidesFields ? '' : this.#text(element)
    }
    if (/^oMath(Para)?$/.test(element.name)) return equationText(element)
    return this.#unwrapped(element)
      .map((one) => this.#inline(one))
      .join('')
  }

  #run(run: XmlElement): string {
    const place = attribute(child(run, 'rPr', 'vertAlign'), 'val')
    const text = elementsOf(run)
      .map((one) => this.#piece(one))
      .join('')
    return placedText(text, place)
  }

  #piece(piece: XmlElement): string {
    if (piece.name === 'fldChar') return this.#field(attribute(piece, 'fldCharType'))
    if (piece.name === 'instrText') {
      const field = this.#fields.at(-1)
      if (field !== undefined && field.instruction.length < 1000) field.instruction += textOf(piece)
      return ''
    }
    if (this.#isHiddenByField()) return ''
    if (piece.name === 't') return textOf(piece)
    return PIECES[piece.name] ?? this.#special(piece)
  }

  #special(piece: XmlElement): string {
    if (piece.name === 'br')
      return /^(page|column)$/.test(attribute(piece, 'type') ?? '') ? '' : '\n'
    if (piece.name === 'sym') return symbolText(piece)
    const note = /^(footnote|endnote)Reference$/.exec(piece.name)?.[1]
    if (note !== undefined) return this.#note(`${note}:${attribute(piece, 'id')}`)
    if (/^(drawing|pict|object)$/.test(piece.name)) {
      for (const box of descendants(piece, 'txbxContent')) this.#after.push(...this.read(box))
      for (const text of this.#scans(piece)) this.#after.push({ kind: 'paragraph', text })
      return ''
    }
    return this.#unwrapped(piece)
      .map((one) => (one.name === 'r' ? this.#inline(one) : this.#piece(one)))
      .join('')
  }

  #field(type: string | undefined): string {
    if (type === 'begin') this.#fields.push({ instruction: '', isResult: false })
    const field = this.#fields.at(-1)
    if (type === 'separate' && field !== undefined) field.isResult = true
    if (type === 'end') this.#fields.pop()
    return ''
  }

  #isHiddenByField(): boolean {
    if (!this.#hidesFields) return false
    return this.#fields.some((one) => !one.isResult || REPEATING_FIELD.test(one.instruction))
  }

  /** Returns the mark of a note. The note itself comes right after its paragraph. */
  #note(key: string): string {
    const note = this.#notes.get(key)
    if (note === undefined) return ''
    this.#noteCount += 1
    const mark = `[^${this.#noteCount}]`
    const outer = this.#after
    this.#after = []
    const [first, ...rest] = this.read(note)
    const begin = first !== undefined && 'text' in first ? first.text : ''
    const others = first !== undefined && !('text' in first) ? [first, ...rest] : rest
    this.#after = [...outer, { kind: 'paragraph', text: `${mark}: ${begin}` }, ...others]
    return mark
  }

  #table(table: XmlElement): Block {
    const rows = this.#within(table, 'tr').filter((row) => child(row, 'trPr', 'del') === undefined)
    return { kind: 'table', rows: rows.map((row) => this.#cells(row)) }
  }

  #cells(row: XmlElement): (readonly Block[])[] {
    const before = span(child(row, 'trPr', 'gridBefore')) ?? 0
    const cells: (readonly Block[])[] = Array.from({ length: before }, () => [])
    for (const cell of this.#within(row, 'tc')) {
      const properties = child(cell, 'tcPr')
      const merge = child(properties, 'vMerge')
      const isCovered = merge !== undefined && attribute(merge, 'val') !== 'restart'
      cells.push(isCovered ? [] : this.read(cell))
      const covered = (span(child(properties, 'gridSpan')) ?? 1) - 1
      for (let at = 0; at < covered; at += 1) cells.push([])
    }
    return cells
  }

  /** Returns the children of that name, including those inside wrappers. */
  #within(element: XmlElement, name: string): readonly XmlElement[] {
    return elementsOf(element).flatMap((one) => {
      if (one.name === name) return [one]
      return this.#unwrapped(one).flatMap((inner) => {
        return inner.name === name ? [inner] : this.#within(inner, name)
      })
    })
  }
}

const PIECES: Readonly<Record<string, string>> = {
  tab: '\t',
  ptab: '\t',
  cr: '\n',
  noBreakHyphen: '-',
  softHyphen: '',
}

function blockOf(text: string, level: number | null, marked: Marked | null): Block {
  if (level !== null) {
    const number = marked === null || marked.isBullet ? '' : `${marked.marker} `
    return { kind: 'heading', level, text: number + text }
  }
  if (marked === null) return { kind: 'paragraph', text }
  return { kind: 'item', depth: marked.depth, marker: marked.marker, text }
}

/** Returns the content of a control; nothing for a table of contents or a placeholder. */
function contentOfControl(control: XmlElement): readonly XmlElement[] {
  const properties = child(control, 'sdtPr')
  const gallery = attribute(child(properties, 'docPartObj', 'docPartGallery'), 'val') ?? ''
  const isContents = /^(table of contents|indexes)$/i.test(gallery)
  const isEmpty = properties?.children.some((one) => isElement(one) && one.name === 'showingPlcHdr')
  return isContents || isEmpty === true ? [] : elementsOf(child(control, 'sdtContent'))
}

const SPAN_MAX = 100

function span(element: XmlElement | undefined): number | null {
  const value = Number.parseInt(attribute(element, 'val') ?? '', 10)
  return Number.isInteger(value) ? Math.min(Math.max(value, 0), SPAN_MAX) : null
}
