import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import type { SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import { failureOf, ServerSessions } from '../server-sessions.ts'
import {
  type CopiedRows,
  requireColumns,
  type ServerDeps,
  type SourceEngine,
  type SourceRows,
  type SourceWork,
  tablesOf,
} from '../source-engine.ts'
import { StagedCsv } from '../staged-csv.ts'
import { StreamedRows } from '../streamed-rows.ts'
import {
  COLUMNS_SQL,
  catalogColumns,
  type Described,
  described,
  TABLES_SQL,
} from './postgres-catalog.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import { postgresSelect, withLiterals } from './postgres-select.ts'
import { postgresProtocol, type Session } from './postgres-session.ts'
import {
  castExpression,
  fileExpression,
  type PostgresTypes,
  stagedColumn,
  valueConverter,
} from './postgres-types.ts'

export class PostgresSource implements SourceEngine {
  readonly #deps: ServerDeps
  readonly #sessions: ServerSessions<PostgresConnection, PostgresTypes>

  constructor(deps: ServerDeps) {
    this.#deps = deps
    this.#sessions = new ServerSessions(postgresProtocol(deps.guard))
  }

  check(source: DataSource, work: SourceWork): Promise<void> {
    return this.#sessions.check(source, work)
  }

  tables(source: DataSource, work: SourceWork): Promise<readonly DescribedSourceTable[]> {
    return this.#sessions.within(source, work, async (session) => {
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
    return this.#sessions.within(source, work, async (session) => {
      const rows = await session.connection.rows(COLUMNS_SQL, [table.schema, table.name])
      return requireColumns(await catalogColumns(rows, session), source, table)
    })
  }

  describe(source: DataSource, sql: string, work: SourceWork): Promise<readonly SourceColumn[]> {
    return this.#sessions.within(source, work, async (session) => {
      return columnsOf(await described(postgresSelect(sql), session))
    })
  }

  async open(
    source: DataSource,
    { sql, values }: SourceSelect,
    work: SourceWork,
  ): Promise<SourceRows> {
    const select = postgresSelect(sql)
    const session = await this.#sessions.begin(source, work)
    try {
      const { fields, types } = await described(select, session)
      const rows = new StreamedRows<string>(session, work.signal)
      rows.describe(
        fields.map(({ name }, index) => ({ name, type: types[index]?.duckdb ?? 'VARCHAR' })),
        fields.map((field, index) => {
          const type = types[index]
          return type === undefined ? String : valueConverter(type, field)
        }),
      )
      rows.follow(session.connection.stream(castSelect(select, types), values, rows))
      return rows
    } catch (error) {
      await session.end()
      throw failureOf(error, session.endpoint, work.signal)
    }
  }

  copy(source: DataSource, { sql, values }: SourceSelect, work: SourceWork): Promise<CopiedRows> {
    const select = postgresSelect(sql)
    return this.#sessions.within(source, work, async (session) => {
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

  forget(source: Pick<DataSource, 'id'>): Promise<void> {
    return this.#sessions.forget(source)
  }

  close(): Promise<void> {
    return this.#sessions.close()
  }
}

/** The statement itself where no column is read as another type. */
function castSelect(select: string, types: Described['types']): string {
  if (types.every(({ cast }) => cast === undefined)) return select
  const names = types.map((_, index) => `c${index}`)
  const values = types.map((type, index) => castExpression(type, `s.c${index}`))
  return `SELECT ${values.join(', ')} FROM (${select}\n) AS s(${names.join(', ')})`
}

function columnsOf({ fields, types }: Described): readonly SourceColumn[] {
  return fields.map(({ name }, index) => ({
    name,
    type: types[index]?.duckdb ?? 'VARCHAR',
    nativeType: types[index]?.native ?? '',
    isNullable: true,
  }))
}
