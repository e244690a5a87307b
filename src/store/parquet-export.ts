import { mkdirSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { literal } from '../domain/identifier.ts'
import type { BoundSql, ExportedRows } from '../domain/ports.ts'
import { AppError } from '../errors.ts'

const PIECE_BYTES = 256 * 1024

/** A file that DuckDB writes and an answer is read from. */
export interface ExportFile {
  /** Writes the rows of a SELECT into the file. */
  statementOf(select: BoundSql): BoundSql
  /** The bytes of the file. Its name goes at once, so that nothing is left, whoever reads or stops reading. */
  read(): Promise<ExportedRows>
  remove(): void
}

/** @param directory is made where it is missing */
export function newExportFile(directory: string): ExportFile {
  makeDirectory(directory)
  const path = join(directory, `${crypto.randomUUID()}.parquet`)
  const remove = () => rmSync(path, { force: true })
  return {
    statementOf: (select) => ({
      ...select,
      sql: `COPY (${select.sql}) TO ${literal(path)} (FORMAT parquet)`,
    }),
    async read() {
      const file = await open(path)
      remove()
      return { pieces: bytesOf(file) }
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

async function* bytesOf(file: FileHandle): AsyncGenerator<Uint8Array, void, void> {
  try {
    for (;;) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(PIECE_BYTES))
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}
