import type { RawDocument, ReadDocument } from '../../../core/domain/ports/reading-ports.ts'
import { oneLine } from '../../../core/short-text.ts'
import { type ReadingNotes, unreadable, wholeDocument } from '../../document-format.ts'
import {
  attribute,
  child,
  descendants,
  elementsOf,
  isElement,
  parsedPart,
  textOf,
  type XmlElement,
} from '../../xml-tree.ts'
import { zipEntries } from '../../zip-file.ts'
import { formatted } from './docx-styles.ts'
import { type Block, markdownOfBlocks, titleOfBlocks, withWholeTitle } from './markdown-blocks.ts'
import { documentProperties } from './office-package.ts'
import { joinedSlides, withNotesMark } from './pptx.ts'

export function* readOdt(document: RawDocument): Generator<ReadDocument> {
  const { reader, body, title, columns } = openedOdf(document, 'text')
  const blocks = withWholeTitle(reader.read(body))
  yield wholeDocument({
    content: markdownOfBlocks(blocks),
    title: title ?? titleOfBlocks(blocks),
    syntax: 'markdown',
    columns,
  })
}

export function* readOdp(document: RawDocument, notes: ReadingNotes): Generator<ReadDocument> {
  const { reader, body, title, columns } = openedOdf(document, 'presentation')
  const slides = elementsOf(body)
    .filter((one) => one.name === 'page')
    .map((page) => blocksOfPage(page, reader))
  const joined = joinedSlides(slides, notes)
  yield wholeDocument({
    content: joined.content,
    title: title ?? joined.title,
    syntax: 'markdown',
    parts: { unit: 'slide', starts: joined.starts },
    columns,
  })
}

function openedOdf({ bytes }: RawDocument, kind: 'text' | 'presentation') {
  const parts = zipEntries(bytes, (name) => {
    return /^(content\.xml|styles\.xml|meta\.xml|META-INF\/manifest\.xml|[^/]+\/content\.xml)$/.test(
      name,
    )
  })
  const part = (name: string) => parsedPart(parts.get(name))
  if ([...descendants(part('META-INF/manifest.xml'), 'encryption-data')].length > 0) {
    throw unreadable('The file is locked by a password; save it without one')
  }
  const content = child(part('content.xml'), 'document-content')
  const body = child(content, 'body', kind)
  if (content === undefined || body === undefined) {
    throw unreadable('The OpenDocument file has no text part (content.xml)')
  }
  const formulas = [...parts.keys()].flatMap((name) => {
    const math = child(name.includes('/') ? part(name) : undefined, 'math')
    return math === undefined ? [] : [[name.split('/')[0] ?? '', formulaText(math)] as const]
  })
  const styles = child(part('styles.xml'), 'document-styles')
  const reader = new OdfBody([styles, content], new Map(formulas))
  const meta = child(part('meta.xml'), 'document-meta', 'meta')
  return { reader, body, ...documentProperties(meta) }
}

function blocksOfPage(page: XmlElement, reader: OdfBody): readonly Block[] {
  const all = elementsOf(page)
  const shapes = all.filter((one) => !/^(notes|forms|animations)$/.test(one.name))
  const isTitle = (one: XmlElement) => attribute(one, 'class') === 'title'
  const titles = shapes.filter(isTitle).flatMap((one) => reader.read(one))
  const heading = titles
    .map((block) => ('text' in block ? block.text : ''))
    .join(' ')
    .trim()
  const rest = shapes.filter((one) => !isTitle(one) && !isDecoration(one))
  const notes = all
    .filter((one) => one.name === 'notes')
    .flatMap((one) => elementsOf(one).filter((shape) => attribute(shape, 'class') === 'notes'))
  const begin: Block[] = heading === '' ? [] : [{ kind: 'heading', level: 1, text: heading }]
  return [
    ...begin,
    ...rest.flatMap((one) => reader.blocksOf(one)),
    ...withNotesMark(notes.flatMap((one) => reader.read(one))),
  ]
}

function isDecoration(shape: XmlElement): boolean {
  return /^(date-time|footer|page-number|header)$/.test(attribute(shape, 'class') ?? '')
}

/** Elements that are not text of the document: deletions, comments, generated lists, programs. */
const LEFT_OUT = new Set([
  ...['tracked-changes', 'annotation', 'annotation-end', 'table-of-content', 'forms'],
  ...['alphabetical-index', 'illustration-index', 'table-index', 'object-index', 'user-index'],
  ...['bibliography', 'sequence-decls', 'event-listeners', 'script', 'ruby-text', 'image'],
  ...['plugin', 'applet', 'object-ole', 'desc', 'title', 'settings', 'variable-decls'],
  ...['user-field-decls', 'presentation-notes', 'page-number', 'note-citation'],
])

const REPEATED_COLUMNS_MAX = 200
const ROWS_REPEATED_MAX = 100

interface ListKind {
  /** For each level: null for a bullet, otherwise the format and the text around the number. */
  readonly levels: readonly (ListNumber | null | undefined)[]
}

interface ListNumber {
  readonly format: string
  readonly prefix: string
  readonly suffix: string
  readonly start: number
}

class OdfBody {
  readonly #parents = new Map<string, string>()
  readonly #lists = new Map<string, ListKind>()
  /** Equations by folder. Each is a document of its own. */
  readonly #formulas: ReadonlyMap<string, string>
  #after: Block[] = []
  #noteCount = 0

  /** The styles of the text, and shared styles. */
  constructor(parts: readonly (XmlElement | undefined)[], formulas: ReadonlyMap<string, string>) {
    this.#formulas = formulas
    const styles = parts.flatMap((part) => [child(part, 'styles'), child(part, 'automatic-styles')])
    for (const one of styles.flatMap(elementsOf)) {
      const name = attribute(one, 'name') ?? ''
      if (one.name === 'style') {
        this.#parents.set(name, attribute(one, 'parent-style-name') ?? '')
      }
      if (one.name === 'list-style') this.#lists.set(name, listKind(one))
    }
  }

  read(container: XmlElement): Block[] {
    return elementsOf(container).flatMap((one) => this.blocksOf(one))
  }

  blocksOf(element: XmlElement): Block[] {
    if (LEFT_OUT.has(element.name)) return []
    if (element.name === 'h') return this.#heading(element)
    if (element.name === 'p') return this.#paragraph(element)
    if (element.name === 'list') return this.#list(element, 0, undefined)
    if (element.name === 'table') return [this.#table(element)]
    if (element.name === 'math') return [{ kind: 'paragraph', text: formulaText(element) }]
    return this.read(element)
  }

  #heading(heading: XmlElement): Block[] {
    const level = Number.parseInt(attribute(heading, 'outline-level') ?? '1', 10) || 1
    return this.#withAfter((): Block => ({ kind: 'heading', level, text: this.#text(heading) }))
  }

  #paragraph(paragraph: XmlElement): Block[] {
    const style = this.#styleNames(paragraph)
    return this.#withAfter((): Block => {
      if (style.some((name) => /^(Preformatted_20_Text|Source_20_Code)$/.test(name))) {
        return { kind: 'code', text: this.#inline(paragraph).replaceAll('\u00a0', ' ') }
      }
      const text = this.#text(paragraph)
      if (!style.includes('Title') || text === '') return { kind: 'paragraph', text }
      return { kind: 'heading', level: 1, text, isTitle: true }
    })
  }

  #withAfter(read: () => Block): Block[] {
    const outer = this.#after
    this.#after = []
    const blocks = [read(), ...this.#after]
    this.#after = outer
    return blocks
  }

  /** Returns the style of a paragraph and the styles it inherits from. */
  #styleNames(element: XmlElement): readonly string[] {
    const names: string[] = []
    let at = attribute(element, 'style-name')
    while (at !== undefined && at !== '' && !names.includes(at)) {
      names.push(at)
      at = this.#parents.get(at)
    }
    return names
  }

  #list(list: XmlElement, depth: number, inherited: ListKind | undefined): Block[] {
    const own = this.#lists.get(attribute(list, 'style-name') ?? '')
    const kind = own ?? inherited
    const level = kind?.levels[depth] ?? null
    let number = (level?.start ?? 1) - 1
    return elementsOf(list).flatMap((item) => {
      if (item.name !== 'list-item' && item.name !== 'list-header') return []
      if (item.name === 'list-item' && hasOwnText(item)) {
        number = Number.parseInt(attribute(item, 'start-value') ?? '', 10) || number + 1
      }
      const marker = level === null ? '-' : markerOf(level, number)
      return this.#item(item, { depth, marker, kind })
    })
  }

  #item(
    item: XmlElement,
    { depth, marker, kind }: { depth: number; marker: string; kind: ListKind | undefined },
  ): Block[] {
    const blocks: Block[] = []
    let isMarked = item.name === 'list-header'
    for (const one of elementsOf(item)) {
      if (one.name === 'list') {
        blocks.push(...this.#list(one, Math.min(depth + 1, 9), kind))
        continue
      }
      for (const block of this.blocksOf(one)) {
        const isText = block.kind === 'paragraph' && block.text !== ''
        blocks.push(isText && !isMarked ? { ...block, kind: 'item', depth, marker } : block)
        if (isText) isMarked = true
      }
    }
    return blocks
  }

  #text(element: XmlElement): string {
    const text = this.#inline(element)
    const lines = text.replace(/ {2,}/g, ' ').replaceAll('\u00a0', ' ')
    return lines.replace(/[ \t]*\n[ \t]*/g, '\n').trim()
  }

  /** In ODF, any white space counts as one space; further spaces are elements. */
  #inline(element: XmlElement): string {
    return element.children
      .map((node) => (isElement(node) ? this.#piece(node) : node.replace(/\s+/g, ' ')))
      .join('')
  }

  #piece(piece: XmlElement): string {
    if (LEFT_OUT.has(piece.name)) return ''
    if (piece.name === 's') {
      return '\u00a0'.repeat(Math.min(Number.parseInt(attribute(piece, 'c') ?? '1', 10) || 1, 1000))
    }
    if (piece.name === 'tab') return '\t'
    if (piece.name === 'line-break') return '\n'
    if (piece.name === 'note') return this.#note(piece)
    if (piece.name === 'object') return this.#formula(piece)
    if (BLOCK_HOLDERS.has(piece.name)) {
      this.#after.push(...this.read(piece))
      return ''
    }
    return this.#inline(piece)
  }

  #formula(object: XmlElement): string {
    const folder = (attribute(object, 'href') ?? '').replace(/^\.\/|\/$/g, '')
    return this.#formulas.get(folder) ?? formulaText(object)
  }

  #note(note: XmlElement): string {
    this.#noteCount += 1
    const mark = `[^${this.#noteCount}]`
    const outer = this.#after
    this.#after = []
    const body = child(note, 'note-body')
    const [first, ...rest] = body === undefined ? [] : this.read(body)
    const begin = first !== undefined && 'text' in first ? first.text : ''
    this.#after = [...outer, { kind: 'paragraph', text: `${mark}: ${begin}` }, ...rest]
    return mark
  }

  #table(table: XmlElement): Block {
    const rows = [...descendants(table, 'table-row')].flatMap((row) => {
      const cells = this.#cells(row)
      const repeated = Number.parseInt(attribute(row, 'number-rows-repeated') ?? '1', 10) || 1
      const isEmpty = cells.every((cell) => cell.length === 0)
      const count = isEmpty ? 1 : Math.min(Math.max(repeated, 1), ROWS_REPEATED_MAX)
      return Array.from({ length: count }, () => cells)
    })
    return { kind: 'table', rows }
  }

  #cells(row: XmlElement): (readonly Block[])[] {
    const cells: (readonly Block[])[] = []
    for (const cell of elementsOf(row)) {
      if (cell.name !== 'table-cell' && cell.name !== 'covered-table-cell') continue
      const blocks = cell.name === 'table-cell' ? this.read(cell) : []
      const repeated = Number.parseInt(attribute(cell, 'number-columns-repeated') ?? '1', 10) || 1
      const count = Math.min(Math.max(repeated, 1), REPEATED_COLUMNS_MAX)
      for (let at = 0; at < count && cells.length < REPEATED_COLUMNS_MAX; at += 1)
        cells.push(blocks)
    }
    return cells
  }
}

/** Elements inside a paragraph that contain paragraphs themselves. */
const BLOCK_HOLDERS = new Set(['text-box', 'custom-shape', 'rect', 'ellipse', 'g', 'polygon'])

function hasOwnText(item: XmlElement): boolean {
  return elementsOf(item).some((one) => one.name === 'p' || one.name === 'h')
}

function listKind(style: XmlElement): ListKind {
  const levels: (ListNumber | null)[] = []
  for (const one of elementsOf(style)) {
    const at = (Number.parseInt(attribute(one, 'level') ?? '', 10) || 0) - 1
    if (at < 0 || at > 9) continue
    const format = attribute(one, 'num-format') ?? ''
    const isNumber = one.name === 'list-level-style-number' && format !== ''
    levels[at] = isNumber ? listNumber(one, format) : null
  }
  return { levels }
}

const ODF_FORMATS: Readonly<Record<string, string>> = {
  a: 'lowerLetter',
  A: 'upperLetter',
  i: 'lowerRoman',
  I: 'upperRoman',
}

function listNumber(level: XmlElement, format: string): ListNumber {
  return {
    format: ODF_FORMATS[format] ?? 'decimal',
    prefix: attribute(level, 'num-prefix') ?? '',
    suffix: attribute(level, 'num-suffix') ?? '.',
    start: Number.parseInt(attribute(level, 'start-value') ?? '1', 10) || 1,
  }
}

function markerOf(level: ListNumber, number: number): string {
  return `${level.prefix}${formatted(number, level.format)}${level.suffix}`.trim()
}

/** Returns the StarMath notation of a MathML equation if it has one, otherwise its characters. */
function formulaText(element: XmlElement): string {
  const [annotation] = descendants(element, 'annotation')
  return oneLine(annotation === undefined ? textOf(element) : textOf(annotation))
}
