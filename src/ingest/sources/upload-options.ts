/** A client's options for a file: query parameters or form fields. */
import {
  OCR_WISHES,
  type OcrWish,
  type ReadingOptions,
} from '../../core/domain/ports/reading-ports.ts'
import { type FileFormat, FORMAT_NAMES, isFileFormat } from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import { definedFields } from '../../core/json.ts'

export interface UploadOptions {
  readonly reading: ReadingOptions
  readonly replace: boolean
  /** The client's own name for the file. */
  readonly originalName: string | null
  /** The id of its document; null: the file's name. */
  readonly documentId: string | null
  readonly url: string | null
}

/** Options for reading the bytes. */
export const READING_FIELDS = [
  'format',
  'encoding',
  'delimiter',
  'header',
  'all_text',
  'sheet',
  'ocr',
] as const

const KNOWN_OPTIONS = [
  ...READING_FIELDS,
  'replace',
  'original_file_name',
  'document_id',
  'source_type',
  'source',
  // Some clients repeat the name.
  'name',
] as const

export type UploadField = (typeof KNOWN_OPTIONS)[number]

/** @throws AppError `invalid_request`, `unknown_field`, `missing_parameter` */
export function uploadOptions(
  fields: ReadonlyMap<string, string>,
  known: readonly UploadField[] = KNOWN_OPTIONS,
): UploadOptions {
  const url = urlOf(fields.get('source_type') || undefined, fields.get('source') || undefined)
  const unknown = [...fields.keys()].find((name) => !known.some((one) => one === name))
  if (unknown !== undefined) {
    const message = `Unknown parameter "${unknown.slice(0, 100)}"; expected ${known.join(', ')}`
    throw new AppError('unknown_field', message)
  }
  const option = <T>(name: UploadField, parsed: (text: string, name: string) => T) => {
    const text = fields.get(name)
    // An empty field of a form is not set, but an empty delimiter is a mistake.
    if (text === '' && name !== 'delimiter') return undefined
    return text === undefined ? undefined : parsed(text, name)
  }
  const asSent = (text: string) => text
  return {
    reading: definedFields({
      format: option('format', formatNamed),
      encoding: option('encoding', encodingNamed),
      delimiter: option('delimiter', delimiterOf),
      header: option('header', truth),
      allText: option('all_text', truth),
      sheet: option('sheet', sheetOf),
      ocr: option('ocr', ocrWish),
    }),
    replace: option('replace', truth) ?? false,
    originalName: option('original_file_name', asSent) ?? null,
    documentId: option('document_id', asSent) ?? null,
    url,
  }
}

const OTHER_FORMATS: Readonly<Record<string, FileFormat>> = {
  tsv: 'csv',
  ndjson: 'jsonl',
  md: 'markdown',
  txt: 'text',
  htm: 'html',
}

function formatNamed(text: string): FileFormat {
  const name = text.trim().toLowerCase().replace(/^\./, '')
  const format = OTHER_FORMATS[name] ?? name
  if (isFileFormat(format) && format !== 'table') return format
  throw wrongOption('format', text, `one of ${FORMAT_NAMES.join(', ')}`)
}

function encodingNamed(text: string): string {
  try {
    return new TextDecoder(text.trim()).encoding
  } catch {
    throw wrongOption('encoding', text, 'a name such as utf-8, utf-16le, windows-1252 or shift_jis')
  }
}

const DELIMITERS: Readonly<Record<string, string>> = {
  tab: '\t',
  '\\t': '\t',
  comma: ',',
  semicolon: ';',
  pipe: '|',
  space: ' ',
}

function delimiterOf(text: string): string {
  const delimiter = DELIMITERS[text.toLowerCase()] ?? text
  const isOne = [...delimiter].length === 1 && !/["\r\n\0]/.test(delimiter)
  if (isOne) return delimiter
  throw wrongOption('delimiter', text, 'one character, or tab, comma, semicolon, pipe or space')
}

const TRUTHS: Readonly<Record<string, boolean>> = {
  '1': true,
  true: true,
  yes: true,
  '0': false,
  false: false,
  no: false,
}

function truth(text: string, name: string): boolean {
  const value = TRUTHS[text.trim().toLowerCase()]
  if (value === undefined) throw wrongOption(name, text, 'true or false')
  return value
}

const SHEET_CHARS_MAX = 255

function sheetOf(text: string): string {
  if (text.length <= SHEET_CHARS_MAX) return text
  throw wrongOption('sheet', text, 'the name or the number of a sheet')
}

function ocrWish(text: string): OcrWish {
  const wish = OCR_WISHES.find((one) => one === text)
  if (wish === undefined) throw wrongOption('ocr', text, OCR_WISHES.join(', '))
  return wish
}

function urlOf(sourceType: string | undefined, source: string | undefined): string | null {
  if (sourceType === undefined || sourceType === 'file') {
    if (source === undefined) return null
    const message = 'Parameter "source" requires source_type=url'
    throw new AppError('invalid_request', message)
  }
  if (sourceType !== 'url') throw wrongOption('source_type', sourceType, 'file or url')
  if (source !== undefined) return source
  throw new AppError('missing_parameter', 'Must provide "source", the address of the file')
}

function wrongOption(name: string, found: string, expected: string): AppError {
  const message = `Parameter "${name}" must be ${expected}, found "${found.slice(0, 100)}"`
  return new AppError('invalid_request', message)
}
