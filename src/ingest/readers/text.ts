import { decodeText } from './decode-text.ts'
import type { RawDocument, ReadDocument } from './document-reading.ts'

export function readText({ bytes, charset }: RawDocument): ReadDocument {
  return { content: decodeText(bytes, charset), title: null, links: [] }
}
