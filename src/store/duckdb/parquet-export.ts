import { mkdirSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { literal, quote } from '../../core/domain/identifier.ts'
import type { BoundSql, ExportedRows } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'

/** What a Parquet file says of itself beside its rows. */
export interface FileNote {
  readonly key: string
  readonly text: string
  /** Its bytes with a checksum. */
  readonly sealed: (file: FileHandle) => AsyncGenerator<Uint8Array, void, void>
}

/** Rows with vectors: a group of them is held in memory as a whole, by whoever writes or reads it. */
const WIDE_ROWS = 'COMPRESSION zstd, ROW_GROUP_SIZE 8192'

/** A file that DuckDB writes and an answer is read from. */
export interface ExportFile {
  /** Writes the rows of a SELECT into the file. */
  statementOf(select: BoundSql, note?: FileNote): BoundSql
  /**
   * The bytes of the file. Its name goes at once, so that nothing is left when a reader stops.
   * @param encode closes the file; unset: the bytes as they are
   */
  read(encode?: (file: FileHandle) => AsyncGenerator<Uint8Array, void, void>): Promise<ExportedRows>
  remove(): void
}

/** @param directory is made where it is missing */
export function newExportFile(directory: string): ExportFile {
  makeDirectory(directory)
  const path = join(directory, `${crypto.randomUUID()}.parquet`)
  const remove = () => rmSync(path, { force: true })
  return {
    statementOf: (select, note) => {
      const noted =
        note === undefined
          ? ''
          : `, ${WIDE_ROWS}, KV_METADATA {${quote(note.key)}: ${literal(note.text)}}`
      return {
        ...select,
        sql: `COPY (${select.sql}) TO ${literal(path)} (FORMAT parquet${noted})`,
      }
    },
    async read(encode) {
      if (encode !== undefined) {
        const file = await open(path)
        remove()
        return { pieces: encode(file) }
      }
      const reader = Bun.file(path).stream().getReader()
      // The first read opens the file.
      const first = await reader.read()
      remove()
      return { pieces: bytesOf(first.value, reader) }
    },
    remove,
  }
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new AppError('storage_full', 'The folder of exports cannot be made', { cause: error })
  }
}

async function* bytesOf(
  first: Uint8Array | undefined,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for (let piece = first; piece !== undefined; piece = (await reader.read()).value) yield piece
  } finally {
    await reader.cancel()
  }
}
