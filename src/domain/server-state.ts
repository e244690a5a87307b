/** What whoever runs the server wants to know of it. `/api/status` shows it to those who are logged in. */
export interface ServerState {
  readonly statements: StatementCounts
}

/** SQL statements of callers, by what they do at the moment. */
export interface StatementCounts {
  readonly running: number
  /** For a place among the running. */
  readonly waiting: number
}
