import type { RawDocument, ReadDocument } from '../../domain/ports/reading-ports.ts'
import { AppError } from '../../errors.ts'
import { type ReadingNotes, wholeDocument } from '../document-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { fragmentsOf } from './pdf/fragments.ts'
import { type PageDrawing, pageDrawing } from './pdf/page-glyphs.ts'
import { PdfFile } from './pdf/pdf-file.ts'
import { Pdfium } from './pdf/pdfium.ts'

export async function* readPdf(
  { bytes }: RawDocument,
  notes: ReadingNotes,
): AsyncGenerator<ReadDocument> {
  const pdfium = await Pdfium.load()
  const file = PdfFile.open(pdfium, bytes)
  try {
    yield documentOf(file, notes)
  } finally {
    file.close()
  }
}

function documentOf(file: PdfFile, notes: ReadingNotes): ReadDocument {
  const { pageCount } = file
  if (pageCount > READING_LIMITS.pdfPagesMax) {
    const limit = `A PDF has at most ${READING_LIMITS.pdfPagesMax} pages`
    throw new AppError('file_unreadable', `${limit}, found ${pageCount}; split it into several`)
  }
  notes.recognize({ pages: pageCount })
  const starts: number[] = []
  let content = ''
  const seen = new PagesSeen()
  for (let index = 0; index < pageCount; index += 1) {
    const text = seen.textOf(file, index)
    if (content !== '' && text !== '') content += '\n\n'
    starts.push(content.length)
    content += text
  }
  seen.report(notes)
  return wholeDocument({
    content,
    title: titleOf(file),
    syntax: 'markdown',
    parts: { unit: 'page', starts },
    columns: factsOf(file),
  })
}

/** Which pages could be read how. */
class PagesSeen {
  readonly #pictures: number[] = []
  readonly #failed: { page: number; reason: string }[] = []
  #unknownCount = 0
  #count = 0

  textOf(file: PdfFile, index: number): string {
    this.#count += 1
    try {
      const drawing = pageDrawing(file, index)
      const text = pageText(drawing)
      if (text === '' && drawing.imageCount > 0) this.#pictures.push(index + 1)
      this.#unknownCount += drawing.unknownCount
      return text
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      this.#failed.push({ page: index + 1, reason })
      return ''
    }
  }

  /** @throws AppError `file_unreadable` where no page can be read */
  report(notes: ReadingNotes): void {
    const pictures = this.#pictures.length
    if (pictures > 0 && pictures + this.#failed.length === this.#count) {
      const what = `All ${this.#count} pages of the PDF are pictures`
      throw new AppError('file_unreadable', `${what}: their text needs text recognition first`)
    }
    if (pictures > 0) {
      const many = pictures === 1 ? 'page is a picture' : 'pages are pictures'
      const which = `${pictures} of ${this.#count} ${many}`
      notes.warn(`${which}: their text needs text recognition first (${listed(this.#pictures)})`)
    }
    for (const { page, reason } of this.#failed.slice(0, FAILURES_SAID_MAX)) {
      notes.warn(`page ${page} could not be read: ${reason}`)
    }
    const further = this.#failed.length - FAILURES_SAID_MAX
    if (further > 0) notes.warn(`${further} further pages could not be read`)
    if (this.#failed.length > 0 && this.#failed.length === this.#count) {
      throw new AppError('file_unreadable', 'No page of the PDF could be read')
    }
    if (this.#unknownCount > 0) {
      const many = `${this.#unknownCount} characters were left out`
      notes.warn(`${many}: their fonts do not say which characters they are`)
    }
  }
}

function pageText({ directions }: PageDrawing): string {
  return directions
    .flatMap((glyphs) => fragmentsOf(glyphs).sort((a, b) => a.order - b.order))
    .map(({ text }) => text)
    .join('\n')
}

function listed(pages: readonly number[]): string {
  const shown = pages.slice(0, PAGES_NAMED_MAX).join(', ')
  const further = pages.length - PAGES_NAMED_MAX
  return `${pages.length === 1 ? 'page' : 'pages'} ${shown}${further > 0 ? ` and ${further} more` : ''}`
}

function titleOf(file: PdfFile): string | null {
  const title = file.fact('Title').replace(/^Microsoft (Word|PowerPoint|Excel) - /i, '')
  const isName =
    /^(untitled|document\d*|unbenannt|sans titre|title|.*\.(docx?|pptx?|xlsx?|tex|dvi|indd|qxd|odt|rtf|pdf|ps|html?))$/i
  return title === '' || isName.test(title) ? null : title
}

function factsOf(file: PdfFile): ReadDocument['columns'] {
  const author = file.fact('Author')
  const created = dateOf(file.fact('CreationDate'))
  return { ...(author !== '' && { author }), ...(created !== null && { created }) }
}

/** `D:20260131…` → `2026-01-31` */
function dateOf(value: string): string | null {
  const [, year, month = '01', day = '01'] = /^(?:D:)?(\d{4})(\d{2})?(\d{2})?/.exec(value) ?? []
  return year === undefined ? null : `${year}-${month}-${day}`
}

const FAILURES_SAID_MAX = 20
const PAGES_NAMED_MAX = 50
