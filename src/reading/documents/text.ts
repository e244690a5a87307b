import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { type ReadingNotes, wholeDocument } from '../document-format.ts'
import { languageOfName, languageOfShebang } from '../programming-languages.ts'
import { decodeText } from '../text-encoding.ts'
import {
  descendants,
  elementsOf,
  isElement,
  parseXml,
  textOf,
  type XmlElement,
} from '../xml-tree.ts'

/** Clients can hardly replace or request larger documents. */
const DOCUMENT_CHARS = 2_000_000
/** A document ends at the last line end within this many characters. */
const LINE_CHARS_MAX = 100_000

export function* readText(
  { bytes, charset }: RawDocument,
  notes: ReadingNotes,
): Generator<ReadDocument> {
  const text = decodeText(bytes, charset)
  if (text.length <= DOCUMENT_CHARS) {
    yield wholeDocument({ content: text, title: null, syntax: 'text' })
    return
  }
  let count = 0
  for (let start = 0; start < text.length; ) {
    const end = documentEnd(text, start)
    const content = text.slice(start, end)
    count += 1
    if (content.trim() !== '') {
      yield wholeDocument({ id: String(count), content, title: null, syntax: 'text' })
    }
    start = end
  }
  const each = `each of at most ${DOCUMENT_CHARS}`
  notes.warn(`The text of ${text.length} characters is kept as ${count} documents, ${each}`)
}

function documentEnd(text: string, start: number): number {
  const limit = start + DOCUMENT_CHARS
  if (limit >= text.length) return text.length
  const line = text.lastIndexOf('\n', limit - 1) + 1
  if (line > limit - LINE_CHARS_MAX) return line
  const isInsidePair = (text.charCodeAt(limit) & 0xfc00) === 0xdc00
  return isInsidePair ? limit - 1 : limit
}

/** Reads source code unchanged. */
export function* readCode(
  { bytes, charset, name = '' }: RawDocument,
  notes: ReadingNotes,
): Generator<ReadDocument> {
  const content = decodeText(bytes, charset)
  const language = languageOfName(name) ?? languageOfShebang(content)
  if (language !== null) notes.recognize({ language })
  yield wholeDocument({
    content,
    title: name === '' ? null : name,
    syntax: 'code',
    columns: language === null ? {} : { language },
  })
}

const TIMING = /^(\d+:)?\d+:\d\d[.,]\d+[ \t]*-->/

/** Reads the spoken text (SRT, WebVTT) without numbers, times and tags, one line per cue. */
export function* readSubtitles({ bytes, charset }: RawDocument): Generator<ReadDocument> {
  const cues = decodeText(bytes, charset).split(/\n[ \t]*\n/)
  const lines = cues.flatMap((cue) => {
    const rows = cue.split('\n')
    const timing = rows.findIndex((row) => TIMING.test(row.trim()))
    if (timing === -1) return []
    const said = rows.slice(timing + 1).join(' ')
    return [
      said
        .replace(/<[^>]{0,200}>|\{\\[^}]{0,200}\}/g, '')
        .replace(/\s+/g, ' ')
        .trim(),
    ]
  })
  const content = lines.filter((line) => line !== '').join('\n')
  yield wholeDocument({ content, title: null, syntax: 'text' })
}

/** Elements whose names say nothing about their text. */
const TEXT_NAMES =
  /^(p|para|simpara|text|t|li|item|entry|td|th|title|h\d|line|l|div|span|programlisting|screen)$/i
const NAMED_CHARS_MAX = 200

/** A line per element with text, with its name if the text is a value. */
export function* readXml({ bytes }: RawDocument): Generator<ReadDocument> {
  const root = parseXml(bytes)
  const [title] = descendants(root, 'title')
  yield wholeDocument({
    content: textLines(root).join('\n'),
    title: line(title) || null,
    syntax: 'text',
  })
}

function textLines(element: XmlElement): string[] {
  if (/^(script|style)$/i.test(element.name)) return []
  const hasOwnText = element.children.some((node) => !isElement(node) && node.trim() !== '')
  if (!hasOwnText) return elementsOf(element).flatMap(textLines)
  const text = line(element)
  const isValue = elementsOf(element).length === 0
  const isNamed = isValue && text.length <= NAMED_CHARS_MAX && !TEXT_NAMES.test(element.name)
  return [isNamed ? `${element.name}: ${text}` : text]
}

function line(element: XmlElement | undefined): string {
  return textOf(element).replace(/\s+/g, ' ').trim()
}
