import { open } from 'node:fs/promises'
import type {
  ReadArchive,
  ReadDocument,
  ReadTable,
  SourceFile,
} from '../../core/domain/ports/reading-ports.ts'
import {
  type DocumentFormat,
  type FileFormat,
  isDocumentFormat,
} from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import type { ReadingNotes } from '../document-format.ts'
import { fileFormat, hasDirectory } from '../file-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { unpackedFile } from '../unpacked-file.ts'
import { beginsLikeZip } from '../zip-package.ts'
import { readDocuments } from './read-document.ts'

export interface FileContents {
  readonly format: FileFormat
  /** Their files lie in the folder. */
  readonly tables: readonly ReadTable[]
  readonly documents: Iterable<ReadDocument> | AsyncIterable<ReadDocument>
  /** Of a ZIP of other files; else null. */
  readonly archive: ReadArchive | null
}

/** Enough of a file's begin and end to tell its format, unless it is a container of others. */
const LOOKED_AT_BYTES = 65_536

/**
 * What is in a file. It runs in a reader process.
 * @param folder an empty one for the files of tables
 * @throws AppError `file_unreadable`
 */
export async function readFile(
  sent: SourceFile,
  folder: string,
  notes: ReadingNotes,
): Promise<FileContents> {
  if (Bun.file(sent.path).size === 0) throw new AppError('file_unreadable', 'The file is empty')
  const source = await unpackedFile(sent, folder, notes)
  const format = source.options.format ?? (await formatOf(source))
  if (format === 'zip') {
    const { readArchive } = await import('../archive.ts')
    const archive = await readArchive(source.path, folder)
    return { format, tables: [], documents: [], archive }
  }
  if (isDocumentFormat(format)) {
    return { format, tables: [], documents: documentsOf(source, format, notes), archive: null }
  }
  const { readTables } = await import('./read-tables.ts')
  const tables = await readTables({ ...source, format }, folder, notes)
  return { format, tables, documents: [], archive: null }
}

async function formatOf(source: SourceFile): Promise<FileFormat> {
  const bytes = await ends(source.path)
  // One that is larger than any document is not looked into to tell.
  const isLarge = Bun.file(source.path).size > READING_LIMITS.documentBytesMax
  return isLarge && beginsLikeZip(bytes) ? 'zip' : fileFormat(source.name, bytes)
}

async function* documentsOf(
  source: SourceFile,
  format: DocumentFormat,
  notes: ReadingNotes,
): AsyncGenerator<ReadDocument, void> {
  const file = Bun.file(source.path)
  if (file.size > READING_LIMITS.documentBytesMax) {
    const limit = READING_LIMITS.documentBytesMax / 1024 ** 2
    throw new AppError(
      'file_unreadable',
      `The file could not be read: documents have at most ${limit} MiB; split it`,
    )
  }
  const charset = source.options.encoding ?? charsetOf(source.contentType)
  yield* readDocuments(
    { bytes: await file.bytes(), format, name: source.name, charset, url: source.url },
    notes,
  )
}

/** Of `text/html; charset=utf-8`. */
function charsetOf(contentType: string | null): string | null {
  return /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType ?? '')?.[1] ?? null
}

async function ends(path: string): Promise<Uint8Array> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const bytes = new Uint8Array(2 * LOOKED_AT_BYTES)
    await file.read(bytes, 0, LOOKED_AT_BYTES, 0)
    const isWhole = size <= 2 * LOOKED_AT_BYTES
    const isContainer = hasDirectory(bytes) && size <= READING_LIMITS.documentBytesMax
    if (isWhole || isContainer) return await Bun.file(path).bytes()
    await file.read(bytes, LOOKED_AT_BYTES, LOOKED_AT_BYTES, size - LOOKED_AT_BYTES)
    return bytes
  } finally {
    await file.close()
  }
}
