import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api'

/** Per connection; a plan takes some ten kilobytes. */
const STATEMENTS_MAX = 12
const SQL_CHARS_MAX = 4_000

interface Remembered {
  readonly prepared: DuckDBPreparedStatement
  /** That of the data when it was prepared. */
  readonly dataVersion: number | null
}

/**
 * Statements that come again are prepared once per connection: twice as many short statements per second as with their
 * text. DuckDB 1.5.5 plans one anew by itself when a table or the type of a value has changed, but not when the values in
 * a table have: conditions that no value could meet are gone from the plan, texts and numbers are packed into as many bytes
 * as the largest one took. So a plan is used while nothing is written.
 */
export class PreparedStatements {
  readonly #statements = new WeakMap<DuckDBConnection, Map<string, Remembered>>()
  readonly #dataVersion: () => number | null

  /** @param dataVersion changes with every write; null while one is being committed */
  constructor(dataVersion: () => number | null) {
    this.#dataVersion = dataVersion
  }

  /** The statement, without values bound; of this connection and for one run at a time, in a transaction that is open. */
  async of(connection: DuckDBConnection, sql: string): Promise<DuckDBPreparedStatement> {
    const dataVersion = this.#dataVersion()
    const isCurrent = (known: Remembered) => {
      return dataVersion !== null && known.dataVersion === dataVersion
    }
    return this.#prepared(connection, sql, { dataVersion, isCurrent })
  }

  /** The same for BEGIN and COMMIT, which read nothing. */
  async withoutData(connection: DuckDBConnection, sql: string): Promise<DuckDBPreparedStatement> {
    return this.#prepared(connection, sql, { dataVersion: null, isCurrent: () => true })
  }

  async #prepared(
    connection: DuckDBConnection,
    sql: string,
    version: Pick<Remembered, 'dataVersion'> & {
      readonly isCurrent: (known: Remembered) => boolean
    },
  ): Promise<DuckDBPreparedStatement> {
    const statements = this.#of(connection)
    const known = statements.get(sql)
    statements.delete(sql)
    if (known !== undefined && version.isCurrent(known)) {
      statements.set(sql, known)
      if (known.prepared.parameterCount > 0) known.prepared.clearBindings()
      return known.prepared
    }
    known?.prepared.destroySync()
    const prepared = await connection.prepare(sql)
    const { dataVersion } = version
    if (sql.length <= SQL_CHARS_MAX) this.#remember(statements, sql, { prepared, dataVersion })
    return prepared
  }

  #of(connection: DuckDBConnection): Map<string, Remembered> {
    const known = this.#statements.get(connection)
    if (known !== undefined) return known
    const statements = new Map<string, Remembered>()
    this.#statements.set(connection, statements)
    return statements
  }

  #remember(statements: Map<string, Remembered>, sql: string, remembered: Remembered): void {
    statements.set(sql, remembered)
    if (statements.size <= STATEMENTS_MAX) return
    const [oldest] = statements
    if (oldest === undefined) return
    statements.delete(oldest[0])
    oldest[1].prepared.destroySync()
  }
}
