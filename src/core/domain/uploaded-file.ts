import { AppError } from '../errors.ts'
import { nameKey } from './names.ts'

const ROW_FORMATS = ['csv', 'json', 'jsonl', 'parquet', 'xlsx', 'ods'] as const
/** Formats with one text, or one text per message. */
const DOCUMENT_FORMATS = [
  ...(['pdf', 'docx', 'pptx', 'odt', 'odp', 'rtf', 'epub', 'html', 'markdown'] as const),
  ...(['asciidoc', 'rst', 'org', 'latex', 'eml', 'mbox', 'ipynb', 'code', 'subtitles'] as const),
  ...(['image', 'xml', 'text'] as const),
] as const

export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number]

/** `zip`: of files stored separately. `table`: by `CREATE TABLE files.<name> AS …`. */
export type FileFormat = (typeof ROW_FORMATS)[number] | 'zip' | 'table' | DocumentFormat

/** The formats a sender may specify. */
export const FORMAT_NAMES: readonly FileFormat[] = [...ROW_FORMATS, ...DOCUMENT_FORMATS]

export function isFileFormat(name: string): name is FileFormat {
  return name === 'zip' || name === 'table' || FORMAT_NAMES.some((known) => known === name)
}

export function isDocumentFormat(format: FileFormat): format is DocumentFormat {
  return DOCUMENT_FORMATS.some((known) => known === format)
}

/** The detected format, as `GET /api/files/{name}` shows it. Unknown details are left out. */
export interface Recognized {
  readonly encoding?: string
  readonly compression?: string
  readonly delimiter?: string
  readonly header?: boolean
  readonly pages?: number
  readonly sheets?: readonly string[]
  readonly messages?: number
  /** Set for source code. */
  readonly language?: string
  /** Set for pages and pictures that a model has read. */
  readonly ocr?: {
    readonly model: string
    readonly images: number
    /** null if the provider did not report it. */
    readonly tokens: number | null
    /** From the price table; null if the model has no price. */
    readonly cost: number | null
  }
}

export interface UploadedFile {
  readonly id: number
  readonly name: string
  /** The client's name for the file; shown, but never used as a path. */
  readonly originalName: string
  readonly format: FileFormat
  readonly sizeBytes: number
  /** The columns of the only table, or of the first sheet. */
  readonly columns: readonly string[]
  readonly rowCount: number
  /** The sheets of a workbook, each a separate table; empty for other files. */
  readonly sheets: readonly FileSheet[]
  readonly createdAt: string
  readonly recognized: Recognized
  /** What could not be read or was changed. */
  readonly warnings: readonly string[]
  /** The `Content-Type` sent with the file. */
  readonly contentType: string | null
  /** The URL the file was fetched from. */
  readonly sourceUrl: string | null
  /** null if the bytes were not kept, or a statement created the file. */
  readonly contentKey: string | null
}

/** Defaults for a file about which nothing else is known. */
export const PLAIN_FILE = {
  sheets: [],
  recognized: {},
  warnings: [],
  contentType: null,
  sourceUrl: null,
  contentKey: null,
} as const satisfies Partial<UploadedFile>

export interface FileSheet {
  readonly name: string
  readonly columns: readonly string[]
  readonly rowCount: number
}

/** A table of a file: the first is `files.<name>`, other sheets `files."<name>.<sheet>"`. */
export interface FileTable {
  readonly file: UploadedFile
  /** Its index among the file's sheets. */
  readonly index: number
  readonly name: string
  readonly columns: readonly string[]
  readonly rowCount: number
}

export function tablesOfFile(file: UploadedFile): readonly FileTable[] {
  const { name, columns, rowCount, sheets } = file
  const others = sheets.slice(1).map((sheet, index) => {
    return { ...sheet, file, index: index + 1, name: `${name}.${sheet.name}` }
  })
  return [{ file, index: 0, name, columns, rowCount }, ...others]
}

/** Exactly, or without extension if unambiguous. @throws AppError `file_ambiguous` */
export function fileTableNamed(
  files: readonly UploadedFile[],
  name: string,
): FileTable | undefined {
  const key = fileKey(name)
  const exact = files.find((file) => fileKey(file.name) === key)
  if (exact !== undefined) return tablesOfFile(exact)[0]
  const found = files.flatMap((file) => {
    const short = namesWithoutEnding(file.name).map(fileKey)
    const tables = tablesOfFile(file)
    const first = short.includes(key) ? tables.slice(0, 1) : []
    return [...first, ...sheetsNamed(file, tables, [fileKey(file.name), ...short], key)]
  })
  if (found.length > 1) throw ambiguous(name, found)
  return found[0]
}

/** @param names the file's names, as name keys */
function sheetsNamed(
  { sheets }: UploadedFile,
  tables: readonly FileTable[],
  names: readonly string[],
  key: string,
): readonly FileTable[] {
  return sheets.flatMap((sheet, index) => {
    const table = tables[index]
    const isNamed = names.some((name) => `${name}.${fileKey(sheet.name)}` === key)
    return isNamed && table !== undefined ? [table] : []
  })
}

function ambiguous(name: string, found: readonly FileTable[]): AppError {
  const names = found.map((table) => table.name).slice(0, SHOWN_NAMES_MAX)
  const more = found.length > names.length ? ', …' : ''
  const message = `${name} may be one of several files: ${names.join(', ')}${more}. Write the whole name`
  return new AppError('file_ambiguous', message)
}

const SHOWN_NAMES_MAX = 20

/** The form of a file name for comparison: ignores case and how accents are encoded. */
export function fileKey(name: string): string {
  return nameKey(name.normalize('NFC'))
}

/** A file extension. It must contain a letter, so the name `Report 2.5` has none. */
const ENDING = /^(.*[^.])\.(?=[a-z0-9]*[a-z])[a-z0-9]{1,10}$/is
const COMPRESSED = /\.(gz|zst|bz2|xz)$/i

/** `teas.csv` → `teas`; `teas.csv.gz` → `teas.csv` and `teas`. */
export function namesWithoutEnding(name: string): readonly string[] {
  const short = ENDING.exec(name)?.[1]
  if (short === undefined) return []
  return COMPRESSED.test(name) ? [short, ...namesWithoutEnding(short)] : [short]
}

const FILE_NAME_CHARS_MAX = 255

// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
const FORBIDDEN_IN_FILE_NAMES = /[\u0000-\u001f\u007f-\u009f/\\]/u

// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
const FORBIDDEN_IN_MEMBER_NAMES = /[\u0000-\u001f\u007f-\u009f\\]/u

/** Any file's name, with spaces and dots. Never a path. @throws AppError `invalid_name` */
export function checkedFileName(sent: string): string {
  return checked(sent, FORBIDDEN_IN_FILE_NAMES)
}

/** For a ZIP member: `docs/report.pdf`. @throws AppError `invalid_name` */
export function checkedMemberName(sent: string): string {
  for (const part of sent.split('/')) checked(part, FORBIDDEN_IN_FILE_NAMES)
  return checked(sent, FORBIDDEN_IN_MEMBER_NAMES)
}

function checked(sent: string, forbidden: RegExp): string {
  const name = sent.normalize('NFC')
  const refuse = (why: string) => new AppError('invalid_name', `The name of a file ${why}`)
  if (name.trim() === '' || /^\.+$/.test(name)) throw refuse('must not be empty or only dots')
  if (name !== name.trim()) throw refuse('must not start or end with white space')
  const length = name.length > FILE_NAME_CHARS_MAX * 2 ? name.length : [...name].length
  if (length > FILE_NAME_CHARS_MAX) {
    throw refuse(`has at most ${FILE_NAME_CHARS_MAX} characters; this one has ${length}`)
  }
  if (!name.isWellFormed() || forbidden.test(name)) {
    throw refuse('must not contain control characters, "/" or "\\"')
  }
  return name
}
