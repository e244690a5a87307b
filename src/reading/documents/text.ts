import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { type ReadingNotes, wholeDocument } from '../document-format.ts'
import { decodeText } from '../text-encoding.ts'

/** A longer text is several documents: nobody replaces or asks for a document of this length as a whole. */
const DOCUMENT_CHARS = 2_000_000
/** A document ends at the last line end among so many characters. */
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
