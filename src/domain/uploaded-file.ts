/** What a file of each format holds: rows, or one text. */
const FORMAT_CONTENT = {
  csv: 'rows',
  json: 'rows',
  jsonl: 'rows',
  parquet: 'rows',
  /** Made by `CREATE TABLE files.<name> AS …`, not uploaded. */
  table: 'rows',
  pdf: 'text',
  html: 'text',
  markdown: 'text',
  text: 'text',
} as const

export type FileFormat = keyof typeof FORMAT_CONTENT

/** Formats that hold one text. */
export type DocumentFormat = {
  [Format in FileFormat]: (typeof FORMAT_CONTENT)[Format] extends 'text' ? Format : never
}[FileFormat]

export function isDocumentFormat(format: FileFormat): format is DocumentFormat {
  return FORMAT_CONTENT[format] === 'text'
}

/**
 * A file uploaded by `PUT /api/files/{name}`: its rows, or its text as one row, are `files.<name>` in SQL. Its bytes are not
 * kept.
 */
export interface UploadedFile {
  readonly id: number
  readonly name: string
  /** The client's own name for it: shown, never used as a path. */
  readonly originalName: string
  readonly format: FileFormat
  readonly sizeBytes: number
  readonly columns: readonly string[]
  readonly rowCount: number
  readonly createdAt: string
}
