/** The exit code of a server that asks to be replaced by a fresh process: it has drained, and nothing failed. */
export const PLANNED_RESTART_CODE = 75

/** How the server's process ended. */
export interface ServerExit {
  readonly exitCode: number | null
  /** A number, where the signal has no name. */
  readonly signal: NodeJS.Signals | number | null
  /** How long it served requests; null: it never did. */
  readonly readyMs: number | null
  /** The supervisor was asked to stop. */
  readonly isStopping: boolean
}

export type NextStep =
  | { readonly kind: 'end' }
  | { readonly kind: 'restart'; readonly isPlanned: boolean; readonly delayMs: number }

const END: NextStep = { kind: 'end' }

/** Failures further apart than this are unrelated. */
const QUIET_MS = 60_000
const DELAY_MS_MAX = 30_000
/** Failed starts in a row: about a minute and a half. */
const FAILED_STARTS_MAX = 7

/** These signals ask a process to stop; sent to the server itself, they mean the server. */
const STOP_SIGNALS: readonly (NodeJS.Signals | number | null)[] = ['SIGTERM', 'SIGINT', 'SIGHUP']

/** What to do when the server's process ends: a server that crashed while serving always restarts. */
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
    // No delay: requests wait for the next process, and only a statement that ran for long causes this.
    if (exit.exitCode === PLANNED_RESTART_CODE)
      return { kind: 'restart', isPlanned: true, delayMs: 0 }
    return this.#restart()
  }

  /** A failure of the first start is reported at once; after a crash the port may be free again a second later. */
  #afterFailedStart({ exitCode }: ServerExit): NextStep {
    this.#failedStarts += 1
    const isOrderly = exitCode !== null
    if (isOrderly && !this.#hasServed) return END
    if (isOrderly && this.#failedStarts >= FAILED_STARTS_MAX) return END
    if (!this.#hasServed && this.#failedStarts >= FAILED_STARTS_MAX) return END
    return this.#restart()
  }

  /** At once, then after 1, 2, 4 … 30 seconds. */
  #restart(): NextStep {
    const earlier = this.#failuresInRow
    this.#failuresInRow += 1
    const delayMs = earlier === 0 ? 0 : Math.min(1000 * 2 ** (earlier - 1), DELAY_MS_MAX)
    return { kind: 'restart', isPlanned: false, delayMs }
  }
}

/** How often this server restarted, and the last reason: the supervisor passes it to the new process. */
export interface Restarts {
  readonly count: number
  readonly last: {
    /** Milliseconds since 1970, when the process before this one ended. */
    readonly at: number
    /** `SIGSEGV`, `exit code 134` or `planned`. */
    readonly reason: string
    /** Requested, with everything drained. */
    readonly isPlanned: boolean
  } | null
}

export const NO_RESTARTS: Restarts = { count: 0, last: null }

/** The environment variable that carries it. Not a setting, so it is not named like one. */
const NAME = 'SUPERVISED_RESTARTS'

export function environmentOf(restarts: Restarts): Readonly<Record<string, string>> {
  return { [NAME]: JSON.stringify(restarts) }
}

/** The supervisor's record; without a supervisor, none. */
export function restartsFrom(environment: Readonly<Record<string, string | undefined>>): Restarts {
  const text = environment[NAME]
  // Only the supervisor, which is this same program, writes it.
  return text === undefined ? NO_RESTARTS : (JSON.parse(text) as Restarts)
}
