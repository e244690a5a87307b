import type { RawDocument, ReadDocument } from '../../domain/ports/reading-ports.ts'
import { wholeDocument } from '../document-format.ts'
import { decodeText } from '../text-encoding.ts'

export function* readText({ bytes, charset }: RawDocument): Generator<ReadDocument> {
  yield wholeDocument({ content: decodeText(bytes, charset), title: null, syntax: 'text' })
}
