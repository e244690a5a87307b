/** The options that describe a file, for the document: `uploadOptions` reads them. */
import { type TSchema, t } from 'elysia'
import { OCR_WISHES } from '../../../core/domain/ports/reading-ports.ts'
import { FORMAT_NAMES } from '../../../core/domain/uploaded-file.ts'
import type { UploadField } from '../../../ingest/upload-options.ts'

const READING = {
  format: t.String({
    description: `The format, instead of the detected one: ${FORMAT_NAMES.join(', ')}`,
    examples: ['csv'],
  }),
  encoding: t.String({ description: 'Text encoding', examples: ['utf-8', 'windows-1252'] }),
  delimiter: t.String({
    description: 'CSV delimiter: one character, or tab, comma, semicolon, pipe, space',
    examples: [';'],
  }),
  header: t.Boolean({ description: 'Whether the first row has the column names' }),
  all_text: t.Boolean({ description: 'Read every column as text' }),
  sheet: t.String({ description: 'Name or number of a sheet', examples: ['Sales'] }),
  ocr: t.String({
    description: `Whether the OCR model reads pages and pictures without text: ${OCR_WISHES.join(', ')}. \`ask\` refuses a file that has some, with the cost`,
    examples: ['ask'],
  }),
}

const UPLOADING = {
  ...READING,
  replace: t.Boolean({
    description: 'Replaces a file of the same name, if the new one can be read',
  }),
  original_file_name: t.String({ description: 'Your name for the file' }),
  document_id: t.String({ description: "The document's id, if not the file's name" }),
  source_type: t.String({
    description: '`url`: the server downloads it from `source`',
    examples: ['url'],
  }),
  source: t.String({ description: 'The address to download from' }),
  name: t.String({ description: 'The name again, as existing clients send it' }),
} satisfies Readonly<Record<UploadField, TSchema>>

const BYTES = t.String({ format: 'binary' })
const FILES = t.Array(BYTES, { description: 'The files, each with its name', minItems: 1 })

/** As query parameters, read together with form fields. */
export const UPLOAD_QUERY = {
  read: () => null,
  parameters: Object.fromEntries(
    Object.entries(UPLOADING).map(([name, schema]) => [name, { schema }]),
  ),
}
/** As fields of a form. */
export const UPLOAD_FORM = t.Object(optionalField(UPLOADING))
export const UPLOADS_FORM = t.Object({ file: FILES, ...optionalField(UPLOADING) })
export const READING_FORM = t.Object({ file: FILES, ...optionalField(READING) })

function optionalField(fields: Readonly<Record<string, TSchema>>): Record<string, TSchema> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, t.Optional(schema)]),
  )
}
