import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { crc32, deflateSync } from 'node:zlib'
import { init, type WrappedPdfiumModule } from '@embedpdf/pdfium'
import { unreadable } from '../../../document-format.ts'

/** An open PDF. It must be closed, because its memory belongs to the library. */
export class PdfFile {
  readonly #pdfium: Pdfium
  readonly #bytes: number
  readonly #document: number
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
    // The empty password opens files that are only protected against changes.
    const document = pdfium.calls.FPDF_LoadMemDocument(address, bytes.byteLength, '')
    if (document !== 0) return new PdfFile(pdfium, address, document)
    const reason = OPEN_ERRORS[pdfium.calls.FPDF_GetLastError()] ?? 'for an unknown reason'
    pdfium.free(address)
    throw unreadable(`The PDF could not be read: ${reason}`)
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

  /** Returns a fact such as `Title`, `Author` or `CreationDate`; empty if missing. */
  fact(name: string): string {
    const { calls } = this.#pdfium
    return this.#pdfium
      .utf16((address, bytes) => calls.FPDF_GetMetaText(this.#document, name, address, bytes))
      .trim()
  }

  /** Returns the headings in the outline that lead to a page, in order. */
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

  /** Renders a page as a greyscale PNG. @throws Error if that fails */
  drawnPage(pageIndex: number, side: number): Uint8Array {
    const { calls } = this.#pdfium
    const page = calls.FPDF_LoadPage(this.#document, pageIndex)
    if (page === 0) throw new Error('it is missing or damaged')
    try {
      const [wide, high] = [calls.FPDF_GetPageWidthF(page), calls.FPDF_GetPageHeightF(page)]
      const scale = side / Math.max(wide, high, 1)
      const width = Math.max(1, Math.round(wide * scale))
      const height = Math.max(1, Math.round(high * scale))
      const bitmap = calls.FPDFBitmap_CreateEx(width, height, GREY, 0, 0)
      if (bitmap === 0) throw new Error('there is no memory to draw it')
      try {
        calls.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xffffffff)
        calls.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, ANNOTATIONS)
        const stride = calls.FPDFBitmap_GetStride(bitmap)
        const pixels = this.#pdfium.bytes(calls.FPDFBitmap_GetBuffer(bitmap), stride * height)
        return greyPng(pixels, { width, height, stride })
      } finally {
        calls.FPDFBitmap_Destroy(bitmap)
      }
    } finally {
      calls.FPDF_ClosePage(page)
    }
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
  /** 1 is the outermost. */
  readonly depth: number
  readonly pageIndex: number
}

/** `FPDFBitmap_Gray`, `FPDF_ANNOT` */
const GREY = 1
const ANNOTATIONS = 1

function greyPng(
  pixels: Uint8Array,
  given: {
    readonly width: number
    readonly height: number
    /** Bytes per row. */
    readonly stride: number
  },
): Uint8Array {
  const { width, height, stride } = given
  const rows = new Uint8Array((width + 1) * height)
  for (let y = 0; y < height; y += 1) {
    rows.set(pixels.subarray(y * stride, y * stride + width), y * (width + 1) + 1)
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // 8-bit greyscale.
  header[8] = 8
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  const data = deflateSync(rows, { level: 3 })
  return Buffer.concat([
    signature,
    pngPart('IHDR', header),
    pngPart('IDAT', data),
    pngPart('IEND', new Uint8Array()),
  ])
}

function pngPart(name: string, data: Uint8Array): Uint8Array {
  const part = Buffer.alloc(data.length + 12)
  part.writeUInt32BE(data.length, 0)
  part.write(name, 4, 'latin1')
  part.set(data, 8)
  part.writeUInt32BE(crc32(part.subarray(4, data.length + 8)), data.length + 8)
  return part
}

const OUTLINE_ENTRIES_MAX = 20_000
const OUTLINE_DEPTH_MAX = 16

/** `FPDF_ERR_…` in fpdfview.h. */
const OPEN_ERRORS: Readonly<Record<number, string>> = {
  2: 'it cannot be opened',
  3: 'it is not a PDF, or damaged beyond repair',
  4: 'it needs a password; store it without one and upload it again',
  5: 'it is encrypted in a way that is not supported',
  6: 'a page is missing or damaged',
}

/** Has its own memory and no file or network access; crashes become exceptions. */
export class Pdfium {
  readonly #library: WrappedPdfiumModule
  /** Memory where the library writes results that calls return by address. */
  readonly #scratch: number
  readonly #characters: CharacterCalls

  private constructor(library: WrappedPdfiumModule) {
    this.#library = library
    this.#scratch = library.pdfium.wasmExports.malloc(SCRATCH_BYTES)
    // The package declares only two of its exports, but has all of PDFium's functions under their
    // own names.
    this.#characters = library.pdfium.wasmExports as unknown as CharacterCalls
  }

  static async load(): Promise<Pdfium> {
    const wasm = await readFile(fileURLToPath(import.meta.resolve('@embedpdf/pdfium/pdfium.wasm')))
    // A view of exactly these bytes, because small files share a buffer.
    const library = await init({
      wasmBinary: new Uint8Array(wasm).buffer,
      // Its messages arrive as exceptions, and standard output is used for something else.
      print: () => {},
      printErr: () => {},
    })
    library.PDFiumExt_Init()
    return new Pdfium(library)
  }

  get calls(): WrappedPdfiumModule {
    return this.#library
  }

  /** Calls that skip the wrapper, which is slower than most of them. For calls per character. */
  get characters(): CharacterCalls {
    return this.#characters
  }

  get heapBytes(): number {
    return this.#library.pdfium.HEAPU8.byteLength
  }

  get scratch(): number {
    return this.#scratch
  }

  /** Copies bytes into the library's memory. Free them with `free`. */
  place(bytes: Uint8Array): number {
    const address = this.#library.pdfium.wasmExports.malloc(bytes.byteLength)
    if (address === 0) throw new Error('no memory for the file')
    this.#library.pdfium.HEAPU8.set(bytes, address)
    return address
  }

  /** A view of the library's memory, valid until the next call. */
  bytes(address: number, count: number): Uint8Array {
    return this.#library.pdfium.HEAPU8.subarray(address, address + count)
  }

  free(address: number): void {
    this.#library.pdfium.wasmExports.free(address)
  }

  float32(index: number): number {
    return this.#library.pdfium.HEAPF32[(this.#scratch >> 2) + index] ?? 0
  }

  float64(index: number): number {
    return this.#library.pdfium.HEAPF64[(this.#scratch >> 3) + index] ?? 0
  }

  int32(index: number): number {
    return this.#library.pdfium.HEAP32[(this.#scratch >> 2) + index] ?? 0
  }

  /** For calls that return the size of a UTF-16 text in bytes, and write the text if it fits. */
  utf16(write: (address: number, bytes: number) => number): string {
    return this.#text(write, (address, bytes) => {
      const view = new Uint8Array(this.#library.pdfium.HEAPU8.buffer, address, bytes)
      return UTF_16.decode(view)
    })
  }

  utf8(write: (address: number, bytes: number) => number): string {
    return this.#text(write, (address, bytes) => {
      return UTF_8.decode(new Uint8Array(this.#library.pdfium.HEAPU8.buffer, address, bytes))
    })
  }

  #text(
    write: (address: number, bytes: number) => number,
    decoded: (address: number, bytes: number) => string,
  ): string {
    const bytes = Math.min(write(0, 0), TEXT_BYTES_MAX)
    if (bytes <= 0) return ''
    const address = this.#library.pdfium.wasmExports.malloc(bytes)
    if (address === 0) return ''
    try {
      write(address, bytes)
      return decoded(address, bytes).replace(/\0[\s\S]*$/, '')
    } finally {
      this.free(address)
    }
  }
}

interface CharacterCalls {
  FPDFText_GetUnicode(text: number, index: number): number
  FPDFText_HasUnicodeMapError(text: number, index: number): number
  FPDFText_IsGenerated(text: number, index: number): number
  FPDFText_GetTextObject(text: number, index: number): number
  FPDFText_GetLooseCharBox(text: number, index: number, rectangle: number): number
  FPDFText_GetCharOrigin(text: number, index: number, x: number, y: number): number
}

/** Compiled once, and again after a document that made it large or broke it. */
export class PdfiumKeeper {
  #kept: Pdfium | null = null

  async take(): Promise<Pdfium> {
    const pdfium = this.#kept ?? (await Pdfium.load())
    this.#kept = null
    return pdfium
  }

  /** Call only if the library is intact, not after an exception from WebAssembly. */
  giveBack(pdfium: Pdfium): void {
    if (pdfium.heapBytes <= KEPT_BYTES_MAX) this.#kept = pdfium
  }
}

/** Drop the library if its memory is larger, because WebAssembly memory never shrinks. */
const KEPT_BYTES_MAX = 256 * 1024 * 1024
const SCRATCH_BYTES = 64
/** For a title, a name or the value of a field, never for a page. */
const TEXT_BYTES_MAX = 1_000_000
const UTF_16 = new TextDecoder('utf-16le')
const UTF_8 = new TextDecoder('utf-8')
