import type { RawDocument, ReadDocument } from '../../../core/domain/ports/reading-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { type ReadingNotes, wholeDocument } from '../../document-format.ts'
import {
  attribute,
  child,
  descendants,
  elementsOf,
  parseXml,
  type XmlElement,
} from '../../xml-tree.ts'
import { zipEntries } from '../../zip-package.ts'
import { type Block, markdownOfBlocks, titleOfBlocks, withWholeTitle } from './markdown-blocks.ts'
import { formulaText, OdfBody } from './odf-body.ts'
import { documentProperties } from './office-package.ts'
import { withNotesMark } from './pptx.ts'
import { joinedSlides } from './slides.ts'

/** A text of LibreOffice and others (OpenDocument) as Markdown. */
export function* readOdt(document: RawDocument): Generator<ReadDocument> {
  const { reader, body, title, columns } = opened(document, 'text')
  const blocks = withWholeTitle(reader.read(body))
  yield wholeDocument({
    content: markdownOfBlocks(blocks),
    title: title ?? titleOfBlocks(blocks),
    syntax: 'markdown',
    columns,
  })
}

/** Slides of LibreOffice and others (OpenDocument). */
export function* readOdp(document: RawDocument, notes: ReadingNotes): Generator<ReadDocument> {
  const { reader, body, title, columns } = opened(document, 'presentation')
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

function opened({ bytes }: RawDocument, kind: 'text' | 'presentation') {
  const parts = zipEntries(bytes, (name) => {
    return /^(content\.xml|styles\.xml|meta\.xml|META-INF\/manifest\.xml|[^/]+\/content\.xml)$/.test(
      name,
    )
  })
  const part = (name: string) => {
    const found = parts.get(name)
    return found === undefined ? undefined : parseXml(found)
  }
  if ([...descendants(part('META-INF/manifest.xml'), 'encryption-data')].length > 0) {
    throw new AppError('file_unreadable', 'The file is locked by a password; save it without one')
  }
  const content = child(part('content.xml'), 'document-content')
  const body = child(content, 'body', kind)
  if (content === undefined || body === undefined) {
    throw new AppError('file_unreadable', 'The OpenDocument file has no text part (content.xml)')
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
    ...rest.flatMap((one) => reader.readShape(one)),
    ...withNotesMark(notes.flatMap((one) => reader.read(one))),
  ]
}

function isDecoration(shape: XmlElement): boolean {
  return /^(date-time|footer|page-number|header)$/.test(attribute(shape, 'class') ?? '')
}
