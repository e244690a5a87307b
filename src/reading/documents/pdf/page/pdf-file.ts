import { AppError } from '../../../../core/errors.ts'
import type { Pdfium } from './pdfium.ts'

/** An open PDF. Close it: its memory is the library's. */
export class PdfFile {
  readonly #pdfium: Pdfium
  readonly #bytes: number
  readonly #document: number
  /** Of the library's own, which forms need; 0: there is no form. */
  readonly #formInfo: number
  readonly #form: number

  private constructor(pdfium: Pdfium, bytes: number, document: number) {
    this.#pdfium = pdfium
    this.#bytes = bytes
    this.#document = document
    const { calls } = pdfium
    const hasForm = calls.FPDF_GetFormType(document) !== 0
    this.#formInfo = hasForm ? calls.PDFiumExt_OpenFormFillInfo() : 0
    this.#form = hasForm ? calls.PDFiumExt_InitFormFillEnvironment(document, this.#formInfo) : 0
  }

  /** @throws AppError `file_unreadable` */
  static open(pdfium: Pdfium, bytes: Uint8Array): PdfFile {
    const address = pdfium.place(bytes)
    // The empty password opens what is only protected against changes.
    const document = pdfium.calls.FPDF_LoadMemDocument(address, bytes.byteLength, '')
    if (document !== 0) return new PdfFile(pdfium, address, document)
    const reason = OPEN_ERRORS[pdfium.calls.FPDF_GetLastError()] ?? 'for an unknown reason'
    pdfium.free(address)
    throw new AppError('file_unreadable', `The PDF could not be read: ${reason}`)
  }

  get pdfium(): Pdfium {
    return this.#pdfium
  }

  get document(): number {
    return this.#document
  }

  get form(): number {
    return this.#form
  }

  get pageCount(): number {
    return this.#pdfium.calls.FPDF_GetPageCount(this.#document)
  }

  /** `Title`, `Author`, `CreationDate` …; empty where it is not there. */
  fact(name: string): string {
    const { calls } = this.#pdfium
    return this.#pdfium
      .utf16((address, bytes) => calls.FPDF_GetMetaText(this.#document, name, address, bytes))
      .trim()
  }

  /** The headings of the outline in their order, as far as they lead to a page. */
  outline(): readonly OutlineEntry[] {
    const entries: OutlineEntry[] = []
    const seen = new Set<number>()
    const { calls } = this.#pdfium
    const visit = (parent: number, depth: number): void => {
      let bookmark = calls.FPDFBookmark_GetFirstChild(this.#document, parent)
      while (bookmark !== 0 && entries.length < OUTLINE_ENTRIES_MAX && !seen.has(bookmark)) {
        seen.add(bookmark)
        const entry = this.#outlineEntry(bookmark, depth)
        if (entry !== null) entries.push(entry)
        if (depth < OUTLINE_DEPTH_MAX) visit(bookmark, depth + 1)
        bookmark = calls.FPDFBookmark_GetNextSibling(this.#document, bookmark)
      }
    }
    visit(0, 1)
    return entries
  }

  #outlineEntry(bookmark: number, depth: number): OutlineEntry | null {
    const { calls } = this.#pdfium
    const destination = calls.FPDFBookmark_GetDest(this.#document, bookmark)
    const title = this.#pdfium
      .utf16((address, bytes) => calls.FPDFBookmark_GetTitle(bookmark, address, bytes))
      .trim()
    if (destination === 0 || title === '') return null
    const pageIndex = calls.FPDFDest_GetDestPageIndex(this.#document, destination)
    return pageIndex < 0 ? null : { title, depth, pageIndex }
  }

  close(): void {
    const { calls } = this.#pdfium
    if (this.#form !== 0) calls.PDFiumExt_ExitFormFillEnvironment(this.#form)
    if (this.#formInfo !== 0) calls.PDFiumExt_CloseFormFillInfo(this.#formInfo)
    calls.FPDF_CloseDocument(this.#document)
    this.#pdfium.free(this.#bytes)
  }
}

export interface OutlineEntry {
  readonly title: string
  /** 1: the uppermost. */
  readonly depth: number
  readonly pageIndex: number
}

const OUTLINE_ENTRIES_MAX = 20_000
const OUTLINE_DEPTH_MAX = 16

/** `FPDF_ERR_…` of fpdfview.h. */
const OPEN_ERRORS: Readonly<Record<number, string>> = {
  2: 'it cannot be opened',
  3: 'it is not a PDF, or damaged beyond repair',
  4: 'it needs a password; store it without one and upload it again',
  5: 'it is encrypted in a way that is not supported',
  6: 'a page is missing or damaged',
}
