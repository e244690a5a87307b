/** How often this server was started again, and why the last time: the supervisor hands it to the new process. */
export interface Restarts {
  readonly count: number
  readonly last: RestartCause | null
}

export interface RestartCause {
  /** Milliseconds since 1970, when the process before this one ended. */
  readonly at: number
  /** `SIGSEGV`, `exit code 134` or `planned`. */
  readonly reason: string
  /** It was asked for, and everything had been drained. */
  readonly isPlanned: boolean
}

export const NO_RESTARTS: Restarts = { count: 0, last: null }

/** The environment variable in which it is handed over. Not a setting, so its name does not look like one. */
const NAME = 'SUPERVISED_RESTARTS'

export function environmentOf(restarts: Restarts): Readonly<Record<string, string>> {
  return { [NAME]: JSON.stringify(restarts) }
}

/** What the supervisor wrote there; of this process alone it says nothing. */
export function restartsFrom(environment: Readonly<Record<string, string | undefined>>): Restarts {
  const text = environment[NAME]
  // The supervisor is the only one who writes it, and it is this same program.
  return text === undefined ? NO_RESTARTS : (JSON.parse(text) as Restarts)
}
