import type { DuckDBConnection } from '@duckdb/node-api'
import { literal } from '../../core/domain/identifier.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type { RelationColumn } from '../../core/domain/project.ts'
import type { Database } from './database.ts'
import { statementError } from './database-error.ts'
import { runInterruptibly } from './interruptible.ts'
import type { SessionSql } from './read-session.ts'

/** The temporary table that holds the rows of a SELECT, on one connection only. */
export const STAGED = 'eider_staged'

export const STAGED_ROWS = `temp.${STAGED}`

/**
 * The rows of a SELECT on the way into a table. They are read in a READ ONLY transaction, in which a temporary table can
 * be written all the same, and are moved by a write that runs no SQL of a caller.
 */
export interface StagedSelect {
  readonly connection: DuckDBConnection
  readonly columns: readonly RelationColumn[]
  readonly rowCount: number
  /**
   * Makes a table of the rows, within a write on `connection`. An abort stops it with its reason.
   * @param table quoted
   */
  moveInto(table: string, signal: AbortSignal): Promise<void>
  /**
   * Adds the rows to a table that has all of their columns, as `moveInto` does.
   * @throws AppError `sql_failed` for a value that its column cannot hold
   */
  appendTo(table: string, signal: AbortSignal): Promise<void>
  /** Drops the rows. */
  release(): void
}

/**
 * @param shape SQL of a SELECT whose columns the rows get, in their order: each value is then read as one of its column, as
 * where it is inserted
 */
export function stagingOf(select: BoundSql, shape?: string): SessionSql {
  const create = `CREATE OR REPLACE TEMP TABLE ${STAGED} AS`
  if (shape === undefined) return { ...select, sql: `${create} ${select.sql}` }
  const sql = `INSERT INTO ${STAGED_ROWS} ${withoutList(select.sql)}`
  return { ...select, before: `${create} ${shape} LIMIT 0`, sql }
}

/** As DuckDB prints `VALUES …`. Without the SELECT around it each value has the type of its column, not of its list. */
const VALUES_LIST = /^SELECT \* FROM \((VALUES [\s\S]*)\) AS valueslist$/

function withoutList(sql: string): string {
  return VALUES_LIST.exec(sql)?.[1] ?? sql
}

/** @param connection has run `stagingOf` of the SELECT */
export async function stagedSelect(
  connection: DuckDBConnection,
  database: Pick<Database, 'discard'>,
): Promise<StagedSelect> {
  const release = () => database.discard(connection)
  try {
    const counted = await connection.runAndReadAll(`SELECT count(*) FROM ${STAGED_ROWS}`)
    const described = await connection.runAndReadAll(
      `SELECT column_name, data_type FROM duckdb_columns()
        WHERE database_name = 'temp' AND table_name = ${literal(STAGED)} ORDER BY column_index`,
    )
    return {
      connection,
      columns: described.getRows().map(([name, type]) => {
        return { name: String(name), type: String(type) }
      }),
      rowCount: Number(counted.getRows()[0]?.[0] ?? 0),
      moveInto: (table, signal) => {
        return runInterruptibly(connection, signal, `CREATE TABLE ${table} AS FROM ${STAGED_ROWS}`)
      },
      appendTo: (table, signal) => appended(connection, table, signal),
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}

async function appended(
  connection: DuckDBConnection,
  table: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await runInterruptibly(connection, signal, `INSERT INTO ${table} BY NAME FROM ${STAGED_ROWS}`)
  } catch (error) {
    throw signal.aborted ? error : statementError(error)
  }
}
