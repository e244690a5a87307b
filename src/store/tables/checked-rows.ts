/** Checks the rows of a file that is said to be an export, one at a time. */

import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { CELL_CHARS_MAX, STANDARD_METADATA_KEYS } from '../../core/domain/document.ts'
import { AppError } from '../../core/errors.ts'
import { isCount, isObject, isShallow, parsedJson } from '../../core/json.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import { wholeStream } from '../duckdb/columns.ts'

const ID_CHARS_MAX = 4096
const METADATA_CHARS_MAX = 10_000_000
const METADATA_LEVELS_MAX = 100
/** A vector must have length 1 with at most this error, because of 32-bit precision. */
const LENGTH_TOLERANCE = 0.001

/** But metadata. @param source with `file_row_number` @throws AppError `file_unreadable` */
export async function checkRows(
  connection: DuckDBConnection,
  source: string,
  dimensions: number | null,
): Promise<void> {
  const problems = [
    [`document_id IS NULL OR trim(document_id) = ''`, 'has no document_id'],
    [`length(document_id) > ${ID_CHARS_MAX}`, 'has a document_id that is too long'],
    ['chunk_id IS NULL', 'has no chunk_id'],
    [`NOT starts_with(chunk_id, document_id || ':')`, 'has a chunk_id that is not of its document'],
    [`length(chunk_id) > ${ID_CHARS_MAX * 3}`, 'has a chunk_id that is too long'],
    ['chunk_content IS NULL', 'has no chunk_content'],
    [`length(chunk_content) > ${CELL_CHARS_MAX}`, 'has a chunk_content that is too long'],
    ['metadata IS NULL', 'has no metadata'],
    [`length(metadata) > ${METADATA_CHARS_MAX}`, 'has metadata that are too long'],
    ['vector IS NULL', 'has no vector'],
    [
      `len(vector) <> ${dimensions ?? 0}`,
      `has a vector that has not ${dimensions ?? 0} dimensions`,
    ],
    [`list_aggregate(vector, 'count') <> ${dimensions ?? 0}`, 'has a vector with nulls'],
    [
      `NOT coalesce(abs(list_dot_product(vector, vector) - 1) < ${LENGTH_TOLERANCE}, FALSE)`,
      'has a vector whose length is not 1, or with parts that are not finite numbers',
    ],
  ]
  const cases = problems.map(([condition], index) => `WHEN ${condition} THEN ${index}`)
  const [[row, problem] = []] = await allRows(
    connection,
    `SELECT file_row_number, problem FROM (
      SELECT file_row_number, CASE ${cases.join(' ')} END AS problem FROM ${source})
    WHERE problem IS NOT NULL ORDER BY file_row_number LIMIT 1`,
  )
  if (row !== undefined) throw wrongRow(Number(row), problems[Number(problem)]?.[1] ?? 'is wrong')
  const [[repeated] = []] = await allRows(
    connection,
    `SELECT max(file_row_number) FROM ${source} GROUP BY chunk_id HAVING count(*) > 1 LIMIT 1`,
  )
  if (repeated !== undefined) throw wrongRow(Number(repeated), 'has the chunk_id of another row')
}

/** In order, in an open transaction. @throws AppError `file_unreadable` for metadata that a chunk cannot have */
export async function* chunksOfFile(
  connection: DuckDBConnection,
  source: string,
  signal: AbortSignal,
): AsyncGenerator<
  {
    readonly rowIndex: number
    readonly content: string
    readonly context: string
  },
  void
> {
  const slice = new TimeSlice(4)
  const sql = `SELECT file_row_number, document_id, metadata, chunk_content, coalesce(context, '')
    FROM ${source}`
  for await (const data of wholeStream(connection, sql)) {
    await slice.yieldIfSpent(signal)
    for (const [row, documentId, metadata, content, context] of data.getRows()) {
      const rowIndex = Number(row)
      if (!isOfChunk(parsedJson(String(metadata)), String(documentId))) {
        throw wrongRow(rowIndex, 'has metadata that are not those of a chunk')
      }
      yield { rowIndex, content: String(content), context: String(context) }
      if (slice.isSpent) await slice.yieldIfSpent(signal)
    }
  }
}

const SOURCES: ReadonlySet<unknown> = new Set([
  'TextChunkingPreprocessor',
  'JSONChunkingPreprocessor',
  'ContextualPreprocessor',
  'MarkdownChunkingPreprocessor',
])

function isOfChunk(metadata: unknown, documentId: string): boolean {
  if (!isObject(metadata)) return false
  if (![...STANDARD_METADATA_KEYS].every((key) => Object.hasOwn(metadata, key))) return false
  const { chunk_index: index, start_char: start, end_char: end } = metadata
  return (
    isCount(index) &&
    isCount(start) &&
    isCount(end) &&
    start <= end &&
    typeof metadata.content_column === 'string' &&
    metadata.original_doc_id === documentId &&
    typeof metadata.original_row_index === 'string' &&
    SOURCES.has(metadata.source) &&
    isShallow(metadata, METADATA_LEVELS_MAX)
  )
}

/** @param rowIndex counted from 0 */
function wrongRow(rowIndex: number, what: string): AppError {
  const message = `The file could not be imported: row ${rowIndex + 1} ${what}; export it again`
  return new AppError('file_unreadable', message)
}

// The checksum inside an exported Parquet file. It is placed between the rows and the footer, where
// readers never look: they find the footer from the end of the file and the rows by their offsets.

const MARK = Buffer.from('eider-sha256')
const SEAL_BYTES = MARK.length + 32
/** The footer's length, then `PAR1`. */
const END_BYTES = 8
const PIECE_BYTES = 1024 * 1024

/** Yields the bytes of a Parquet file with a checksum of all of them inserted. Closes the file. */
export async function* sealedBytes(file: FileHandle): AsyncGenerator<Uint8Array, void, void> {
  try {
    const { size } = await file.stat()
    const footer = await footerStart(file, size)
    const hash = createHash('sha256')
    for await (const piece of piecesOf(file, 0, footer)) {
      hash.update(piece)
      yield piece
    }
    const rest = await bytesAt(file, footer, size - footer)
    yield Buffer.concat([MARK, hash.update(rest).digest()])
    yield rest
  } finally {
    await file.close()
  }
}

/** Earlier versions have none. @throws AppError `file_unreadable` if changed since */
export async function checkSeal(path: string, signal: AbortSignal): Promise<void> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const footer = await footerStart(file, size)
    if (footer === size) throw notParquet()
    const start = footer - SEAL_BYTES
    if (start < 0) return
    const seal = await bytesAt(file, start, SEAL_BYTES)
    const marked = MARK.filter((byte, index) => seal[index] === byte).length
    // Matching bytes can occur by chance, but a mostly matching mark was damaged.
    if (marked < MARK.length / 2) return
    const hash = createHash('sha256')
    for await (const piece of piecesOf(file, 0, start)) {
      signal.throwIfAborted()
      hash.update(piece)
    }
    for await (const piece of piecesOf(file, footer, size)) hash.update(piece)
    const isSame = hash.digest().equals(seal.subarray(MARK.length))
    if (marked === MARK.length && isSame) return
    const message = 'The file could not be imported: its checksum does not match; export it again'
    throw new AppError('file_unreadable', message)
  } finally {
    await file.close()
  }
}

function notParquet(): AppError {
  const why = 'it is not a Parquet file, or is cut off'
  const accepted =
    'an import takes the Parquet file of an export, and an upload takes other formats'
  return new AppError('file_unreadable', `The file could not be imported: ${why}; ${accepted}`)
}

/** Returns the offset of the footer, or the end of the file if it is not Parquet. */
async function footerStart(file: FileHandle, size: number): Promise<number> {
  if (size < END_BYTES) return size
  const end = await bytesAt(file, size - END_BYTES, END_BYTES)
  if (!end.toString('latin1').endsWith('PAR1')) return size
  return Math.max(size - END_BYTES - end.readUInt32LE(0), 0)
}

async function* piecesOf(file: FileHandle, from: number, to: number): AsyncGenerator<Buffer> {
  for (let at = from; at < to; ) {
    const piece = await bytesAt(file, at, Math.min(PIECE_BYTES, to - at))
    if (piece.length === 0) return
    yield piece
    at += piece.length
  }
}

async function bytesAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}
