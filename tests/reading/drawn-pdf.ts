/**
 * A PDF whose pages are drawn operator by operator, for tests that need more than a line of text
 * (ISO 32000-1, 7.5 and 9).
 */
export interface DrawnPdf {
  /**
   * Operators of each page. Fonts: F1 Helvetica, F2 bold, F3 Courier, F4 with its own character
   * map, J1 and J2 Japanese fonts that are not embedded.
   */
  readonly pages: readonly string[]
  /** The headings of the outline with the index of their page. */
  readonly outline?: readonly (readonly [string, number])[]
  readonly info?: Readonly<Record<string, string>>
  /**
   * Further entries of the pages, such as `/Annots [...]`, and the objects that they name, numbered
   * from 100.
   */
  readonly pageEntries?: string
  /** The characters of F4, as a CMap. */
  readonly unicodeMap?: string
  readonly objects?: readonly string[]
}

export function drawnPdf({
  pages,
  outline = [],
  info = {},
  pageEntries = '',
  unicodeMap = '',
  objects = [],
}: DrawnPdf): Uint8Array {
  const numbered = new Map<number, string>()
  const pageNumber = (index: number) => 1000 + index * 2
  const kids = pages.map((_, index) => `${pageNumber(index)} 0 R`).join(' ')
  const outlines = outline.length === 0 ? '' : '/Outlines 20 0 R'
  const acroForm = objects.length === 0 ? '' : '/AcroForm << /Fields [100 0 R] >>'
  numbered.set(1, `<< /Type /Catalog /Pages 2 0 R ${outlines} ${acroForm} >>`)
  numbered.set(2, `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`)
  numbered.set(3, latin('Helvetica'))
  numbered.set(4, latin('Helvetica-Bold'))
  numbered.set(5, latin('Courier'))
  numbered.set(12, latin('Helvetica', '/ToUnicode 13 0 R'))
  numbered.set(13, stream('', unicodeMap))
  numbered.set(6, japanese('UniJIS-UCS2-H', 8))
  numbered.set(7, japanese('90ms-RKSJ-H', 8))
  numbered.set(8, JAPANESE_CHARACTERS)
  numbered.set(
    9,
    '<< /Type /FontDescriptor /FontName /HeiseiKakuGo-W5 /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
  )
  numbered.set(
    10,
    stream(
      '/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8',
      '\u0000',
    ),
  )
  numbered.set(
    11,
    `<< ${Object.entries(info)
      .map(([key, value]) => `/${key} (${value})`)
      .join(' ')} >>`,
  )
  for (const [index, operators] of pages.entries()) {
    const fonts = '/F1 3 0 R /F2 4 0 R /F3 5 0 R /F4 12 0 R /J1 6 0 R /J2 7 0 R'
    const resources = `/Resources << /Font << ${fonts} >> /XObject << /Im1 10 0 R >> >> /MediaBox [0 0 612 792]`
    numbered.set(
      pageNumber(index),
      `<< /Type /Page /Parent 2 0 R ${resources} /Contents ${pageNumber(index) + 1} 0 R ${pageEntries} >>`,
    )
    numbered.set(pageNumber(index) + 1, stream('', operators))
  }
  for (const [index, object] of objects.entries()) numbered.set(100 + index, object)
  if (outline.length > 0) {
    numbered.set(
      20,
      `<< /Type /Outlines /First 21 0 R /Last ${20 + outline.length} 0 R /Count ${outline.length} >>`,
    )
  }
  for (const [index, [title, page]] of outline.entries()) {
    const next = index + 1 < outline.length ? `/Next ${22 + index} 0 R` : ''
    numbered.set(
      21 + index,
      `<< /Title (${title}) /Parent 20 0 R /Dest [${pageNumber(page)} 0 R /Fit] ${next} >>`,
    )
  }
  return written(numbered)
}

/** Draws a line of text at a position in points from the lower left corner. */
export function line(text: string, x: number, y: number, font = 'F1', size = 10): string {
  const escaped = text.replace(/[()\\]/g, '\\$&')
  return `BT /${font} ${size} Tf ${x} ${y} Td (${escaped}) Tj ET\n`
}

/** The same for hexadecimal bytes, as used by fonts with two bytes per character. */
export function hexLine(hex: string, x: number, y: number, font: string): string {
  return `BT /${font} 10 Tf ${x} ${y} Td <${hex}> Tj ET\n`
}

function latin(name: string, entries = ''): string {
  return `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding ${entries} >>`
}

function japanese(map: string, descendant: number): string {
  return `<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiKakuGo-W5 /Encoding /${map} /DescendantFonts [${descendant} 0 R] >>`
}

const JAPANESE_CHARACTERS =
  '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HeiseiKakuGo-W5 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /FontDescriptor 9 0 R /DW 1000 >>'

function stream(entries: string, data: string): string {
  return `<< ${entries} /Length ${data.length} >>\nstream\n${data}\nendstream`
}

function written(objects: ReadonlyMap<number, string>): Uint8Array {
  let body = '%PDF-1.4\n'
  let table = 'xref\n0 1\n0000000000 65535 f \n'
  for (const [number, object] of objects) {
    table += `${number} 1\n${String(body.length).padStart(10, '0')} 00000 n \n`
    body += `${number} 0 obj\n${object}\nendobj\n`
  }
  const trailer = `trailer\n<< /Size 5000 /Root 1 0 R /Info 11 0 R >>\nstartxref\n${body.length}\n%%EOF\n`
  return Uint8Array.from(Buffer.from(body + table + trailer, 'latin1'))
}
