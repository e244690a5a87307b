/**
 * The exit code of a server that asks to be replaced. It has finished its requests, and nothing
 * failed.
 */
export const PLANNED_RESTART_CODE = 75

export interface ServerExit {
  readonly exitCode: number | null
  /** A number if the signal has no name. */
  readonly signal: NodeJS.Signals | number | null
  /** How long the server accepted requests; null if it never did. */
  readonly readyMs: number | null
  readonly isStopping: boolean
}

type NextStep =
  | { readonly kind: 'end' }
  | { readonly kind: 'restart'; readonly isPlanned: boolean; readonly delayMs: number }

const END: NextStep = { kind: 'end' }

/** Failures further apart than this count as unrelated. */
const QUIET_MS = 60_000
const DELAY_MS_MAX = 30_000
/** How many starts in a row may fail, over about a minute and a half. */
const FAILED_STARTS_MAX = 7

/** A server that gets one of these itself should stop, not restart. */
const STOP_SIGNALS: readonly (NodeJS.Signals | number | null)[] = ['SIGTERM', 'SIGINT', 'SIGHUP']

/** Decides what to do when the server process ends. It is restarted if it crashed while serving. */
export class RestartPolicy {
  #failuresInRow = 0
  #failedStarts = 0
  #hasServed = false

  afterExit(exit: ServerExit): NextStep {
    if (exit.isStopping || exit.exitCode === 0 || STOP_SIGNALS.includes(exit.signal)) return END
    if (exit.readyMs === null) return this.#afterFailedStart(exit)
    this.#hasServed = true
    this.#failedStarts = 0
    if (exit.readyMs >= QUIET_MS) this.#failuresInRow = 0
    // Restarts without delay, because requests are waiting and this is rare.
    if (exit.exitCode === PLANNED_RESTART_CODE)
      return { kind: 'restart', isPlanned: true, delayMs: 0 }
    return this.#restart()
  }

  /**
   * A failed first start is reported at once. After a crash it is retried: the port may be freed.
   */
  #afterFailedStart({ exitCode }: ServerExit): NextStep {
    this.#failedStarts += 1
    const isOrderly = exitCode !== null
    if (isOrderly && !this.#hasServed) return END
    if (isOrderly && this.#failedStarts >= FAILED_STARTS_MAX) return END
    if (!this.#hasServed && this.#failedStarts >= FAILED_STARTS_MAX) return END
    return this.#restart()
  }

  /** Restarts immediately, then after 1, 2, 4 … 30 seconds. */
  #restart(): NextStep {
    const earlier = this.#failuresInRow
    this.#failuresInRow += 1
    const delayMs = earlier === 0 ? 0 : Math.min(1000 * 2 ** (earlier - 1), DELAY_MS_MAX)
    return { kind: 'restart', isPlanned: false, delayMs }
  }
}

/** How often the server was restarted, and why last. The supervisor passes this to it. */
export interface Restarts {
  readonly count: number
  readonly last: {
    /** When the previous process ended, in milliseconds since 1970. */
    readonly at: number
    /** For example `SIGSEGV`, `exit code 134` or `planned`. */
    readonly reason: string
    /** Whether the restart was requested and all requests had finished. */
    readonly isPlanned: boolean
  } | null
}

export const NO_RESTARTS: Restarts = { count: 0, last: null }

/** The environment variable with this record. Not a setting, so it is named differently. */
const NAME = 'SUPERVISED_RESTARTS'

export function environmentOf(restarts: Restarts): Readonly<Record<string, string>> {
  return { [NAME]: JSON.stringify(restarts) }
}

/** The supervisor's record; empty without a supervisor. */
export function restartsFrom(environment: Readonly<Record<string, string | undefined>>): Restarts {
  const text = environment[NAME]
  // Only the supervisor, which is the same program, writes this variable.
  return text === undefined ? NO_RESTARTS : (JSON.parse(text) as Restarts)
}
