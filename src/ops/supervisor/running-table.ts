/**
 * Records running work in a memory-mapped file, which the system keeps even if the process crashes.
 * It has 256 slots; the first says whether the process is running, each other one holds a note as
 * JSON that ends with a zero byte.
 */

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunningEntry, RunningWork } from '../../core/domain/ports/engine-ports.ts'
import {
  BEFORE_STATEMENT,
  isQuery,
  type LastRestart,
  type RestartState,
  type RunningRequest,
  shownStatement,
} from '../../core/domain/server-state.ts'
import { AppError } from '../../core/errors.ts'
import { isObject, parsedJson } from '../../core/json.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { Restarts } from './restart-policy.ts'

const FILE_NAME = 'eider.running'
/** A page. Any note fits, because JSON escapes a character in at most six bytes. */
const SLOT_BYTES = 4096
const SLOTS = 256
const IS_RUNNING = 1

const WHAT_CHARS_MAX = 160
const STATEMENT_CHARS_MAX = 200
/** How many statements that have ended are remembered, at 64 bytes each. */
const ENDED_MAX = 10_000

/** A statement that was running when a process ended. */
interface RunningNote {
  readonly startedAt: number
  readonly what: string
  /** Its first characters, without values. */
  readonly statement: string | null
  /** The hash of a SELECT, which ignores values; null for other statements. */
  readonly hash: string | null
  /** Whether a similar statement had already completed in that process. */
  readonly hasEndedBefore: boolean
}

/** The table of one process. If no slot is free, a statement is not recorded. */
class RunningTable {
  readonly #bytes: Uint8Array
  readonly #encoder = new TextEncoder()
  readonly #free = Array.from({ length: SLOTS - 1 }, (_, index) => SLOTS - 1 - index)
  readonly #ended = new LruMap<string, true>({ sizeMax: ENDED_MAX })
  readonly #now: () => number

  /** Replaces the table of the previous process. */
  constructor(directory: string, now: () => number) {
    this.#bytes = mappedFile(directory)
    this.#now = now
    this.#bytes[0] = IS_RUNNING
  }

  begin(what: string): RunningEntry {
    const slot = this.#free.pop()
    if (slot === undefined) return { statement: () => {}, end: () => {} }
    const shown = what.slice(0, WHAT_CHARS_MAX).toWellFormed()
    const unknown = { statement: null, hash: null, hasEndedBefore: false }
    let note: RunningNote = { startedAt: this.#now(), what: shown, ...unknown }
    this.#write(slot, JSON.stringify(note))
    return {
      statement: (sql) => {
        const hash = statementHash(sql)
        const hasEndedBefore = hash !== null && this.#ended.get(hash) === true
        note = { ...note, statement: notedText(sql), hash, hasEndedBefore }
        this.#write(slot, JSON.stringify(note))
      },
      end: () => {
        this.#write(slot, '')
        this.#free.push(slot)
        if (note.hash !== null) this.#ended.set(note.hash, true)
      },
    }
  }

  #write(slot: number, note: string): void {
    const at = slot * SLOT_BYTES
    const room = this.#bytes.subarray(at, at + SLOT_BYTES - 1)
    this.#bytes[at + this.#encoder.encodeInto(note, room).written] = 0
  }

  /** Records a normal end, so that it does not count as a crash. */
  endInOrder(): void {
    this.#bytes[0] = 0
  }
}

/** What was running when the last process on this folder ended; null if it ended normally. */
export function readRunning(directory: string): readonly RunningNote[] | null {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(join(directory, FILE_NAME))
  } catch {
    return null
  }
  if (bytes.length !== SLOT_BYTES * SLOTS || bytes[0] !== IS_RUNNING) return null
  const starts = Array.from({ length: SLOTS - 1 }, (_, index) => (index + 1) * SLOT_BYTES)
  return starts
    .flatMap((at) => noteIn(bytes.subarray(at, bytes.indexOf(0, at))) ?? [])
    .sort((a, b) => a.startedAt - b.startedAt)
}

function noteIn(bytes: Uint8Array): RunningNote | undefined {
  // This program wrote it. If it ended while writing, the text is not JSON.
  return parsedJson(new TextDecoder().decode(bytes)) as RunningNote | undefined
}

export function requestsOf(notes: readonly RunningNote[]): readonly RunningRequest[] {
  return notes.map(({ startedAt, what, statement }) => ({
    since: timestampOfMillis(startedAt),
    request: what,
    statement,
  }))
}

/**
 * Allocates the file in advance: a full disk would kill the process at a write to a mapped page.
 */
function mappedFile(directory: string): Uint8Array {
  const empty = new Uint8Array(SLOT_BYTES * SLOTS)
  try {
    const path = join(directory, FILE_NAME)
    writeFileSync(`${path}.new`, empty, { mode: 0o600 })
    renameSync(`${path}.new`, path)
    return Bun.mmap(path, { shared: true })
  } catch {
    // On Windows, or if the disk is full, crashes are reported without the running statements.
    return empty
  }
}

const FIRST_WORDS = new RegExp(`${BEFORE_STATEMENT}([a-z_]+(?:\\s+[a-z_]+)?)`, 'i')
/** Only this many characters are examined for the start of a statement, and for its hash. */
const HEAD_CHARS = 4000
const HASHED_CHARS = 100_000

/** The hash of a SELECT; null for others, because only a SELECT is refused after a crash. */
function statementHash(sql: string): string | null {
  return isQuery(sql) ? Bun.hash(statementShape(sql.slice(0, HASHED_CHARS))).toString(16) : null
}

/**
 * Parts that do not change a statement's effect: values, comments, white space, not names. Those
 * without an end reach to the end of the text.
 */
const VARYING =
  /"[^"]*(?:""[^"]*)*(?:"|$)|'[^']*(?:''[^']*)*(?:'|$)|\$(\w*)\$[\s\S]*?(?:\$\1\$|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\b\d[\w.]*|[\s;]+/g

function statementShape(sql: string): string {
  const shape = sql.replace(VARYING, (found) => {
    if (found.startsWith('"')) return found
    return /^(?:--|\/\*|[\s;])/.test(found) ? ' ' : '?'
  })
  return shape.replace(/ +/g, ' ').trim().toLowerCase()
}

function notedText(sql: string): string {
  const head = sql.slice(0, HEAD_CHARS)
  if (!isQuery(head)) return FIRST_WORDS.exec(head)?.[1] ?? ''
  return shownStatement(sql, STATEMENT_CHARS_MAX).toWellFormed()
}

const REPORT_FILE_NAME = 'eider.crash.json'
const STUCK = 'not stopped'
/** The limit for one crash; more than the server's concurrency slots. */
const SUSPECTS_MAX = 256

/** The record of the last crash, kept in the data folder so that it survives later crashes. */
interface CrashFile {
  readonly at: number
  readonly reason: string
  readonly running: readonly RunningNote[]
  readonly suspects: readonly Suspect[]
}

/** A statement that may have crashed the server. */
interface Suspect {
  readonly hash: string
  readonly at: number
  readonly reason: string
}

interface CrashReportOptions {
  readonly directory: string
  readonly restarts: Restarts
  /** How long to refuse a statement that was running during a crash; 0 to refuse none. */
  readonly refuseMs: number
  readonly now: () => number
}

/** Only the process that holds the folder's lock may use it: it replaces the previous record. */
export class CrashReports implements RunningWork {
  /** The last process's abnormal end, for the log; null if it ended normally. */
  readonly found: LastRestart | null
  readonly #table: RunningTable
  readonly #suspects: Map<string, Suspect>
  readonly #state: RestartState
  readonly #options: CrashReportOptions

  constructor(options: CrashReportOptions) {
    const { directory, restarts, now } = options
    const running = readRunning(directory)
    const earlier = readCrashFile(directory)
    const crash = running === null ? earlier : crashOf(running, earlier, options)
    if (running !== null && crash !== null) writeCrashFile(directory, crash)
    this.found = running === null || crash === null ? null : lastRestartOf(crash)
    const { last } = restarts
    const isPlanned = last?.isPlanned === true
    const shown = isPlanned ? { at: last.at, reason: last.reason, running: [] } : crash
    this.#state = { count: restarts.count, last: shown === null ? null : lastRestartOf(shown) }
    this.#suspects = new Map(crash?.suspects.map((one) => [one.hash, one]))
    this.#table = new RunningTable(directory, now)
    this.#options = options
  }

  begin(what: string): RunningEntry {
    return this.#table.begin(what)
  }

  refuseSuspect(sql: string): void {
    // Crashes are rare, so statements are usually not even hashed.
    if (this.#suspects.size === 0) return
    const suspect = this.#suspects.get(statementHash(sql) ?? '')
    if (suspect === undefined) return
    const untilMs = suspect.at + this.#options.refuseMs
    if (this.#options.now() >= untilMs) return
    const { reason, at } = suspect
    const how =
      reason === STUCK
        ? 'did not stop, so the server was replaced'
        : `ran when the server crashed (${reason})`
    const what = `A statement like this one ${how} at ${timestampOfMillis(at)} UTC`
    const until = `it is refused until ${timestampOfMillis(untilMs)} UTC`
    const hint = 'Use smaller values, fewer rows at once, or a narrower join'
    throw new AppError('sql_too_costly', `${what}; ${until}. ${hint}`)
  }

  /** Records a statement that DuckDB cannot stop, so that this process must be replaced. */
  noteStuck(sql: string): void {
    const hash = statementHash(sql)
    if (hash === null) return
    const { directory, refuseMs, now } = this.#options
    const at = now()
    this.#suspects.set(hash, { hash, at, reason: STUCK })
    const suspects = [...this.#suspects.values()].filter((one) => one.at + refuseMs > at)
    writeCrashFile(directory, { at, reason: STUCK, running: [], suspects })
  }

  restarts(): RestartState {
    return this.#state
  }

  /** Records a normal end, so that it does not count as a crash. */
  endInOrder(): void {
    this.#table.endInOrder()
  }
}

function crashOf(
  running: readonly RunningNote[],
  earlier: CrashFile | null,
  { restarts, refuseMs, now }: CrashReportOptions,
): CrashFile {
  const at = restarts.last?.at ?? now()
  const reason = restarts.last?.reason ?? 'the process was ended'
  const fresh = suspectsAmong(running, earlier).map((hash) => ({ hash, at, reason }))
  const isKnown = (hash: string) => fresh.some((one) => one.hash === hash)
  const older =
    earlier?.suspects.filter((one) => one.at + refuseMs > at && !isKnown(one.hash)) ?? []
  return { at, reason, running, suspects: [...fresh, ...older].slice(0, SUSPECTS_MAX) }
}

/**
 * Statements that may have caused the crash. If there are others, one that had completed before is
 * excluded, unless it was also running during the previous crash.
 */
function suspectsAmong(
  running: readonly RunningNote[],
  earlier: CrashFile | null,
): readonly string[] {
  const before = new Set(earlier?.running.map(({ hash }) => hash))
  const known = running.flatMap(({ hash, hasEndedBefore }) => {
    return hash === null ? [] : [{ hash, isLikely: !hasEndedBefore || before.has(hash) }]
  })
  const likely = known.filter(({ isLikely }) => isLikely)
  const blamed = likely.length > 0 ? likely : known
  return [...new Set(blamed.map(({ hash }) => hash))]
}

function lastRestartOf({
  at,
  reason,
  running,
}: Pick<CrashFile, 'at' | 'reason' | 'running'>): LastRestart {
  return { at: timestampOfMillis(at), reason, running: requestsOf(running) }
}

function readCrashFile(directory: string): CrashFile | null {
  try {
    const value: unknown = JSON.parse(readFileSync(join(directory, REPORT_FILE_NAME), 'utf8'))
    return isCrashFile(value) ? value : null
  } catch {
    // The file is missing or damaged, so no earlier crash is known.
    return null
  }
}

/** This program wrote the file, but perhaps an older version of it. */
function isCrashFile(value: unknown): value is CrashFile {
  if (!isObject(value)) return false
  const { at, reason, running, suspects } = value
  return (
    typeof at === 'number' &&
    typeof reason === 'string' &&
    Array.isArray(running) &&
    Array.isArray(suspects)
  )
}

function writeCrashFile(directory: string, crash: CrashFile): void {
  try {
    const path = join(directory, REPORT_FILE_NAME)
    writeFileSync(`${path}.new`, `${JSON.stringify(crash)}\n`, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  } catch {
    // If the disk is full, this process still remembers the crash.
  }
}
