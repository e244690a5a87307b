/** What whoever runs the server wants to know of it. `/api/status` shows it to those who are logged in. */
export interface ServerState {
  readonly statements: StatementCounts
}

/** SQL statements of callers, by what they do at the moment. */
export interface StatementCounts {
  /** DuckDB computes them, those that were abandoned included. */
  readonly running: number
  /** For a place among the running. */
  readonly waiting: number
  /** They have rows to give and wait for their client to read. */
  readonly parked: number
  readonly abandoned: readonly AbandonedStatement[]
}

/** Its client was answered or is gone, and DuckDB has not stopped yet. */
export interface AbandonedStatement {
  readonly since: string
  /** The first words, without values. */
  readonly statement: string
}
