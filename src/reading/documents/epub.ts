import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { uriDecoded } from '../../core/short-text.ts'
import { joinedParts, type ReadingNotes, unreadable, wholeDocument } from '../document-format.ts'
import { decodeText } from '../text-encoding.ts'
import {
  attribute,
  child,
  descendants,
  elementsOf,
  parsedPart,
  type XmlElement,
} from '../xml-tree.ts'
import { zipEntries } from '../zip-file.ts'
import { markdownOfHtml } from './html.ts'
import { documentProperties, resolvedPath } from './office/office-package.ts'

const CONTAINER = 'META-INF/container.xml'
const ENCRYPTION = 'META-INF/encryption.xml'

/** Reads the chapters of a book in order, without its table of contents. */
export function* readEpub({ bytes }: RawDocument, notes: ReadingNotes): Generator<ReadDocument> {
  const parts = zipEntries(bytes, (name) => /\.(xml|opf|x?html?|ncx)$/i.test(name))
  const part = (name: string) => parsedPart(parts.get(name))
  refuseLocked(part(ENCRYPTION))
  const [rootFile] = descendants(part(CONTAINER), 'rootfile')
  const packagePath = attribute(rootFile, 'full-path') ?? 'content.opf'
  const book = child(part(packagePath), 'package')
  if (book === undefined) {
    throw unreadable(`The EPUB has no list of chapters (${packagePath})`)
  }
  const folder = packagePath.slice(0, packagePath.lastIndexOf('/') + 1)
  const listed = chapterPaths(book, folder)
  const contents = contentsPaths(book, folder)
  const pages = listed.flatMap((path) => {
    const found = parts.get(path)
    if (found === undefined) return []
    return [{ text: markdownOfHtml(decodeText(found, null)), isContents: contents.includes(path) }]
  })
  const headings = headingsOf(pages.filter((page) => !page.isContents).map(({ text }) => text))
  const chapters = pages.map(({ text, isContents }) => {
    return isContents ? withoutContents(text, headings) : text
  })
  const missing = listed.length - chapters.length
  if (missing > 0) notes.warn(`${missing} of ${listed.length} chapters are missing in the EPUB`)
  const { title, columns } = documentProperties(child(book, 'metadata'))
  const { content, starts } = joinedParts(chapters.filter((chapter) => chapter !== ''))
  notes.recognize({ pages: starts.length })
  yield wholeDocument({
    content,
    title,
    syntax: 'markdown',
    parts: { unit: 'chapter', starts },
    columns,
  })
}

/** Refuses encrypted text, which is copy-protected. Obfuscated fonts do no harm. */
function refuseLocked(encryption: XmlElement | undefined): void {
  const locked = [...descendants(encryption, 'CipherReference')].filter((one) => {
    return /\.x?html?$/i.test(attribute(one, 'URI') ?? '')
  })
  if (locked.length === 0) return
  throw unreadable('The EPUB is locked (DRM); only books without it are read')
}

/** Returns each chapter once, in the order of the spine. */
function chapterPaths(book: XmlElement, folder: string): readonly string[] {
  const items = new Map(
    elementsOf(child(book, 'manifest')).map((item) => [attribute(item, 'id') ?? '', item]),
  )
  const paths = elementsOf(child(book, 'spine')).flatMap((one) => {
    const item = items.get(attribute(one, 'idref') ?? '')
    const isNavigation = /\bnav\b/.test(attribute(item, 'properties') ?? '')
    const isText = /html|xml/.test(attribute(item, 'media-type') ?? 'html')
    if (item === undefined || isNavigation || !isText) return []
    return [pathOf(folder, attribute(item, 'href') ?? '')]
  })
  return [...new Set(paths)]
}

/** Pages that the book marks as its contents. Some also have the title, authors and licence. */
function contentsPaths(book: XmlElement, folder: string): readonly string[] {
  return elementsOf(child(book, 'guide'))
    .filter((one) => /^toc$/i.test(attribute(one, 'type') ?? ''))
    .map((one) => pathOf(folder, attribute(one, 'href') ?? ''))
}

const HEADING = /^#{1,6} +(.+)$/gm

function headingsOf(texts: readonly string[]): ReadonlySet<string> {
  return new Set(
    texts.flatMap((text) => [...text.matchAll(HEADING)].map(([, name]) => plain(name ?? ''))),
  )
}

/** Removes lines that only repeat a heading. Returns '' if only the page's own heading is left. */
function withoutContents(text: string, headings: ReadonlySet<string>): string {
  const kept = text.split('\n').filter((line) => {
    return line.startsWith('#') || line.trim() === '' || !headings.has(plain(line))
  })
  const rest = kept
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  return /^#{1,6} [^\n]*$/.test(rest) ? '' : rest
}

/** Removes list markers, Markdown and leading numbers. */
function plain(line: string): string {
  return line
    .replace(/^[\s\-*+]+|[*_`]/g, '')
    .replace(/^(?:[\d.]+\s+)+/, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
}

function pathOf(folder: string, href: string): string {
  return resolvedPath(folder, uriDecoded(href.split('#')[0] ?? ''))
}
