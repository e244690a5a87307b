import type { RawDocument, ReadDocument } from '../../domain/ports/reading-ports.ts'
import { wholeDocument } from '../document-format.ts'
import { decodeText } from '../text-encoding.ts'

export function* readText({ bytes, charset }: RawDocument): Generator<ReadDocument> {
  yield wholeDocument({ content: decodeText(bytes, charset), title: null, syntax: 'text' })
}

const FIRST_HEADING = /^ {0,3}#{1,6}[ \t]+([^\n]{1,500})/m
const TITLE_LOOKED_FOR_CHARS = 10_000

/** Markdown as it is; its first heading is its title. */
export function* readMarkdown({ bytes, charset }: RawDocument): Generator<ReadDocument> {
  const content = decodeText(bytes, charset)
  const heading = FIRST_HEADING.exec(content.slice(0, TITLE_LOOKED_FOR_CHARS))?.[1]
  const title = heading?.replace(/[ \t]+#*\s*$/, '').trim() || null
  yield wholeDocument({ content, title, syntax: 'markdown' })
}
