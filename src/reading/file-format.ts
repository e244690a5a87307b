import TABLE from '../../assets/reading/formats.json' with { type: 'json' }
import type { ScanMediaType } from '../core/domain/ports/reading-ports.ts'
import type { FileFormat } from '../core/domain/uploaded-file.ts'
import { isObject, parsedJson } from '../core/json.ts'
import { unreadable } from './document-format.ts'
import { languageOfName, languageOfShebang } from './programming-languages.ts'
import { markedEncoding, wideEncoding } from './text-encoding.ts'
import { beginsLikeZip, zipEntries, zipNames } from './zip-file.ts'

const FORMATS_BY_ENDING = new Map(
  Object.entries(TABLE.endings).flatMap(([format, endings]) => {
    // The table's keys are formats.
    return endings.split(' ').map((ending) => [ending, format as FileFormat] as const)
  }),
)

const KNOWN =
  'CSV, XLSX, ODS, JSON, JSON lines, Parquet, PDF, DOCX, PPTX, ODT, ODP, EPUB, RTF, HTML, Markdown, mail, notebooks, source code and text'

/** By clear bytes, extension or guess. @throws AppError `file_unreadable` for unknown bytes */
export function fileFormat(originalName: string, bytes: Uint8Array): FileFormat {
  const certain = certainFormat(bytes)
  if (certain !== null) return certain
  const named = isBinary(bytes) ? null : formatOfName(originalName)
  const found = named ?? formatOfBytes(bytes)
  if (found !== null) return found
  if (isArchive(bytes)) return 'zip'
  const kind = unreadableKind(bytes)
  if (kind !== null) throw unreadable(kind)
  throw unreadable(`The file's content is binary; readable are ${KNOWN}`)
}

/** Whether the file has a directory of its contents, which may be anywhere in the file. */
export function hasDirectory(begin: Uint8Array): boolean {
  return beginsLikeZip(begin) || isOle(begin)
}

/** Null if the name does not tell, or if the bytes would have shown the extension's format. */
function formatOfName(name: string): FileFormat | null {
  const ending = /\.([a-z0-9]{1,16})$/i.exec(name)?.[1]?.toLowerCase() ?? ''
  const found = FORMATS_BY_ENDING.get(ending)
  return found ?? (languageOfName(name) === null ? null : 'code')
}

/** Guesses from the content alone; null if it is not text. */
export function formatOfBytes(bytes: Uint8Array): FileFormat | null {
  const certain = certainFormat(bytes)
  if (certain !== null) return certain
  if (isBinary(bytes) || unreadableKind(bytes) !== null) return null
  const begin = new TextDecoder().decode(bytes.subarray(0, SNIFFED_BYTES)).trimStart()
  if (/^<(!doctype html|html|head|body)\b/i.test(begin)) return 'html'
  if (begin.startsWith('<?xml')) return /<html\b/i.test(begin) ? 'html' : 'xml'
  if (/^[[{]/.test(begin)) return formatOfJson(bytes, begin)
  if (languageOfShebang(begin) !== null) return 'code'
  return formatOfMail(begin) ?? (looksLikeCsv(begin) ? 'csv' : 'text')
}

const SNIFFED_BYTES = 4096

const MAGIC: readonly (readonly [string, FileFormat])[] = [
  ['%PDF-', 'pdf'],
  ['PAR1', 'parquet'],
  ['{\\rtf', 'rtf'],
]

function certainFormat(bytes: Uint8Array): FileFormat | null {
  // Programs write line ends or a byte order mark before a PDF, and every viewer skips them.
  const begin = new TextDecoder('latin1')
    .decode(bytes.subarray(0, 1024))
    .replace(/^[\s\u00ef\u00bb\u00bf]+(?=%PDF-)/, '')
  const found = MAGIC.find(([magic]) => begin.startsWith(magic))?.[1]
  if (found !== undefined) return found
  if (imageType(bytes) !== null) return 'image'
  return beginsLikeZip(bytes) ? formatOfZip(bytes) : null
}

/** A folder that every package of this kind contains. */
const OFFICE_FOLDERS: readonly (readonly [string, FileFormat])[] = [
  ['word/', 'docx'],
  ['xl/', 'xlsx'],
  ['ppt/', 'pptx'],
]

const MEDIA_TYPES: readonly (readonly [string, FileFormat])[] = [
  ['application/epub+zip', 'epub'],
  ['application/vnd.oasis.opendocument.text', 'odt'],
  ['application/vnd.oasis.opendocument.spreadsheet', 'ods'],
  ['application/vnd.oasis.opendocument.presentation', 'odp'],
]

/** Null for a ZIP of something else. */
function formatOfZip(bytes: Uint8Array): FileFormat | null {
  const names = zipNames(bytes) ?? []
  if (names.includes('[Content_Types].xml')) {
    const found = OFFICE_FOLDERS.find(([folder]) => names.some((name) => name.startsWith(folder)))
    return found?.[1] ?? null
  }
  if (names.includes('mimetype')) {
    const entry = zipEntries(bytes, (name) => name === 'mimetype').get('mimetype')
    const mediaType = new TextDecoder('latin1').decode(entry?.subarray(0, 100)).trim()
    const found = MEDIA_TYPES.find(([known]) => mediaType.startsWith(known))?.[1]
    if (found !== undefined) return found
  }
  return names.includes('META-INF/container.xml') ? 'epub' : null
}

/** Whether it is a ZIP of other files, as opposed to an unreadable format. */
function isArchive(bytes: Uint8Array): boolean {
  const names = beginsLikeZip(bytes) ? zipNames(bytes) : null
  return names !== null && !names.includes('[Content_Types].xml') && !names.includes('mimetype')
}

/** Whether there are zero bytes, other than in UTF-16. */
function isBinary(bytes: Uint8Array): boolean {
  if (!bytes.subarray(0, SNIFFED_BYTES).includes(0)) return false
  return markedEncoding(bytes) === null && wideEncoding(bytes) === null
}

function formatOfJson(bytes: Uint8Array, begin: string): FileFormat {
  if (!isJson(bytes)) return jsonLines(begin) ?? 'text'
  return begin.startsWith('{') && isNotebook(bytes, begin) ? 'ipynb' : 'json'
}

function isNotebook(bytes: Uint8Array, begin: string): boolean {
  const end = new TextDecoder().decode(bytes.subarray(-SNIFFED_BYTES))
  return /"(cells|worksheets)"\s*:\s*\[/.test(begin) && /"nbformat"\s*:\s*\d/.test(begin + end)
}

function isJson(bytes: Uint8Array): boolean {
  const last = new TextDecoder().decode(bytes.subarray(-SNIFFED_BYTES)).trimEnd()
  const first = new TextDecoder().decode(bytes.subarray(0, SNIFFED_BYTES)).trimStart()
  if (first.startsWith('[')) return last.endsWith(']')
  return last.endsWith('}') && jsonLines(first) === null
}

/** Whether the first two lines are separate objects. */
function jsonLines(begin: string): FileFormat | null {
  const [first = '', second = ''] = begin.split('\n')
  return isObject(parsedJson(first)) && isObject(parsedJson(second)) ? 'jsonl' : null
}

const MAIL_HEADER =
  /^(from|to|date|subject|message-id|received|mime-version|return-path|content-type):/i

/** Whether the first lines are mail headers, three of them well known. */
function formatOfMail(begin: string): FileFormat | null {
  const lines = begin.split(/\r?\n/)
  const isMailbox = /^From \S+ .*\d\d:\d\d/.test(lines[0] ?? '')
  const body = lines.indexOf('', isMailbox ? 1 : 0)
  const headers = lines.slice(isMailbox ? 1 : 0, body === -1 ? lines.length - 1 : body)
  const isHeader = headers.every((line) => /^([!-9;-~]+:|[ \t]|>From )/.test(line))
  const known = headers.filter((line) => MAIL_HEADER.test(line)).length
  if (!isHeader || known < (isMailbox ? 1 : 3)) return null
  return isMailbox ? 'mbox' : 'eml'
}

/** Whether two or more lines have the same number of separators, at least one. */
function looksLikeCsv(begin: string): boolean {
  const lines = begin.split(/\r?\n/).filter((line) => line !== '')
  const whole = begin.length < SNIFFED_BYTES ? lines : lines.slice(0, -1)
  if (whole.length < 2) return false
  return [',', ';', '\t'].some((separator) => {
    const counts = whole.map((line) => line.replace(/"[^"]*"/g, '').split(separator).length)
    return (counts[0] ?? 0) > 1 && counts.every((count) => count === counts[0])
  })
}

const OLE = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'

/** Returns advice for a known but unreadable kind of file; null if unknown. */
function unreadableKind(bytes: Uint8Array): string | null {
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, 512))
  if (isOle(bytes)) return oleKind(bytes)
  if (beginsLikeZip(bytes)) return zipKind(bytes)
  const found = TABLE.unreadable.find(({ begins, at }) => {
    return begins.some((magic) => begin.startsWith(toWindows1252(magic), at))
  })
  return found?.advice ?? null
}

function zipKind(bytes: Uint8Array): string {
  const names = zipNames(bytes)
  if (names === null) return 'The file is a ZIP that is cut off or damaged; send it again'
  return 'The file is a ZIP of other files; send these, or all of them at once as a ZIP'
}

/** By its streams: the container of Office before 2007, and of files with a password. */
function oleKind(bytes: Uint8Array): string {
  const found = TABLE.ole.find(({ stream }) => Buffer.from(bytes).includes(stream, 0, 'utf16le'))
  return (
    found?.advice ?? 'The file is an Office document from before 2007; save it in today’s format'
  )
}

/** Whether it is an Office file from before 2007, or one with a password. */
function isOle(bytes: Uint8Array): boolean {
  return Array.from(OLE).every((char, at) => bytes[at] === char.charCodeAt(0))
}

/** TextDecoder's latin1 is actually windows-1252. */
function toWindows1252(magic: string): string {
  return new TextDecoder('latin1').decode(Uint8Array.from(magic, (char) => char.charCodeAt(0)))
}

const BEGINS: readonly (readonly [ScanMediaType, RegExp])[] = [
  ['image/png', /^89504e47/],
  ['image/jpeg', /^ffd8ff/],
  ['image/gif', /^47494638/],
  ['image/webp', /^52494646.{8}57454250/],
]

/** Null if it is not a picture that models accept. */
export function imageType(bytes: Uint8Array): ScanMediaType | null {
  const begin = Buffer.from(bytes.subarray(0, 12)).toString('hex')
  return BEGINS.find(([, pattern]) => pattern.test(begin))?.[0] ?? null
}
