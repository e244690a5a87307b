import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { init, type WrappedPdfiumModule } from '@embedpdf/pdfium'

/**
 * PDFium in WebAssembly. It lives in a memory of its own, reaches neither files nor the network, and what it does wrong there
 * ends in an exception.
 */
export class Pdfium {
  readonly #library: WrappedPdfiumModule
  /** Where the library writes what a call returns by address. */
  readonly #scratch: number
  readonly #characters: CharacterCalls

  private constructor(library: WrappedPdfiumModule) {
    this.#library = library
    this.#scratch = library.pdfium.wasmExports.malloc(SCRATCH_BYTES)
    // The package types two of the exports; all of PDFium's are there, under their own names.
    this.#characters = library.pdfium.wasmExports as unknown as CharacterCalls
  }

  static async load(): Promise<Pdfium> {
    const wasm = await readFile(fileURLToPath(import.meta.resolve('@embedpdf/pdfium/pdfium.wasm')))
    // A view of exactly these bytes: small files come in a buffer that others share.
    const library = await init({
      wasmBinary: new Uint8Array(wasm).buffer,
      // What it has to say comes as exceptions; our own output is for others.
      print: () => {},
      printErr: () => {},
    })
    library.PDFiumExt_Init()
    return new Pdfium(library)
  }

  get calls(): WrappedPdfiumModule {
    return this.#library
  }

  /** The same calls without the wrapper, which takes longer than most of them: for those that each character needs. */
  get characters(): CharacterCalls {
    return this.#characters
  }

  get heapBytes(): number {
    return this.#library.pdfium.HEAPU8.byteLength
  }

  get scratch(): number {
    return this.#scratch
  }

  /** Bytes in the library's memory. Give them back with `free`. */
  place(bytes: Uint8Array): number {
    const address = this.#library.pdfium.wasmExports.malloc(bytes.byteLength)
    if (address === 0) throw new Error('no memory for the file')
    this.#library.pdfium.HEAPU8.set(bytes, address)
    return address
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

  /** Calls that say how many bytes a UTF-16 text takes, and write it where there is room for it. */
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

export interface CharacterCalls {
  FPDFText_GetUnicode(text: number, index: number): number
  FPDFText_HasUnicodeMapError(text: number, index: number): number
  FPDFText_IsGenerated(text: number, index: number): number
  FPDFText_GetTextObject(text: number, index: number): number
  FPDFText_GetLooseCharBox(text: number, index: number, rectangle: number): number
  FPDFText_GetCharOrigin(text: number, index: number, x: number, y: number): number
}

/** The library of this process: compiled with the first document, and anew after one that has left it large or broken. */
export class PdfiumKeeper {
  #kept: Pdfium | null = null

  async take(): Promise<Pdfium> {
    const pdfium = this.#kept ?? (await Pdfium.load())
    this.#kept = null
    return pdfium
  }

  /** Only one that is whole: not after an exception of WebAssembly. */
  giveBack(pdfium: Pdfium): void {
    if (pdfium.heapBytes <= KEPT_BYTES_MAX) this.#kept = pdfium
  }
}

/** A WebAssembly memory never shrinks. */
const KEPT_BYTES_MAX = 256 * 1024 * 1024
const SCRATCH_BYTES = 64
/** A title, a name or a field's value; not a page. */
const TEXT_BYTES_MAX = 1_000_000
const UTF_16 = new TextDecoder('utf-16le')
const UTF_8 = new TextDecoder('utf-8')
