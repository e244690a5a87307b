/**
 * Notices at start that DuckDB's log (`*.wal`) was lost. DuckDB opens a folder whose log is missing, empty or cut without a
 * word, and all that the log held is gone.
 *
 * After each commit a small file beside the database says how long the log was at least, and after how many checkpoints. The
 * number of checkpoints is in the header of the database file: where it has grown since, what the log held is in the
 * file. Where it has not, the log must still be that long.
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

export const MARK_FILE = 'eider-log.mark'

const MAGIC = 'EIDERLOG'
/** The magic, then three numbers of 64 bits and a CRC-32 of all that is before it. */
const MARK_BYTES = 36

/**
 * DuckDB's file starts with three headers of 4096 bytes. The second and third have a checksum and the number of checkpoints.
 */
const HEADER_BYTES = 4096
const HEADERS_BYTES = 3 * HEADER_BYTES
const CHECKPOINTS_AT: readonly number[] = [HEADER_BYTES + 8, 2 * HEADER_BYTES + 8]

/** For the log of DuckDB's version 2: 8 bytes, then records, preceded by their size and a checksum, 8 bytes each. */
const LOG_START_BYTES = 8
const RECORD_START_BYTES = 16
/** A longer log is not walked: reading it would take longer than it is worth. */
const WALKED_BYTES_MAX = 256 * 1024 * 1024

interface Mark {
  readonly checkpoints: bigint
  /** The least length of the log. */
  readonly logBytes: bigint
  /** Number of writes in it. */
  readonly writes: bigint
}

/** The mark of one open database file. */
export class LogMark {
  readonly #logPath: string
  /** Stays open as long as the database: closing any descriptor of its file would drop DuckDB's lock on it. */
  readonly #database: number
  readonly #mark: number
  #last: Mark = { checkpoints: 0n, logBytes: 0n, writes: 0n }

  private constructor(path: string, database: number, mark: number) {
    this.#logPath = `${path}.wal`
    this.#database = database
    this.#mark = mark
  }

  /** @param path of the database file, which is open already */
  static open(path: string, markPath: string): LogMark {
    const database = openSync(path, 'r')
    return new LogMark(
      path,
      database,
      openSync(markPath, constants.O_RDWR | constants.O_CREAT, 0o600),
    )
  }

  /**
   * After a COMMIT. Not flushed to disk: after a power cut the mark may be older than the log, which claims less and not
   * more. While another connection writes a checkpoint, the log may be another file already; the mark then stays behind too.
   * So it does where it cannot be written: the commit itself is durable.
   */
  record(): void {
    try {
      this.#write()
    } catch {
      // The next commit tries again.
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

  /**
   * Called before the data file expects a log, which is not checked if a mark exists. So a power cut must not lose the mark.
   */
  flush(directory: string): void {
    this.record()
    const folder = openSync(directory, 'r')
    fsyncSync(this.#mark)
    fsyncSync(folder)
    closeSync(folder)
  }

  /** After the database is closed. */
  close(): void {
    closeSync(this.#database)
    closeSync(this.#mark)
  }
}

/** The next start is safe: its mark requires no log. */
export function acceptLoss(directory: string): void {
  const nothing = encoded({ checkpoints: 0n, logBytes: 0n, writes: 0n })
  writeFileSync(join(directory, MARK_FILE), nothing, { mode: 0o600 })
}

/**
 * Before opening the database: checks that it and its log exist, and that the log has all acknowledged writes.
 * @returns whether the data file is alone: no mark and no log says what it should hold
 * @throws StartError that names what is missing and the ways out; the folder is unchanged then
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

/** For a data file that is alone although it expects a log. */
export function copiedAlone(directory: string, fileName: string): StartError {
  const how = `its data file ${fileName} was copied while Eider was running or after it was killed`
  return lost(directory, `${how}, without the log ${fileName}.wal and its newest writes`)
}

/** @param isReadable the data file exists, so that the remaining data can be used */
function lost(directory: string, what: string, isReadable = true): StartError {
  const ways = [
    'put the file back',
    'restore a backup into another folder (npx eider restore)',
    ...(isReadable
      ? [
          `save what can be read (npx eider salvage ${directory} --to <folder>)`,
          `go on without what is lost (npx eider accept-loss ${directory})`,
        ]
      : []),
  ]
  const message = `The data folder ${directory} is not whole: ${what}. Nothing was changed`
  return new StartError(`${message}. Ways out: ${ways.join('; ')}`)
}

/** Whether a record of the log ends just there: DuckDB takes damage in the middle for the end, and drops what follows. */
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

/** Undefined if missing, or unwritten after a power cut: then it has no meaning. */
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

// The data file itself says whether a log belongs to it: from start to stop it holds an empty schema, so that a file that was
// copied without log and mark is noticed. A schema, as backups copy tables.

export const LOG_EXPECTED = 'eider_log_expected'

export async function expectsLog(connection: DuckDBConnection): Promise<boolean> {
  const sql = `SELECT 1 FROM duckdb_schemas() WHERE schema_name = '${LOG_EXPECTED}'`
  return (await connection.runAndReadAll(sql)).currentRowCount > 0
}

/** In the file, not in its log. */
export async function expectLog(connection: DuckDBConnection): Promise<void> {
  // After a crash it still does.
  if (await expectsLog(connection)) return
  await connection.run(`CREATE SCHEMA ${LOG_EXPECTED}`)
  await connection.run('CHECKPOINT')
}

/** Before the checkpoint of a stop. */
export async function expectNoLog(connection: DuckDBConnection): Promise<void> {
  await connection.run(`DROP SCHEMA IF EXISTS ${LOG_EXPECTED}`)
}
