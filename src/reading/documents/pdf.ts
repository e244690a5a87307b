import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { type ReadingNotes, SET_OCR_MODEL, unreadable, wholeDocument } from '../document-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { pageDrawing } from './pdf/page/page-glyphs.ts'
import { PdfFile, PdfiumKeeper } from './pdf/page/pdf-file.ts'
import { type PagePieces, pagePieces, pagesText } from './pdf/pages-text.ts'

const library = new PdfiumKeeper()

export async function* readPdf(
  { bytes }: RawDocument,
  notes: ReadingNotes,
): AsyncGenerator<ReadDocument> {
  let file = PdfFile.open(await library.take(), bytes)
  const { pageCount } = file
  if (pageCount === 0) throw unreadable('The PDF has no pages, or is damaged')
  notes.recognize({ pages: pageCount })
  const seen = new PagesSeen()
  const pages: PagePieces[] = []
  const lastPage = Math.min(pageCount, READING_LIMITS.pdfPagesMax)
  for (let index = 0; index < lastPage; index += 1) {
    // The first page is always read.
    if (index > 0 && notes.isSpent?.() === true) break
    pages.push(seen.piecesOf(file, index, notes))
    // After several such exceptions, the library's memory may be corrupt.
    if (seen.breakdowns > BREAKDOWNS_MAX) {
      throw unreadable(`The PDF could not be read: page ${index + 1} is damaged`)
    }
    if (seen.isBroken) file = PdfFile.open(await library.take(), bytes)
  }
  if (pages.length < pageCount) notes.warn(notRead(pages.length, pageCount))
  seen.report(notes)
  const { content, starts, title } = pagesText(pages, file.outline())
  const document = wholeDocument({
    content,
    title: pdfTitle(file) ?? title,
    syntax: 'markdown',
    parts: { unit: 'page', starts },
    columns: pdfFacts(file),
  })
  file.close()
  library.giveBack(file.pdfium)
  yield document
}

function notRead(readCount: number, pageCount: number): string {
  const isAlone = readCount + 1 === pageCount
  const which = isAlone ? `page ${pageCount} was` : `pages ${readCount + 1} to ${pageCount} were`
  const why =
    readCount === READING_LIMITS.pdfPagesMax
      ? `a PDF is read up to page ${READING_LIMITS.pdfPagesMax}`
      : 'reading took too much processor time'
  return `${which} not read: ${why}; split the PDF to read them`
}

/** Counts how well pages could be read. */
class PagesSeen {
  readonly #pictures: number[] = []
  readonly #failed: { page: number; reason: string }[] = []
  #unknownCount = 0
  #count = 0
  breakdowns = 0
  /** Whether the last page caused one. */
  isBroken = false

  piecesOf(file: PdfFile, index: number, notes: ReadingNotes): PagePieces {
    this.#count += 1
    this.isBroken = false
    try {
      const drawing = pageDrawing(file, index)
      const pieces = pagePieces(drawing)
      const isEmpty = pieces.directions.every(({ length }) => length === 0)
      if (isEmpty && drawing.imageCount > 0) {
        const draw = () => file.drawnPage(index, READING_LIMITS.scanSide)
        const scan = notes.scan?.('image/png', `page ${index + 1}`, draw) ?? null
        if (scan !== null) return { directions: [], scan }
        this.#pictures.push(index + 1)
      }
      this.#unknownCount += drawing.unknownCount
      return pieces
    } catch (cause) {
      this.isBroken = cause instanceof WebAssembly.RuntimeError
      if (this.isBroken) this.breakdowns += 1
      const reason = cause instanceof Error ? cause.message : String(cause)
      this.#failed.push({ page: index + 1, reason })
      return { directions: [] }
    }
  }

  /** @throws AppError `file_unreadable` if no page could be read */
  report(notes: ReadingNotes): void {
    const pictures = this.#pictures.length
    if (pictures > 0) {
      const isAll = pictures + this.#failed.length === this.#count
      const found =
        this.#count === 1
          ? 'The only page of the PDF contains no text'
          : `${pictures} of ${this.#count} pages contain no text`
      if (isAll) throw unreadable(`${found}. ${SET_OCR_MODEL} to read scans`)
      notes.warn(`${found}. ${SET_OCR_MODEL} to read them (${listed(this.#pictures)})`)
    }
    for (const { page, reason } of this.#failed.slice(0, FAILURES_SAID_MAX)) {
      notes.warn(`page ${page} could not be read: ${reason}`)
    }
    const further = this.#failed.length - FAILURES_SAID_MAX
    if (further > 0) notes.warn(`${further} further pages could not be read`)
    if (this.#failed.length > 0 && this.#failed.length === this.#count) {
      throw unreadable('No page of the PDF could be read')
    }
    if (this.#unknownCount > 0) {
      const many = `${this.#unknownCount} characters were left out`
      notes.warn(`${many}: their fonts do not say which characters they are`)
    }
  }
}

function listed(pages: readonly number[]): string {
  const shown = pages.slice(0, PAGES_NAMED_MAX).join(', ')
  const further = pages.length - PAGES_NAMED_MAX
  return `${pages.length === 1 ? 'page' : 'pages'} ${shown}${further > 0 ? ` and ${further} more` : ''}`
}

function pdfTitle(file: PdfFile): string | null {
  const title = file.fact('Title').replace(/^Microsoft (Word|PowerPoint|Excel) - /i, '')
  const isName =
    /^(untitled|document\d*|unbenannt|sans titre|title|.*\.(docx?|pptx?|xlsx?|tex|dvi|indd|qxd|odt|rtf|pdf|ps|html?))$/i
  return title === '' || isName.test(title) ? null : title
}

function pdfFacts(file: PdfFile): ReadDocument['columns'] {
  const author = file.fact('Author')
  const created = dateOf(file.fact('CreationDate'))
  return { ...(author !== '' && { author }), ...(created !== null && { created }) }
}

/** Turns `D:20260131…` into `2026-01-31`. */
function dateOf(value: string): string | null {
  const [, year, month = '01', day = '01'] = /^(?:D:)?(\d{4})(\d{2})?(\d{2})?/.exec(value) ?? []
  return year === undefined ? null : `${year}-${month}-${day}`
}

const BREAKDOWNS_MAX = 5
const FAILURES_SAID_MAX = 20
const PAGES_NAMED_MAX = 50
