/** What may be said about a file beside its bytes, for the document: `uploadOptions` reads it. */
import { type TSchema, t } from 'elysia'
import { OCR_WISHES } from '../../../core/domain/ports/reading-ports.ts'
import { FORMAT_NAMES } from '../../../core/domain/uploaded-file.ts'
import type { UploadField } from '../../../ingest/upload-options.ts'

const READING = {
  format: t.String({
    description: `What it is, where you know better than the file: ${FORMAT_NAMES.join(', ')}`,
    examples: ['csv'],
  }),
  encoding: t.String({ description: 'Of its text', examples: ['utf-8', 'windows-1252'] }),
  delimiter: t.String({
    description: 'Between values of CSV: one character, or tab, comma, semicolon, pipe, space',
    examples: [';'],
  }),
  header: t.Boolean({ description: 'Whether the first row has the names of the columns' }),
  all_text: t.Boolean({ description: 'Every column is text, whatever its values look like' }),
  sheet: t.String({ description: 'The name or the number of a sheet', examples: ['Sales'] }),
  ocr: t.String({
    description: `Whether the OCR model reads pages and pictures without text: ${OCR_WISHES.join(', ')}. \`ask\`: a file that has some is refused, with the cost`,
    examples: ['ask'],
  }),
}

const UPLOADING = {
  ...READING,
  replace: t.Boolean({ description: 'A file of that name gives way, once the new one is read' }),
  original_file_name: t.String({ description: 'Your own name for it' }),
  document_id: t.String({ description: 'The id of its document, instead of its name' }),
  source_type: t.String({
    description: '`url`: the server fetches it, from `source`',
    examples: ['url'],
  }),
  source: t.String({ description: 'The address to fetch it from, instead of bytes' }),
  name: t.String({ description: 'The name again, which existing clients send' }),
} satisfies Readonly<Record<UploadField, TSchema>>

const BYTES = t.String({ format: 'binary' })
const FILES = t.Array(BYTES, { description: 'The files, each with its name', minItems: 1 })

/** As parameters of the query, which are read with the fields of the form. */
export const UPLOAD_QUERY = {
  read: () => null,
  parameters: Object.fromEntries(
    Object.entries(UPLOADING).map(([name, schema]) => [name, { schema }]),
  ),
}
/** As fields of a form. */
export const UPLOAD_FORM = t.Object(optional(UPLOADING))
export const UPLOADS_FORM = t.Object({ file: FILES, ...optional(UPLOADING) })
export const READING_FORM = t.Object({ file: FILES, ...optional(READING) })

function optional(fields: Readonly<Record<string, TSchema>>): Record<string, TSchema> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, t.Optional(schema)]),
  )
}
