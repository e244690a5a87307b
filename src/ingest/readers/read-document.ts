import type { DocumentFormat, RawDocument, ReadDocument } from './document-reading.ts'
import { readHtml } from './html.ts'
import { readMarkdown } from './markdown.ts'
import { readPdf } from './pdf.ts'
import { readText } from './text.ts'

const READERS: Readonly<
  Record<DocumentFormat, (document: RawDocument) => ReadDocument | Promise<ReadDocument>>
> = { pdf: readPdf, html: readHtml, markdown: readMarkdown, text: readText }

/** Bytes → text. May take long: it belongs into a thread. @throws AppError `file_unreadable` */
export async function readDocument(document: RawDocument): Promise<ReadDocument> {
  return READERS[document.format](document)
}
