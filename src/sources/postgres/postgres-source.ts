import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../domain/flow/data-source.ts'
import type { SourceSelect } from '../../domain/ports/source-ports.ts'
import { ConnectionPool } from '../connection-pool.ts'
import { endpointOf } from '../server-endpoint.ts'
import {
  type CopiedRows,
  requireColumns,
  type ServerDeps,
  type SourceEngine,
  type SourceRows,
  type SourceWork,
  tablesOf,
} from '../source-engine.ts'
import { isConnectionFailure } from '../source-failure.ts'
import { StagedCsv } from '../staged-csv.ts'
import {
  COLUMNS_SQL,
  catalogColumns,
  type Described,
  described,
  TABLES_SQL,
} from './postgres-catalog.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { PostgresRows } from './postgres-rows.ts'
import { postgresSelect, withLiterals } from './postgres-select.ts'
import { begun, failureOf, type Known, type Session } from './postgres-session.ts'
import { fileExpression, PostgresTypes, stagedColumn } from './postgres-types.ts'

export class PostgresSource implements SourceEngine {
  readonly #deps: ServerDeps
  readonly #known = new Map<number, Known>()

  constructor(deps: ServerDeps) {
    this.#deps = deps
  }

  async check(source: DataSource, work: SourceWork): Promise<void> {
    const endpoint = endpointOf(source)
    try {
      const connection = await PostgresConnection.open(endpoint, this.#deps.guard, work.signal)
      await connection.close()
    } catch (error) {
      throw failureOf(error, endpoint, work.signal)
    }
  }

  tables(source: DataSource, work: SourceWork): Promise<readonly DescribedSourceTable[]> {
    return this.#within(source, work, async (session) => {
      const rows = await session.connection.rows(TABLES_SQL)
      const columns = await catalogColumns(rows, session)
      return tablesOf(
        rows.map(([name, , , , , , schema, table, kind], index) => ({
          table: {
            schema: schema ?? null,
            name: table ?? '',
            kind: kind === 'view' ? 'view' : 'table',
          },
          column: name === null ? undefined : columns[index],
        })),
      )
    })
  }

  columns(
    source: DataSource,
    table: SourceTableName,
    work: SourceWork,
  ): Promise<readonly SourceColumn[]> {
    return this.#within(source, work, async (session) => {
      const rows = await session.connection.rows(COLUMNS_SQL, [table.schema, table.name])
      return requireColumns(await catalogColumns(rows, session), source, table)
    })
  }

  describe(source: DataSource, sql: string, work: SourceWork): Promise<readonly SourceColumn[]> {
    return this.#within(source, work, async (session) => {
      return columnsOf(await described(postgresSelect(sql), session))
    })
  }

  async open(
    source: DataSource,
    { sql, values }: SourceSelect,
    work: SourceWork,
  ): Promise<SourceRows> {
    const select = postgresSelect(sql)
    const session = await this.#session(source, work)
    try {
      const { fields, types } = await described(select, session)
      const cursor = session.connection.cursor(select, values)
      return new PostgresRows({ fields, types, cursor, session, signal: work.signal })
    } catch (error) {
      await session.end()
      throw failureOf(error, session.known.endpoint, work.signal)
    }
  }

  copy(source: DataSource, { sql, values }: SourceSelect, work: SourceWork): Promise<CopiedRows> {
    const select = postgresSelect(sql)
    return this.#within(source, work, async (session) => {
      const described_ = await described(select, session)
      return this.#staged(withLiterals(select, values), described_, session)
    })
  }

  async #staged(
    select: string,
    { fields, types }: Described,
    { connection }: Session,
  ): Promise<CopiedRows> {
    const names = fields.map((_, index) => `c${index}`)
    const values = types.map((type, index) => {
      return fileExpression(type, fields[index]?.dataTypeID ?? 0, `s.c${index}`)
    })
    const rows = `SELECT ${values.join(', ')} FROM (${select}\n) AS s(${names.join(', ')})`
    const csv = await StagedCsv.create(this.#deps.staging)
    try {
      await connection.copyOut(
        `COPY (${rows}) TO STDOUT (FORMAT csv)`,
        { row: (sizeBytes) => csv.noteLine(sizeBytes), take: (bytes) => csv.add(bytes) },
        () => (csv.isFull ? csv.drained() : null),
      )
      await csv.end()
    } catch (error) {
      await csv.remove()
      throw error
    }
    const columns = types.map((type, index) => stagedColumn(fields[index]?.name ?? '', type))
    return {
      path: csv.path,
      sizeBytes: csv.sizeBytes,
      select: csv.select(columns),
      columns: columnsOf({ fields, types }),
    }
  }

  async forget({ id }: Pick<DataSource, 'id'>): Promise<void> {
    const known = this.#known.get(id)
    this.#known.delete(id)
    await known?.pool.close()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#known.keys()].map((id) => this.forget({ id })))
  }

  async #within<T>(
    source: DataSource,
    work: SourceWork,
    use: (session: Session) => Promise<T>,
  ): Promise<T> {
    const session = await this.#session(source, work)
    try {
      return await use(session)
    } catch (error) {
      throw failureOf(error, session.known.endpoint, work.signal)
    } finally {
      await session.end()
    }
  }

  /** An idle connection may have been lost: another one is tried, once. */
  async #session(source: DataSource, work: SourceWork): Promise<Session> {
    const known = this.#knownOf(source)
    try {
      for (;;) {
        const lease = await known.pool.lease(work.signal)
        try {
          return await begun(lease, known, work)
        } catch (error) {
          if (lease.isFresh || work.signal.aborted || !isConnectionFailure(error)) throw error
          known.pool.closeIdle()
        }
      }
    } catch (error) {
      throw failureOf(error, known.endpoint, work.signal)
    }
  }

  #knownOf(source: DataSource): Known {
    const signature = JSON.stringify(source.parameters)
    const found = this.#known.get(source.id)
    if (found?.signature === signature) return found
    void found?.pool.close()
    const endpoint = endpointOf(source)
    const known = {
      signature,
      endpoint,
      pool: new ConnectionPool(source.name, (signal) => {
        return PostgresConnection.open(endpoint, this.#deps.guard, signal)
      }),
      types: new PostgresTypes(),
    }
    this.#known.set(source.id, known)
    return known
  }
}

function columnsOf({ fields, types }: Described): readonly SourceColumn[] {
  return fields.map(({ name }, index) => ({
    name,
    type: types[index]?.duckdb ?? 'VARCHAR',
    nativeType: types[index]?.native ?? '',
    isNullable: true,
  }))
}
