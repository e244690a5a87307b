import type { RestartState } from '../server-state.ts'

/** Where it is noted what runs, so that it can be told after a crash. Noting costs a microsecond. */
export interface RunningWork {
  /** @param what a method and a path, for people */
  begin(what: string): RunningEntry
  /** @throws AppError `sql_too_costly` for a statement like one that ended the server, for a while */
  refuseSuspect(sql: string): void
  restarts(): RestartState
}

export interface RunningEntry {
  /** From now on it runs this statement. Values are not noted, and of what is not a SELECT two words. */
  statement(sql: string): void
  end(): void
}

const NO_ENTRY: RunningEntry = { statement: () => {}, end: () => {} }

/** Nothing is noted. */
export const NOTHING_NOTED: RunningWork = {
  begin: () => NO_ENTRY,
  refuseSuspect: () => {},
  restarts: () => ({ count: 0, last: null }),
}
