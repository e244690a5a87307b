import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import type { DocumentFormat } from '../../core/domain/uploaded-file.ts'
import type { DocumentReader, ReadingNotes } from '../document-format.ts'
import { wholeDocument } from '../document-format.ts'

/** The large parsers are loaded with the first document that needs them. */
const READERS: Readonly<Record<DocumentFormat, () => Promise<DocumentReader>>> = {
  pdf: async () => (await import('../documents/pdf.ts')).readPdf,
  docx: async () => (await import('../documents/office/docx.ts')).readDocx,
  pptx: async () => (await import('../documents/office/pptx.ts')).readPptx,
  odt: async () => (await import('../documents/office/odf.ts')).readOdt,
  odp: async () => (await import('../documents/office/odf.ts')).readOdp,
  rtf: async () => (await import('../documents/office/rtf.ts')).readRtf,
  epub: async () => (await import('../documents/epub.ts')).readEpub,
  eml: async () => (await import('../documents/mail.ts')).readEml,
  mbox: async () => (await import('../documents/mail.ts')).readMbox,
  ipynb: async () => (await import('../documents/notebook.ts')).readNotebook,
  code: async () => (await import('../documents/code.ts')).readCode,
  html: async () => (await import('../documents/html.ts')).readHtml,
  markdown: async () => (await import('../documents/markdown.ts')).readMarkdown,
  asciidoc: async () => (await import('../documents/markup.ts')).readAsciidoc,
  rst: async () => (await import('../documents/markup.ts')).readRst,
  org: async () => (await import('../documents/markup.ts')).readOrg,
  latex: async () => (await import('../documents/markup.ts')).readLatex,
  subtitles: async () => (await import('../documents/subtitles.ts')).readSubtitles,
  xml: async () => (await import('../documents/xml-text.ts')).readXml,
  text: async () => (await import('../documents/text.ts')).readText,
}

/** Bytes → documents. @throws AppError `file_unreadable` */
export async function* readDocuments(
  document: RawDocument,
  notes: ReadingNotes,
): AsyncGenerator<ReadDocument, void> {
  const read = await READERS[document.format]()
  yield* read(document, notes)
}

const UNHEARD: ReadingNotes = { recognize: () => {}, warn: () => {} }

/** The first document of a file, as pages are read; an empty one where there is none. @throws AppError `file_unreadable` */
export async function readDocument(
  document: RawDocument,
  notes: ReadingNotes = UNHEARD,
): Promise<ReadDocument> {
  for await (const read of readDocuments(document, notes)) return read
  return wholeDocument({ content: '', title: null, syntax: 'text' })
}
