import { mkdirSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { literal, quote, type RelationColumn } from '../../core/domain/names.ts'
import type { BoundSql, ExportedRows } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { countOf } from './columns.ts'
import type { Database } from './database.ts'
import { statementError } from './database-error.ts'
import { runInterruptibly } from './interruptible.ts'
import type { SessionSql } from './read-session.ts'

/** The temporary table with the rows of a SELECT. Only one connection can see it. */
export const STAGED = 'eider_staged'

export const STAGED_ROWS = `temp.${STAGED}`

/** READ ONLY may write temporary tables. A write then moves the rows without client SQL. */
export interface StagedSelect {
  readonly connection: DuckDBConnection
  describe(): Promise<{ readonly columns: readonly RelationColumn[]; readonly rowCount: number }>
  /** Within a write on `connection`. @param table the quoted name */
  moveInto(table: string, signal: AbortSignal): Promise<void>
  /** Which has all of their columns. @throws AppError `sql_failed` if a value does not fit */
  appendTo(table: string, signal: AbortSignal): Promise<void>
  /** Drops the temporary table. */
  release(): void
}

/** @param shape sets column types: values are converted as if inserted */
export function stagingOf(select: BoundSql, shape?: string): SessionSql {
  const create = `CREATE OR REPLACE TEMP TABLE ${STAGED} AS`
  if (shape === undefined) return { ...select, sql: `${create} ${select.sql}` }
  const sql = `INSERT INTO ${STAGED_ROWS} ${VALUES_LIST.exec(select.sql)?.[1] ?? select.sql}`
  return { ...select, before: `${create} ${shape} LIMIT 0`, sql }
}

/**
 * `VALUES …` as DuckDB prints it. Without the outer SELECT, values get the types of their columns.
 */
const VALUES_LIST = /^SELECT \* FROM \((VALUES [\s\S]*)\) AS valueslist$/

/** @param connection the one on which `stagingOf(select)` has run */
export function stagedSelect(
  connection: DuckDBConnection,
  database: Pick<Database, 'discard'>,
): StagedSelect {
  return {
    connection,
    async describe() {
      const rowCount = await countOf(connection, `SELECT count(*) FROM ${STAGED_ROWS}`)
      const described = await allRows(connection, `DESCRIBE ${STAGED_ROWS}`)
      const columns = described.map(([name, type]) => ({ name: String(name), type: String(type) }))
      return { columns, rowCount }
    },
    moveInto: (table, signal) => {
      return runInterruptibly(connection, signal, `CREATE TABLE ${table} AS FROM ${STAGED_ROWS}`)
    },
    appendTo: (table, signal) => appended(connection, table, signal),
    release: () => database.discard(connection),
  }
}

async function appended(
  connection: DuckDBConnection,
  table: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await runInterruptibly(connection, signal, `INSERT INTO ${table} BY NAME FROM ${STAGED_ROWS}`)
  } catch (error) {
    throw signal.aborted ? error : statementError(error)
  }
}

export interface FileNote {
  readonly key: string
  readonly text: string
  /** Yields the file's bytes, followed by a checksum. */
  readonly sealed: (file: FileHandle) => AsyncGenerator<Uint8Array, void, void>
}

/** Small groups, because a whole group is in memory while it is written or read. */
const WIDE_ROWS = 'COMPRESSION zstd, ROW_GROUP_SIZE 8192'

/** @param directory created if it does not exist */
export function newExportFile(directory: string): {
  statementOf(select: BoundSql, note?: FileNote): BoundSql
  /** Unlinked at once, so nothing remains on disk. @param encode also closes the file */
  read(encode?: (file: FileHandle) => AsyncGenerator<Uint8Array, void, void>): Promise<ExportedRows>
  remove(): void
} {
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
      // The first read opens the file, so later failures cannot come from opening it.
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
    throw new AppError('storage_full', 'The folder for exports cannot be created', { cause: error })
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
