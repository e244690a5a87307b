import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { literal } from '../domain/identifier.ts'
import type { BoundSql, ExportedRows } from '../domain/ports.ts'

/** A file that DuckDB writes and an answer is read from. */
export interface ExportFile {
  readonly path: string
  /** Writes the rows of a SELECT into the file. */
  statementOf(select: BoundSql): BoundSql
  /** The bytes of the file, which goes when they are read or nobody reads on. */
  read(): ExportedRows
  remove(): void
}

/** @param directory is made where it is missing */
export function newExportFile(directory: string): ExportFile {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `${crypto.randomUUID()}.parquet`)
  const remove = () => rmSync(path, { force: true })
  return {
    path,
    statementOf: (select) => ({
      ...select,
      sql: `COPY (${select.sql}) TO ${literal(path)} (FORMAT parquet)`,
    }),
    read: () => ({ pieces: bytesOf(path, remove) }),
    remove,
  }
}

async function* bytesOf(path: string, remove: () => void): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* Bun.file(path).stream()
  } finally {
    remove()
  }
}
