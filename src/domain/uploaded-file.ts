/** `table`: made by `CREATE TABLE files.<name> AS …`, not uploaded. */
export type FileFormat =
  | 'csv'
  | 'json'
  | 'jsonl'
  | 'parquet'
  | 'pdf'
  | 'html'
  | 'markdown'
  | 'text'
  | 'table'

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
