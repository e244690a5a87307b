/**
 * Detects at startup that DuckDB's write-ahead log (`*.wal`) was lost. DuckDB itself opens the
 * folder without complaint if the log is missing, empty or truncated, and its changes are lost.
 *
 * After each commit, a small file next to the database (the mark) records the log's minimum length
 * and the number of checkpoints. The header of the database file has that number too. If it has
 * grown since, the log's contents are in the database file; if not, the log must still have at
 * least the recorded length.
 */
import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { StartError, systemCodeOf } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'

export const MARK_FILE = 'eider-log.mark'

const MAGIC = 'EIDERLOG'
/** Size of the mark: a magic number, three 64-bit numbers, and a CRC-32 of all bytes before it. */
const MARK_BYTES = 36

/** Three headers of 4096 bytes; two have a checksum and the checkpoint count. */
const HEADER_BYTES = 4096
const HEADERS_BYTES = 3 * HEADER_BYTES
const CHECKPOINTS_AT: readonly number[] = [HEADER_BYTES + 8, 2 * HEADER_BYTES + 8]

/** A version 2 log starts with 8 bytes. Each record follows its size and checksum. */
const LOG_START_BYTES = 8
const RECORD_START_BYTES = 16
/** Records of a larger log are not verified, because that would take too long. */
const WALKED_BYTES_MAX = 256 * 1024 * 1024

interface Mark {
  readonly checkpoints: bigint
  /** The minimum length of the log in bytes. */
  readonly logBytes: bigint
  /** The number of writes in the log. */
  readonly writes: bigint
}

export class LogMark {
  readonly #logPath: string
  /** Stays open: closing any descriptor of the file would drop DuckDB's lock on it. */
  readonly #database: number
  readonly #mark: number
  #last: Mark = { checkpoints: 0n, logBytes: 0n, writes: 0n }

  private constructor(path: string, database: number, mark: number) {
    this.#logPath = `${path}.wal`
    this.#database = database
    this.#mark = mark
  }

  /** @param path of the database file, which DuckDB has already opened */
  static open(path: string, markPath: string): LogMark {
    const database = openSync(path, 'r')
    return new LogMark(
      path,
      database,
      openSync(markPath, constants.O_RDWR | constants.O_CREAT, 0o600),
    )
  }

  /**
   * Call after a COMMIT. The mark is not flushed to disk, so after a power failure it may be older
   * than the log and require less of it, which is safe. The same is true if the mark
   * cannot be written, or while another connection checkpoints and the log may already be a new
   * file. The commit itself is durable.
   */
  record(): void {
    try {
      this.#write()
    } catch {
      // Ignore the failure: the next commit tries again.
    }
  }

  #write(): void {
    const checkpoints = checkpointsIn(this.#database)
    const logBytes = BigInt(statSync(this.#logPath, { throwIfNoEntry: false })?.size ?? 0)
    const isSame = checkpoints === this.#last.checkpoints
    const writes = logBytes === 0n ? 0n : isSame ? this.#last.writes + 1n : 1n
    this.#last = { checkpoints, logBytes, writes }
    writeSync(this.#mark, encoded(this.#last), 0, MARK_BYTES, 0)
  }

  /** Before the data file records that it has a log: from then on a mark is required. */
  flush(directory: string): void {
    this.record()
    const folder = openSync(directory, 'r')
    fsyncSync(this.#mark)
    fsyncSync(folder)
    closeSync(folder)
  }

  /** Call after the database was closed. */
  close(): void {
    closeSync(this.#database)
    closeSync(this.#mark)
  }
}

/** Writes a mark that requires no log. @returns false, without any change, if nothing is lost */
export function acceptLoss(directory: string, fileName: string): boolean {
  try {
    if (!checkLog(directory, fileName)) return false
  } catch {
    // Says what is lost, which is accepted.
  }
  const nothing = encoded({ checkpoints: 0n, logBytes: 0n, writes: 0n })
  writeFileSync(join(directory, MARK_FILE), nothing, { mode: 0o600 })
  return true
}

/**
 * Checks, before the database opens, that the file and its log exist and that the log contains all
 * committed writes.
 * @returns true if neither a mark nor a log shows what the data file should contain
 * @throws StartError that says what is missing and what to do; the folder is not changed
 */
export function checkLog(directory: string, fileName: string): boolean {
  const path = join(directory, fileName)
  const mark = readMark(join(directory, MARK_FILE))
  const file = statSync(path, { throwIfNoEntry: false })
  const log = statSync(`${path}.wal`, { throwIfNoEntry: false })
  if (file === undefined) {
    if (mark === undefined && (log === undefined || log.size === 0)) return false
    throw lost(directory, `its data file ${fileName} is missing`, false)
  }
  if (mark === undefined || !file.isFile()) return log === undefined || log.size === 0
  if (file.size < HEADERS_BYTES) {
    throw lost(directory, `its data file ${fileName} is cut: it has ${file.size} bytes`, false)
  }
  const checkpoints = checkpointsOf(path)
  if (checkpoints > mark.checkpoints) return false
  if (checkpoints < mark.checkpoints) {
    const age = `its data file ${fileName} is older than its last acknowledged write`
    throw lost(directory, `${age} (checkpoint ${checkpoints}, ${mark.checkpoints} were made)`)
  }
  const size = BigInt(log?.size ?? 0)
  const held = `of ${mark.logBytes} bytes with ${mark.writes} acknowledged writes`
  const name = `its log ${fileName}.wal ${held}`
  if (size < mark.logBytes) {
    const state = log === undefined ? 'missing' : log.size === 0 ? 'empty' : 'cut'
    const rest = state === 'cut' ? `: ${size} bytes are left` : ''
    throw lost(directory, `${name} is ${state}${rest}`)
  }
  if (mark.logBytes > 0n && !holdsRecordsUpTo(`${path}.wal`, Number(mark.logBytes))) {
    throw lost(directory, `${name} is damaged`)
  }
  return false
}

/** Returns the error for a data file that was copied without its log. */
export function copiedAlone(directory: string, fileName: string): StartError {
  const how = `its data file ${fileName} was copied while Eider was running or after it was killed`
  return lost(directory, `${how}, without the log ${fileName}.wal and its newest writes`)
}

/** @param isReadable whether the data file exists, so that the remaining data can be used */
function lost(directory: string, what: string, isReadable = true): StartError {
  const ways = [
    'put the file back',
    'restore a backup into another folder (npx eider restore)',
    ...(isReadable
      ? [
          `save what can be read (npx eider salvage ${directory} --to <folder>)`,
          `continue without what is lost (npx eider accept-loss ${directory})`,
        ]
      : []),
  ]
  const message = `The data folder ${directory} is incomplete: ${what}. Nothing was changed`
  return new StartError(`${message}. Ways out: ${ways.join('; ')}`)
}

/** DuckDB takes damage in the middle for the end of the log and drops the rest. */
function holdsRecordsUpTo(path: string, bytes: number): boolean {
  if (bytes > WALKED_BYTES_MAX) return true
  const log = readFileSync(path)
  let at = LOG_START_BYTES
  while (at + RECORD_START_BYTES <= bytes) {
    at += RECORD_START_BYTES + Number(log.readBigUInt64LE(at))
  }
  return at === bytes
}

function checkpointsOf(path: string): bigint {
  const file = openSync(path, 'r')
  try {
    return checkpointsIn(file)
  } finally {
    closeSync(file)
  }
}

function checkpointsIn(file: number): bigint {
  const counts = CHECKPOINTS_AT.map((position) => {
    const bytes = Buffer.alloc(8)
    readSync(file, bytes, 0, 8, position)
    return bytes.readBigUInt64LE()
  })
  return counts.reduce((most, count) => (count > most ? count : most))
}

function encoded({ checkpoints, logBytes, writes }: Mark): Buffer {
  const bytes = Buffer.alloc(MARK_BYTES)
  bytes.write(MAGIC, 'latin1')
  bytes.writeBigUInt64LE(checkpoints, 8)
  bytes.writeBigUInt64LE(logBytes, 16)
  bytes.writeBigUInt64LE(writes, 24)
  bytes.writeUInt32LE(Bun.hash.crc32(bytes.subarray(0, 32)), 32)
  return bytes
}

/** Reads the mark. Undefined if it is missing or incomplete, as after a power failure. */
function readMark(path: string): Mark | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
  if (bytes.length !== MARK_BYTES || bytes.toString('latin1', 0, 8) !== MAGIC) return undefined
  if (bytes.readUInt32LE(32) !== Bun.hash.crc32(bytes.subarray(0, 32))) return undefined
  return {
    checkpoints: bytes.readBigUInt64LE(8),
    logBytes: bytes.readBigUInt64LE(16),
    writes: bytes.readBigUInt64LE(24),
  }
}

// Records in the data file that it has a log: while the server runs, the file contains this empty
// schema. A file copied without its log and mark can thus be recognized. It is a schema, because
// backups copy only tables.

export const LOG_EXPECTED = 'eider_log_expected'

export async function expectsLog(connection: DuckDBConnection): Promise<boolean> {
  const sql = `SELECT 1 FROM duckdb_schemas() WHERE schema_name = '${LOG_EXPECTED}'`
  return (await allRows(connection, sql)).length > 0
}

/** Creates the schema and moves it from the log into the file. */
export async function expectLog(connection: DuckDBConnection): Promise<void> {
  // The schema still exists after a crash.
  if (await expectsLog(connection)) return
  await connection.run(`CREATE SCHEMA ${LOG_EXPECTED}`)
  await connection.run('CHECKPOINT')
}

/** Call before the final checkpoint. */
export async function expectNoLog(connection: DuckDBConnection): Promise<void> {
  await connection.run(`DROP SCHEMA IF EXISTS ${LOG_EXPECTED}`)
}
