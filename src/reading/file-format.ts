import type { FileFormat } from '../domain/uploaded-file.ts'
import { AppError } from '../errors.ts'

const EXTENSIONS: ReadonlyMap<string, FileFormat> = new Map<string, FileFormat>([
  ['csv', 'csv'],
  ['tsv', 'csv'],
  ['json', 'json'],
  ['jsonl', 'jsonl'],
  ['ndjson', 'jsonl'],
  ['parquet', 'parquet'],
  ['pdf', 'pdf'],
  ['html', 'html'],
  ['htm', 'html'],
  ['xhtml', 'html'],
  ['md', 'markdown'],
  ['markdown', 'markdown'],
  ['txt', 'text'],
  ['text', 'text'],
])

const KNOWN = 'CSV, JSON, JSON lines, Parquet, PDF, HTML, Markdown and text'

/**
 * The format of an uploaded file: what its first bytes say beyond doubt, else its extension, else a guess.
 * @throws AppError `file_unreadable` for binary content in no known format
 */
export function fileFormat(originalName: string, bytes: Uint8Array): FileFormat {
  const certain = magicFormat(bytes)
  if (certain !== null) return certain
  const extension = /\.([a-z0-9]{1,16})$/i.exec(originalName)?.[1]?.toLowerCase() ?? ''
  const named = EXTENSIONS.get(extension)
  const found = isBinary(bytes) ? null : (named ?? formatOfBytes(bytes))
  if (found !== null) return found
  throw new AppError('file_unreadable', `The file's content is binary; readable are ${KNOWN}`)
}

/** A guess from the content alone; null: it is not text. */
export function formatOfBytes(bytes: Uint8Array): FileFormat | null {
  const certain = magicFormat(bytes)
  if (certain !== null) return certain
  if (isBinary(bytes)) return null
  const begin = new TextDecoder().decode(bytes.subarray(0, SNIFFED_BYTES)).trimStart()
  if (/^<(!doctype html|html|head|body)\b/i.test(begin)) return 'html'
  if (/^[[{]/.test(begin)) return isJson(bytes) ? 'json' : (jsonLines(begin) ?? 'text')
  return looksLikeCsv(begin) ? 'csv' : 'text'
}

const SNIFFED_BYTES = 4096

function magicFormat(bytes: Uint8Array): FileFormat | null {
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, 5))
  if (begin === '%PDF-') return 'pdf'
  return begin.startsWith('PAR1') ? 'parquet' : null
}

/** Zero bytes in what is not UTF-16 or UTF-32. */
function isBinary(bytes: Uint8Array): boolean {
  const isWide =
    (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  return !isWide && bytes.subarray(0, SNIFFED_BYTES).includes(0)
}

function isJson(bytes: Uint8Array): boolean {
  const last = new TextDecoder().decode(bytes.subarray(-SNIFFED_BYTES)).trimEnd()
  const first = new TextDecoder().decode(bytes.subarray(0, SNIFFED_BYTES)).trimStart()
  if (first.startsWith('[')) return last.endsWith(']')
  return last.endsWith('}') && jsonLines(first) === null
}

/** Two lines that are objects of their own. */
function jsonLines(begin: string): FileFormat | null {
  const [first = '', second = ''] = begin.split('\n')
  return isObject(first) && isObject(second) ? 'jsonl' : null
}

function isObject(line: string): boolean {
  try {
    return line.trim().startsWith('{') && typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}

/** At least two lines with one number of separators, which is not 0. */
function looksLikeCsv(begin: string): boolean {
  const lines = begin.split(/\r?\n/).filter((line) => line !== '')
  const whole = begin.length < SNIFFED_BYTES ? lines : lines.slice(0, -1)
  if (whole.length < 2) return false
  return [',', ';', '\t'].some((separator) => {
    const counts = whole.map((line) => line.replace(/"[^"]*"/g, '').split(separator).length)
    return (counts[0] ?? 0) > 1 && counts.every((count) => count === counts[0])
  })
}
