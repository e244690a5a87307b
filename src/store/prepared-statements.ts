import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api'

/** Per connection; a plan takes some ten kilobytes. */
const STATEMENTS_MAX = 12
const SQL_CHARS_MAX = 4_000

/**
 * Statements that come again are prepared once per connection, BEGIN and COMMIT among them: twice as many short statements
 * per second as with their text. DuckDB plans one anew by itself when a table or the type of a value has changed.
 */
export class PreparedStatements {
  readonly #statements = new WeakMap<DuckDBConnection, Map<string, DuckDBPreparedStatement>>()

  /** The statement, without values bound; of this connection and for one run at a time. */
  async of(connection: DuckDBConnection, sql: string): Promise<DuckDBPreparedStatement> {
    const statements = this.#of(connection)
    const known = statements.get(sql)
    if (known !== undefined) {
      statements.delete(sql)
      statements.set(sql, known)
      if (known.parameterCount > 0) known.clearBindings()
      return known
    }
    const prepared = await connection.prepare(sql)
    if (sql.length <= SQL_CHARS_MAX) this.#remember(statements, sql, prepared)
    return prepared
  }

  #of(connection: DuckDBConnection): Map<string, DuckDBPreparedStatement> {
    const known = this.#statements.get(connection)
    if (known !== undefined) return known
    const statements = new Map<string, DuckDBPreparedStatement>()
    this.#statements.set(connection, statements)
    return statements
  }

  #remember(
    statements: Map<string, DuckDBPreparedStatement>,
    sql: string,
    prepared: DuckDBPreparedStatement,
  ): void {
    statements.set(sql, prepared)
    if (statements.size <= STATEMENTS_MAX) return
    const [oldest] = statements
    if (oldest === undefined) return
    statements.delete(oldest[0])
    oldest[1].destroySync()
  }
}
