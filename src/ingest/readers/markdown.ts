import { decodeText } from './decode-text.ts'
import type { RawDocument, ReadDocument } from './document-reading.ts'

const FIRST_HEADING = /^ {0,3}#{1,6}[ \t]+([^\n]{1,500})/m
const TITLE_LOOKED_FOR_CHARS = 10_000

/** Markdown as it is; its first heading is its title. */
export function readMarkdown({ bytes, charset }: RawDocument): ReadDocument {
  const content = decodeText(bytes, charset)
  const heading = FIRST_HEADING.exec(content.slice(0, TITLE_LOOKED_FOR_CHARS))?.[1]
  const title = heading?.replace(/[ \t]+#*\s*$/, '').trim() || null
  return { content, title, links: [] }
}
