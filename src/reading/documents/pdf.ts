import { extractText, getDocumentProxy, getMeta } from 'unpdf'
import type { RawDocument, ReadDocument } from '../../domain/ports/reading-ports.ts'
import { AppError } from '../../errors.ts'
import { wholeDocument } from '../document-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'

/** Of pdf.js: its warnings would go to our standard output. */
const ERRORS_ONLY = 0

/** The text of all pages, a blank line between two. */
export async function* readPdf({ bytes }: RawDocument): AsyncGenerator<ReadDocument> {
  const pdf = await opened(bytes)
  if (pdf.numPages > READING_LIMITS.pdfPagesMax) {
    const limit = `A PDF has at most ${READING_LIMITS.pdfPagesMax} pages`
    throw new AppError('file_unreadable', `${limit}, found ${pdf.numPages}`)
  }
  const { text } = await extractText(pdf, { mergePages: false })
  const { info } = await getMeta(pdf)
  const title: unknown = info.Title
  yield wholeDocument({
    content: text.join('\n\n').toWellFormed(),
    title: typeof title === 'string' && title.trim() !== '' ? title.trim() : null,
    syntax: 'text',
  })
}

async function opened(bytes: Uint8Array) {
  try {
    // A copy: the parser takes the buffer away from its owner.
    return await getDocumentProxy(bytes.slice(), { verbosity: ERRORS_ONLY })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new AppError('file_unreadable', `The PDF could not be read: ${reason}`, { cause })
  }
}
