/**
 * Who has the data folder open: a note for people. The lock itself is DuckDB's, and the only truth.
 */
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { StartError } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'

const NOTE_NAME = 'eider.lock'
const NOTE_BYTES_MAX = 4096

export interface LockNote {
  readonly processId: number
  readonly host: string
  readonly startedAt: string
  readonly address?: string
}

/** The note of this process. `address` is where it is going to listen. */
export function lockNoteOf(nowMillis: number, address: string | undefined): LockNote {
  return {
    processId: process.pid,
    host: hostname(),
    startedAt: timestampOfMillis(nowMillis),
    ...(address === undefined ? {} : { address }),
  }
}

/**
 * Replaces the note of whoever had the folder before: a process that was killed leaves it behind.
 */
export function writeLockNote(directory: string, note: LockNote): void {
  const path = join(directory, NOTE_NAME)
  const draft = `${path}.${note.processId}`
  writeFileSync(draft, `${JSON.stringify(note)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}

export function removeLockNote(directory: string): void {
  rmSync(join(directory, NOTE_NAME), { force: true })
}

/**
 * DuckDB's refusal of a second process, said with names. Undefined where the error is another one.
 */
export function lockConflict(error: unknown, directory: string): StartError | undefined {
  const message = error instanceof Error ? error.message : ''
  if (!/Could not set lock on file/.test(message)) return undefined
  const holder = /\(PID (\d+)\)/.exec(message)?.[1]
  const note = readLockNote(directory)
  const isHolder = note !== undefined && (holder === undefined || Number(holder) === note.processId)
  const details = isHolder
    ? [
        `process ${note.processId} on ${note.host}`,
        ...(note.address === undefined ? [] : [`listening on ${note.address}`]),
        `started ${note.startedAt} UTC`,
      ]
    : [holder === undefined ? 'another process' : `process ${holder}`]
  const text = `The data folder ${directory} is in use by another Eider: ${details.join(', ')}`
  return new StartError(`${text}. Stop it, or choose another folder with EIDER_DATA_DIR`, error)
}

function readLockNote(directory: string): LockNote | undefined {
  try {
    const text = readFileSync(join(directory, NOTE_NAME), 'utf8').slice(0, NOTE_BYTES_MAX)
    const note: unknown = JSON.parse(text)
    return isLockNote(note) ? note : undefined
  } catch {
    // A missing or torn note says nothing; DuckDB's message still names the process.
    return undefined
  }
}

function isLockNote(value: unknown): value is LockNote {
  if (typeof value !== 'object' || value === null) return false
  // Any object can be looked at by name; each field is checked below.
  const { processId, host, startedAt, address } = value as Readonly<Record<string, unknown>>
  return (
    typeof processId === 'number' &&
    typeof host === 'string' &&
    typeof startedAt === 'string' &&
    (address === undefined || typeof address === 'string')
  )
}

/**
 * Releases DuckDB's locks on a database that is closed: a statement that does not stop keeps them. The system drops a
 * process's lock on a file when the process closes any descriptor of it.
 */
export function releaseLocks(databaseFile: string): void {
  for (const path of [databaseFile, `${databaseFile}.wal`]) {
    if (existsSync(path)) closeSync(openSync(path, 'r'))
  }
}
