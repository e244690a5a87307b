/** Answers requests in a process that reads database files. Every failure becomes an answer. */

import { closeSync, openSync, readSync } from 'node:fs'
import { errorText, hasCode } from '../../core/errors.ts'
import { DuckDBFile } from './duckdb-file.ts'
import type { FileEngine, FileJob, FileReply, OpenedFile } from './file-messages.ts'
import { SqliteFile } from './sqlite-file.ts'

export async function replyTo(job: FileJob): Promise<FileReply> {
  const { id } = job
  try {
    requireFormat(job.engine, job.path)
    const file = job.engine === 'sqlite' ? new SqliteFile(job) : await DuckDBFile.open(job)
    try {
      return { kind: 'answer', id, json: JSON.stringify(await answered(file, job)) }
    } finally {
      file.close()
    }
  } catch (error) {
    const code = hasCode(error, 'storage_full') ? 'storage_full' : 'source_failed'
    return { kind: 'failed', id, code, message: causeOf(error, job) }
  }
}

async function answered(file: OpenedFile, { ask }: FileJob): Promise<unknown> {
  switch (ask.kind) {
    case 'check':
      await file.check()
      return {}
    case 'tables':
      return file.tables()
    case 'columns':
      return file.columns(ask.table)
    case 'describe':
      return file.describe(ask.sql)
    default:
      return file.stage(ask.select)
  }
}

const SQLITE_MAGIC = 'SQLite format 3\0'
const DUCKDB_MAGIC = 'DUCK'
const DUCKDB_MAGIC_AT = 8

/** Refuses a file of another format, for which DuckDB might look for an extension. */
function requireFormat(engine: FileEngine, path: string): void {
  const bytes = Buffer.alloc(SQLITE_MAGIC.length)
  const file = openSync(path, 'r')
  let length = 0
  try {
    length = readSync(file, bytes, 0, bytes.length, 0)
  } finally {
    closeSync(file)
  }
  const text = bytes.toString('latin1', 0, length)
  const isSqlite = text === SQLITE_MAGIC
  const isDuckDB = text.startsWith(DUCKDB_MAGIC, DUCKDB_MAGIC_AT)
  // An empty file is an empty SQLite database and has no signature.
  if (engine === 'sqlite' ? isSqlite || length === 0 : isDuckDB) return
  const name = engine === 'sqlite' ? 'SQLite' : 'DuckDB'
  const other = isSqlite ? ', but one of SQLite' : isDuckDB ? ', but one of DuckDB' : ''
  throw new Error(`it is not a database of ${name}${other}`)
}

const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/SQLITE_BUSY|SQLITE_LOCKED|database is locked/, 'another program is writing to it; try again'],
  [
    /Could not set lock on file/,
    'another program has it open for writing; try again when it is closed',
  ],
  [/SQLITE_NOTADB/, 'it is not a database of SQLite, or it is encrypted'],
  [/SQLITE_CORRUPT|malformed/, 'the file is damaged: it is malformed'],
  [
    /SQLITE_CANTOPEN|SQLITE_READONLY_/,
    'it cannot be opened without writing: its journal needs the program that wrote it; let that close it',
  ],
  [
    /SQLITE_NOMEM|out of memory/,
    'the statement takes more memory than a process that reads files may have (EIDER_READING_MEMORY)',
  ],
  [/encrypt/i, 'it is encrypted; only files without a key can be read'],
  [
    /newer version|version number/,
    'it was written by another version of DuckDB than can be read here',
  ],
  [
    /file system operations are disabled|Permission Error/,
    'the statement, or a view of the file, reads another file, which is not allowed',
  ],
]
const CAUSE_CHARS_MAX = 500

/** Removes the paths of this machine. */
function causeOf(error: unknown, job: FileJob): string {
  const code = error instanceof Error && 'code' in error ? `${error.code}: ` : ''
  const [detail = ''] = errorText(error).split(/\n(?:\n|LINE )/)
  const whole = `${code}${detail}`
  const known = CAUSES.find(([pattern]) => pattern.test(whole))
  if (known !== undefined) return known[1]
  let message = detail
  for (const path of [job.path, job.folder]) {
    message = message.replaceAll(`"${path}"`, 'the file').replaceAll(path, 'the file')
  }
  return message.slice(0, CAUSE_CHARS_MAX)
}
