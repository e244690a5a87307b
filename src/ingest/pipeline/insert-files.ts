/**
 * Inserts files as documents of a knowledge base. Their chunks are stored, not the files
 * themselves.
 */

import { basename } from 'node:path'
import type { Row } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { TableRows } from '../../core/domain/ports/job-ports.ts'
import type { ReadArchive, ReadFile } from '../../core/domain/ports/reading-ports.ts'
import type { IncomingFile } from '../../core/domain/ports/store-ports.ts'
import { type FileFormat, isDocumentFormat } from '../../core/domain/uploaded-file.ts'
import { AppError, type ErrorCode, toAppError } from '../../core/errors.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import {
  columnMappingOf,
  documentRow,
  LAYOUT_COLUMN,
  layoutValue,
} from '../sources/document-of-row.ts'
import { rowsOfTable } from '../sources/file-rows.ts'
import { type InsertDeps, noCounts } from '../sources/insert-request.ts'
import { READING_FIELDS, uploadOptions } from '../sources/upload-options.ts'
import { storeRows } from './store-rows.ts'
import type { FailedFile } from './upload-files.ts'

/** Dependencies for inserting files. Tables in files do not use the catalog. */
export interface InsertFilesDeps extends InsertDeps {
  readonly tables: TableRows
}

export interface SentDocumentFile extends IncomingFile {
  /** The id of its document: the name the client sent, including folders. */
  readonly name: string
  readonly contentType: string | null
}

export interface InsertFilesRequest {
  readonly kb: KnowledgeBase
  readonly files: readonly SentDocumentFile[]
  readonly fields: ReadonlyMap<string, string>
}

export interface InsertedFile {
  readonly name: string
  readonly format: FileFormat
  /** The SHA-256 hash of the received bytes. */
  readonly hash: string
  readonly documents: number
  readonly chunks: number
  /** The number of rows without content. */
  readonly skippedRows: number
  readonly warnings: readonly string[]
}

export interface InsertFilesOutcome {
  readonly files: readonly InsertedFile[]
  readonly failed: readonly FailedFile[]
}

const FILES_AT_ONCE = 4
/** Larger files are stored in batches, because the number of documents in them is unknown. */
const LARGE_BYTES = 4_000_000

/** All documents of a file or none, unless it is large. @throws AppError ends the request */
export async function insertFiles(
  { kb, files, fields }: InsertFilesRequest,
  deps: InsertFilesDeps,
  signal: AbortSignal,
): Promise<InsertFilesOutcome> {
  deps.embedders.embedder(kb.embeddingModel)
  if (fields.get('source_type') === 'url')
    throw new AppError('invalid_request', 'An address is inserted as "urls"')
  const { reading } = uploadOptions(fields, READING_FIELDS)
  const outcomes = await mapConcurrent(
    files,
    { concurrencyMax: FILES_AT_ONCE, signal },
    async (file, fileSignal) => {
      const { name, path, contentType } = file
      const source = { path, name: basename(name), contentType, url: null, options: reading }
      try {
        const use = (read: ReadFile) => insertRead({ kb, file, read }, deps, fileSignal)
        return { stored: await deps.reader.readFile(source, use, fileSignal) }
      } catch (error) {
        fileSignal.throwIfAborted()
        const { code, message } = toAppError(error)
        if (!OF_ONE_FILE.has(code)) throw error
        return { failure: { name, code, detail: message } }
      }
    },
  )
  return {
    files: outcomes.flatMap(({ stored }) => (stored === undefined ? [] : [stored])),
    failed: outcomes.flatMap(({ failure }) => (failure === undefined ? [] : [failure])),
  }
}

const OF_ONE_FILE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'file_unreadable',
  'ocr_unconfirmed',
  'insert_failed',
  'invalid_name',
  'out_of_memory',
])

interface FileToInsert {
  readonly kb: KnowledgeBase
  readonly file: SentDocumentFile
  readonly read: ReadFile
}

async function insertRead(
  { kb, file, read }: FileToInsert,
  deps: InsertFilesDeps,
  signal: AbortSignal,
): Promise<InsertedFile> {
  if (read.archive !== null) throw archiveRefused(read.archive)
  const counts = noCounts()
  const hash = await fileHash(file.path)
  const known = { file_path: file.name, file_hash: hash }
  const rows = isDocumentFormat(read.format)
    ? rowsOfFile({ kb, file, read }, known)
    : tableRows({ kb, file, read }, known, deps, signal)
  const isUnbounded = file.sizeBytes > LARGE_BYTES
  await deps.inserts.during(kb, { counts }, () => {
    return storeRows({ kb, source: 'files', rows, isUnbounded, counts }, deps, signal)
  })
  if (counts.storedDocuments === 0 && counts.skippedRows > 0) {
    const hint = read.format === 'pdf' ? '; to read scans, set an OCR model (EIDER_OCR_MODEL)' : ''
    throw new AppError('file_unreadable', `The file holds no text${hint}`)
  }
  const { storedDocuments: documents, chunks, skippedRows } = counts
  const { format, warnings } = read
  return { name: file.name, format, hash, documents, chunks, skippedRows, warnings }
}

function archiveRefused({ members }: ReadArchive): AppError {
  const held = `It is a ZIP of ${members.length} other files`
  return new AppError('file_unreadable', `${held}: unpack it, and send those`)
}

/** Hashes the bytes, so that a client can tell which files are stored unchanged. */
async function fileHash(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256')
  for await (const piece of Bun.file(path).stream()) hash.update(piece)
  return hash.digest('hex')
}

async function* rowsOfFile({ kb, file, read }: FileToInsert, known: Row): AsyncGenerator<Row> {
  const rule = columnMappingOf(kb)
  let count = 0
  for await (const document of read.documents) {
    count += 1
    const { content, columns, title } = document
    // If the file is a single document, it has the file's name; messages in a mailbox have their
    // own ids.
    const id = document.id === null ? file.name : `${file.name}#${document.id || count}`
    const facts = { ...columns, title, format: read.format, ...known }
    const row = { id, content, columns: { ...facts, [LAYOUT_COLUMN]: layoutValue(document) } }
    yield documentRow(row, rule)
  }
}

/** Reads directly from the reader process, so the table never appears in the catalog. */
async function* tableRows(
  { kb, file, read }: FileToInsert,
  known: Row,
  { files, tables }: Pick<InsertFilesDeps, 'files' | 'tables'>,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  files.checkSpace(2 * file.sizeBytes)
  if (read.tables.length === 0) throw new AppError('file_unreadable', 'The file holds no rows')
  const rule = columnMappingOf(kb)
  for (const [index, table] of read.tables.entries()) {
    const name = index === 0 ? file.name : `${file.name}.${table.name ?? index}`
    const columns = table.columns.map((column) => column.name)
    const rows = tables.rowsOfTable(table, signal)
    yield* rowsOfTable({ index, name, columns, known }, rule, rows)
  }
}
