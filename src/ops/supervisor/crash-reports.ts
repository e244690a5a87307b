import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunningEntry, RunningWork } from '../../core/domain/ports/engine-ports.ts'
import type { LastRestart, RestartState } from '../../core/domain/server-state.ts'
import { AppError } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { Restarts } from './restart-policy.ts'
import {
  type RunningNote,
  RunningTable,
  readRunning,
  requestsOf,
  statementHash,
} from './running-table.ts'

const FILE_NAME = 'eider.crash.json'
const STUCK = 'not stopped'
/** Per crash: a server has fewer statement slots. */
const SUSPECTS_MAX = 256

/** The record of the last crash, in the data folder: it survives later crashes and the supervisor. */
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

export interface CrashReportOptions {
  readonly directory: string
  readonly restarts: Restarts
  /** How long a statement that ran during a crash is refused; 0: not at all. */
  readonly refuseMs: number
  readonly now: () => number
}

/**
 * What ran when the server crashed, and what runs now. Only for the process that holds the folder's lock: it replaces the
 * one that had it before.
 */
export class CrashReports implements RunningWork {
  /** What the last process left behind if it ended abnormally, for the log. */
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
    this.#state = {
      count: restarts.count,
      last: shown === null ? null : lastRestartOf(shown),
    }
    this.#suspects = new Map(crash?.suspects.map((one) => [one.hash, one]))
    this.#table = new RunningTable(directory, now)
    this.#options = options
  }

  begin(what: string): RunningEntry {
    return this.#table.begin(what)
  }

  refuseSuspect(sql: string): void {
    // Rarely is there one, and then hashing a statement is cheap.
    if (this.#suspects.size === 0) return
    const suspect = this.#suspects.get(statementHash(sql)?.toString(16) ?? '')
    if (suspect === undefined) return
    const untilMs = suspect.at + this.#options.refuseMs
    if (this.#options.now() >= untilMs) return
    const { reason, at } = suspect
    const how =
      reason === STUCK
        ? 'did not stop, and had the server replaced'
        : `ran when the server crashed (${reason})`
    const what = `A statement like this one ${how} at ${timestampOfMillis(at)} UTC`
    const until = `it is refused until ${timestampOfMillis(untilMs)} UTC`
    const hint = 'Use smaller values, fewer rows at once, or a narrower join'
    throw new AppError('sql_too_costly', `${what}; ${until}. ${hint}`)
  }

  /** A statement that DuckDB does not stop, so that this process is replaced. */
  noteStuck(sql: string): void {
    const hash = statementHash(sql)?.toString(16)
    if (hash === undefined) return
    const { directory, refuseMs, now } = this.#options
    const at = now()
    this.#suspects.set(hash, { hash, at, reason: STUCK })
    const suspects = [...this.#suspects.values()].filter((one) => one.at + refuseMs > at)
    writeCrashFile(directory, { at, reason: STUCK, running: [], suspects })
  }

  restarts(): RestartState {
    return this.#state
  }

  /** From here on, the end of this process is not a crash. */
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
 * The statements that may have done it. One that had run before and ended is innocent while there are others, unless it
 * ran during the crash before, too.
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

/** The public description of a crash. */
function lastRestartOf({
  at,
  reason,
  running,
}: Pick<CrashFile, 'at' | 'reason' | 'running'>): LastRestart {
  return {
    at: timestampOfMillis(at),
    reason,
    running: requestsOf(running),
  }
}

function readCrashFile(directory: string): CrashFile | null {
  try {
    const value: unknown = JSON.parse(readFileSync(join(directory, FILE_NAME), 'utf8'))
    return isCrashFile(value) ? value : null
  } catch {
    // Missing or torn: no earlier crash is known.
    return null
  }
}

/** This program wrote it, perhaps in another version. */
function isCrashFile(value: unknown): value is CrashFile {
  if (typeof value !== 'object' || value === null) return false
  // Any object can be looked at by name.
  const { at, reason, running, suspects } = value as Readonly<Record<string, unknown>>
  return (
    typeof at === 'number' &&
    typeof reason === 'string' &&
    Array.isArray(running) &&
    Array.isArray(suspects)
  )
}

function writeCrashFile(directory: string, crash: CrashFile): void {
  try {
    const path = join(directory, FILE_NAME)
    writeFileSync(`${path}.new`, `${JSON.stringify(crash)}\n`, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  } catch {
    // A full disk: this process still remembers it.
  }
}
