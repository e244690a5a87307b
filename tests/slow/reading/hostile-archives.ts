/** Archives with false data, assembled here because a library would not write them. */
import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipEntry {
  readonly name: string
  readonly data: Uint8Array | string
  /** The size in its header, if that is wrong. */
  readonly declaredBytes?: number
  readonly isStored?: boolean
  readonly isEncrypted?: boolean
  /** The Unix mode, such as that of a link. */
  readonly mode?: number
}

export interface ZipLies {
  /** The number of entries in the directory. */
  readonly count?: number
  /** Where the directory begins according to the end record. */
  readonly directoryAt?: number
  readonly hasNoEnd?: boolean
  /** How many entries of the directory point to the first file. */
  readonly overlaps?: number
}

const encoder = new TextEncoder()

export function zip(entries: readonly ZipEntry[], lies: ZipLies = {}): Uint8Array {
  const parts: Uint8Array[] = []
  const directory: Uint8Array[] = []
  let offset = 0
  for (const entry of entries) {
    const local = localEntry(entry)
    const copies = entry === entries[0] ? 1 + (lies.overlaps ?? 0) : 1
    for (let copy = 0; copy < copies; copy += 1) {
      const name = copy === 0 ? entry.name : `${copy}-${entry.name}`
      directory.push(directoryEntry({ ...entry, name }, local, offset))
    }
    parts.push(local.bytes)
    offset += local.bytes.length
  }
  const listed = joined(directory)
  const end = new DataView(new ArrayBuffer(22))
  const count = Math.min(lies.count ?? directory.length, 0xffff)
  end.setUint32(0, 0x06054b50, true)
  end.setUint16(8, count, true)
  end.setUint16(10, count, true)
  end.setUint32(12, listed.length, true)
  end.setUint32(16, lies.directoryAt ?? offset, true)
  return joined([...parts, listed, ...(lies.hasNoEnd ? [] : [new Uint8Array(end.buffer)])])
}

interface LocalEntry {
  readonly bytes: Uint8Array
  readonly crc: number
  readonly packedBytes: number
  readonly plainBytes: number
}

/** Packed only once, even if the same bytes are used repeatedly. */
const packed = new WeakMap<Uint8Array, { readonly crc: number; readonly bytes: Uint8Array }>()

function packedOf(data: Uint8Array) {
  const known = packed.get(data)
  if (known !== undefined) return known
  const made = { crc: crc32(data), bytes: new Uint8Array(deflateRawSync(data)) }
  packed.set(data, made)
  return made
}

function localEntry(entry: ZipEntry): LocalEntry {
  const data = typeof entry.data === 'string' ? encoder.encode(entry.data) : entry.data
  const { crc, bytes } = entry.isStored ? { crc: crc32(data), bytes: data } : packedOf(data)
  const name = encoder.encode(entry.name)
  const header = new DataView(new ArrayBuffer(30))
  const plainBytes = entry.declaredBytes ?? data.length
  header.setUint32(0, 0x04034b50, true)
  header.setUint16(4, 20, true)
  header.setUint16(6, entry.isEncrypted ? 1 : 0, true)
  header.setUint16(8, entry.isStored ? 0 : 8, true)
  header.setUint32(14, crc, true)
  header.setUint32(18, bytes.length, true)
  header.setUint32(22, plainBytes, true)
  header.setUint16(26, name.length, true)
  const all = joined([new Uint8Array(header.buffer), name, bytes])
  return { bytes: all, crc, packedBytes: bytes.length, plainBytes }
}

function directoryEntry(entry: ZipEntry, local: LocalEntry, offset: number): Uint8Array {
  const name = encoder.encode(entry.name)
  const header = new DataView(new ArrayBuffer(46))
  header.setUint32(0, 0x02014b50, true)
  header.setUint16(4, 0x0314, true)
  header.setUint16(6, 20, true)
  header.setUint16(8, entry.isEncrypted ? 1 : 0, true)
  header.setUint16(10, entry.isStored ? 0 : 8, true)
  header.setUint32(16, local.crc, true)
  header.setUint32(20, local.packedBytes, true)
  header.setUint32(24, local.plainBytes, true)
  header.setUint16(28, name.length, true)
  header.setUint32(38, ((entry.mode ?? 0o100644) << 16) >>> 0, true)
  header.setUint32(42, offset, true)
  return joined([new Uint8Array(header.buffer), name])
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

const XML = '<?xml version="1.0" encoding="UTF-8"?>'
const OFFICE = 'http://schemas.openxmlformats.org'
const RELATION = `${OFFICE}/officeDocument/2006/relationships`

/** Each entity contains ten of the previous one, so ten levels are ten billion. */
export const BILLION_LAUGHS = `<!DOCTYPE x [<!ENTITY a0 "laugh">${Array.from(
  { length: 10 },
  (_, level) => `<!ENTITY a${level + 1} "${`&a${level};`.repeat(10)}">`,
).join('')}]>`

/** A file of the server, included as an external entity. */
export const OUTSIDE_ENTITY = '<!DOCTYPE x [<!ENTITY a10 SYSTEM "file:///etc/passwd">]>'

function relations(...targets: readonly (readonly [type: string, target: string])[]): string {
  const rows = targets.map(([type, target], index) => {
    return `<Relationship Id="rId${index + 1}" Type="${RELATION}/${type}" Target="${target}"/>`
  })
  return `${XML}<Relationships xmlns="${OFFICE}/package/2006/relationships">${rows.join('')}</Relationships>`
}

function contentTypes(main: string, type: string): string {
  return `${XML}<Types xmlns="${OFFICE}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/${main}" ContentType="application/vnd.openxmlformats-officedocument.${type}.main+xml"/></Types>`
}

export function docx(
  body: string | Uint8Array,
  more: readonly ZipEntry[] = [],
  lies: ZipLies = {},
): Uint8Array {
  const main = 'word/document.xml'
  const document =
    typeof body === 'string'
      ? `${XML}${body.startsWith('<!DOCTYPE') ? body.slice(0, body.indexOf(']>') + 2) : ''}<w:document xmlns:w="${OFFICE}/wordprocessingml/2006/main"><w:body>${body.slice(body.startsWith('<!DOCTYPE') ? body.indexOf(']>') + 2 : 0)}</w:body></w:document>`
      : body
  return zip(
    [
      { name: '[Content_Types].xml', data: contentTypes(main, 'wordprocessingml.document') },
      { name: '_rels/.rels', data: relations(['officeDocument', main]) },
      { name: main, data: document },
      ...more,
    ],
    lies,
  )
}

export function xlsx(sheet: string | Uint8Array, more: readonly ZipEntry[] = []): Uint8Array {
  const main = 'xl/workbook.xml'
  const workbook = `${XML}<workbook xmlns="${OFFICE}/spreadsheetml/2006/main" xmlns:r="${RELATION}"><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>`
  return zip([
    { name: '[Content_Types].xml', data: contentTypes(main, 'spreadsheetml.sheet') },
    { name: '_rels/.rels', data: relations(['officeDocument', main]) },
    { name: main, data: workbook },
    {
      name: 'xl/_rels/workbook.xml.rels',
      data: relations(
        ['worksheet', 'worksheets/sheet1.xml'],
        ['sharedStrings', 'sharedStrings.xml'],
      ),
    },
    { name: 'xl/worksheets/sheet1.xml', data: sheet },
    ...more,
  ])
}

/** @param rows the content of `<sheetData>` */
export function worksheet(rows: string, before = ''): string {
  return `${XML}${before.startsWith('<!DOCTYPE') ? before : ''}<worksheet xmlns="${OFFICE}/spreadsheetml/2006/main">${before.startsWith('<!DOCTYPE') ? '' : before}<sheetData>${rows}</sheetData></worksheet>`
}

export function pptx(slide: string, slides = 1): Uint8Array {
  const main = 'ppt/presentation.xml'
  const targets = Array.from({ length: slides }, () => ['slide', 'slides/slide1.xml'] as const)
  const ids = targets.map((_, index) => `<p:sldId id="${256 + index}" r:id="rId${index + 1}"/>`)
  const presentation = `${XML}<p:presentation xmlns:p="${OFFICE}/presentationml/2006/main" xmlns:r="${RELATION}"><p:sldIdLst>${ids.join('')}</p:sldIdLst></p:presentation>`
  const body = `${XML}<p:sld xmlns:p="${OFFICE}/presentationml/2006/main" xmlns:a="${OFFICE}/drawingml/2006/main"><p:cSld><p:spTree>${slide}</p:spTree></p:cSld></p:sld>`
  return zip([
    { name: '[Content_Types].xml', data: contentTypes(main, 'presentationml.presentation') },
    { name: '_rels/.rels', data: relations(['officeDocument', main]) },
    { name: main, data: presentation },
    { name: 'ppt/_rels/presentation.xml.rels', data: relations(...targets) },
    { name: 'ppt/slides/slide1.xml', data: body },
    {
      name: 'ppt/slides/_rels/slide1.xml.rels',
      data: relations(['slide', 'slide1.xml'], ['notesSlide', '../slides/slide1.xml']),
    },
  ])
}

export function epub(
  { manifest, spine }: { readonly manifest: string; readonly spine: string },
  more: readonly ZipEntry[] = [],
  opf = 'book.opf',
): Uint8Array {
  return zip([
    { name: 'mimetype', data: 'application/epub+zip', isStored: true },
    {
      name: 'META-INF/container.xml',
      data: `${XML}<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="${opf}" media-type="application/oebps-package+xml"/></rootfiles></container>`,
    },
    {
      name: 'book.opf',
      data: `${XML}<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Loop</dc:title></metadata><manifest>${manifest}</manifest><spine>${spine}</spine></package>`,
    },
    ...more,
  ])
}

const OPEN_DOCUMENT = 'urn:oasis:names:tc:opendocument:xmlns'

export function openDocument(kind: 'text' | 'spreadsheet', body: string, before = ''): Uint8Array {
  return zip([
    { name: 'mimetype', data: `application/vnd.oasis.opendocument.${kind}`, isStored: true },
    {
      name: 'META-INF/manifest.xml',
      data: `${XML}<manifest:manifest xmlns:manifest="${OPEN_DOCUMENT}:manifest:1.0"/>`,
    },
    {
      name: 'content.xml',
      data: `${XML}${before}<office:document-content xmlns:office="${OPEN_DOCUMENT}:office:1.0" xmlns:text="${OPEN_DOCUMENT}:text:1.0" xmlns:table="${OPEN_DOCUMENT}:table:1.0"><office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`,
    },
  ])
}
