import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { type ReadingNotes, SET_OCR_MODEL, unreadable, wholeDocument } from '../document-format.ts'
import { imageType } from '../file-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'

export function* readImage({ bytes }: RawDocument, notes: ReadingNotes): Generator<ReadDocument> {
  const mediaType = imageType(bytes)
  if (mediaType === null)
    throw unreadable('The file is a picture in a format that is not read; save it as PNG or JPEG')
  if (notes.scan === undefined)
    throw unreadable(`The file is a picture and contains no text. ${SET_OCR_MODEL} to read it`)
  const content = notes.scan(mediaType, 'the picture', () => bytes)
  if (content === null) {
    const limit = `${READING_LIMITS.scanBytesMax / 1024 ** 2} MB`
    throw unreadable(`The file is a picture of more than ${limit}; make it smaller`)
  }
  yield wholeDocument({ content, title: null, syntax: 'markdown' })
}
