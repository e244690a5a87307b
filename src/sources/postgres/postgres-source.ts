import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import type { SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import type { RemoteBegin, RunRemote } from '../../core/domain/ports/storage-ports.ts'
import type { Guard } from '../../core/runtime/address-policy.ts'
import { abortable, silence } from '../../core/runtime/cancellation.ts'
import { requireFields } from '../native-select.ts'
import { type Endpoint, shownAddress } from '../server-endpoint.ts'
import {
  failureOf,
  type ServerProtocol,
  type ServerSession,
  ServerSessions,
} from '../server-sessions.ts'
import {
  type CopiedRows,
  causeOf,
  requireColumns,
  type ServerDeps,
  type SourceEngine,
  type SourceWork,
  tablesOf,
} from '../source-engine.ts'
import { StagedCsv } from '../staged-csv.ts'
import { PostgresConnection, type PostgresField, type TextRow } from './postgres-connection.ts'
import {
  BEGINNINGS,
  postgresSelect,
  searchPath,
  settingsSql,
  withLiterals,
} from './postgres-select.ts'
import { columnInFile, fileExpression, type PostgresType, PostgresTypes } from './postgres-types.ts'

export class PostgresSource implements SourceEngine {
  readonly #deps: ServerDeps
  readonly #sessions: ServerSessions<PostgresConnection, PostgresTypes>
  /** Storage has connections of its own, so that readers do not wait for writes. */
  readonly #storage: ServerSessions<PostgresConnection, PostgresTypes>

  constructor(deps: ServerDeps) {
    this.#deps = deps
    this.#sessions = new ServerSessions(postgresProtocol(deps.guard))
    this.#storage = new ServerSessions(postgresProtocol(deps.guard))
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
      return resultColumns(await described(postgresSelect(sql), session))
    })
  }

  copy(source: DataSource, select: SourceSelect, work: SourceWork): Promise<CopiedRows> {
    const sql = postgresSelect(select.sql)
    return this.#sessions.within(source, work, async (session) => {
      const described_ = await described(sql, session)
      const asked = { ...select, sql: withLiterals(sql, select.values) }
      return this.#staged(asked, described_, session)
    })
  }

  async #staged(
    { sql, rowsMax = null }: SourceSelect,
    { fields, types }: Described,
    { connection }: Session,
  ): Promise<CopiedRows> {
    const names = fields.map((_, index) => `c${index}`)
    const values = types.map((type, index) => {
      return fileExpression(type, fields[index]?.dataTypeID ?? 0, `s.c${index}`)
    })
    const limit = rowsMax === null ? '' : ` LIMIT ${rowsMax}`
    const rows = `SELECT ${values.join(', ')} FROM (${sql}\n) AS s(${names.join(', ')})${limit}`
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
    const columns = types.map((type, index) => columnInFile(fields[index]?.name ?? '', type))
    return {
      path: csv.path,
      sizeBytes: csv.sizeBytes,
      select: csv.select(columns),
      columns: resultColumns({ fields, types }),
    }
  }

  async transaction<T>(
    source: DataSource,
    { mode, settings, failure }: RemoteBegin,
    work: SourceWork,
    use: (run: RunRemote) => Promise<T>,
  ): Promise<T> {
    const session = await this.#storage.begin(source, work, async (connection, _, timeoutMs) => {
      const sql = `${BEGINNINGS[mode]} ${settingsSql(timeoutMs, settings)}`
      await abortable(connection.rows(sql), silence(BEGIN_MS))
    })
    const { connection, endpoint } = session
    // Once `use` returns, a read has all its rows and need not wait for its transaction to end.
    let isEnded = mode === 'read'
    try {
      const result = await use((sql, values) => connection.rows(sql, values))
      if (mode === 'write') await connection.rows('COMMIT')
      return result
    } catch (error) {
      isEnded = false
      throw failureOf(failure(error), endpoint, work.signal)
    } finally {
      const end = session.end()
      if (!isEnded) await end
    }
  }

  async select(
    source: DataSource,
    { settings, failure }: Omit<RemoteBegin, 'mode'>,
    work: SourceWork,
    { sql, values }: SourceSelect,
  ): Promise<readonly TextRow[]> {
    let rows: Promise<readonly TextRow[]> = Promise.resolve([])
    const session = await this.#storage.begin(source, work, async (connection, _, timeoutMs) => {
      const first = settingsSql(timeoutMs, { ...settings, transaction_read_only: "'on'" })
      const running = connection.rowsAfter(first, sql, values)
      rows = running.rows
      rows.catch(() => {})
      await abortable(running.begun, silence(BEGIN_MS))
    })
    try {
      return await rows
    } catch (error) {
      throw failureOf(failure(error), session.endpoint, work.signal)
    } finally {
      // Without BEGIN, the transaction ends with the statement.
      await session.end(false)
    }
  }

  async forget(source: Pick<DataSource, 'id'>): Promise<void> {
    await Promise.all([this.#sessions.forget(source), this.#storage.forget(source)])
  }

  async close(): Promise<void> {
    await Promise.all([this.#sessions.close(), this.#storage.close()])
  }
}

function resultColumns({ fields, types }: Described): readonly SourceColumn[] {
  return fields.map(({ name }, index) => ({
    name,
    type: types[index]?.duckdb ?? 'VARCHAR',
    nativeType: types[index]?.native ?? '',
    isNullable: true,
  }))
}

const COLUMN = `a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypid, a.atttypmod,
    a.attndims, NOT a.attnotnull`

const IS_COLUMN = `a.attnum > 0 AND NOT a.attisdropped
    AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')`

/**
 * All tables that the login may read; schema null for the first in the search path. No partitions.
 */
const TABLES_SQL = `SELECT ${COLUMN}, NULLIF(n.nspname, current_schema()), c.relname,
    CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND ${IS_COLUMN}
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
  ORDER BY n.nspname <> coalesce(current_schema(), ''), n.nspname, c.relname, c.oid, a.attnum`

/** $1 is the schema, or null for the first in the search path that has such a table. */
const COLUMNS_SQL = `SELECT ${COLUMN}
  FROM pg_catalog.pg_attribute a
  WHERE ${IS_COLUMN} AND a.attrelid = (
      SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND CASE WHEN $1::text IS NULL
        THEN n.nspname = ANY(pg_catalog.current_schemas(true)) ELSE n.nspname = $1 END
      ORDER BY pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname) LIMIT 1)
  ORDER BY a.attnum`

/** $1 and $2 are the OIDs of tables and the numbers of their columns. */
const LEVELS_SQL = `SELECT w.position, a.attndims
  FROM unnest($1::pg_catalog.oid[], $2::int2[]) WITH ORDINALITY AS w(relation, number, position)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = w.relation AND a.attnum = w.number`

interface Described {
  readonly fields: readonly PostgresField[]
  readonly types: readonly PostgresType[]
}

const ARRAY_LEVELS_UNKNOWN = 0

/**
 * The statement is parsed on its own, so only one is allowed. @throws AppError `sql_not_supported`
 */
async function described(select: string, { connection, kept }: Session): Promise<Described> {
  const fields = requireFields(await connection.describe(select))
  const levels = await arrayLevels(fields, connection)
  const wanted = fields.map(({ dataTypeID, dataTypeModifier }, index) => ({
    oid: dataTypeID,
    modifier: dataTypeModifier,
    levels: levels.get(index) ?? ARRAY_LEVELS_UNKNOWN,
  }))
  return { fields, types: await kept.typesOf(wanted, connection) }
}

const LAST_FIXED_OID = 16_384
const SCALAR_OIDS: ReadonlySet<number> = new Set([
  16, 17, 20, 21, 23, 25, 26, 114, 700, 701, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1266, 1700,
  2950, 3802,
])

/** Returns the declared nesting of arrays, which a result does not show. */
async function arrayLevels(
  fields: readonly PostgresField[],
  connection: PostgresConnection,
): Promise<ReadonlyMap<number, number>> {
  const mayBeArrays = fields.flatMap(({ tableID, columnID, dataTypeID }, index) => {
    const mayBe = !SCALAR_OIDS.has(dataTypeID) || dataTypeID >= LAST_FIXED_OID
    return mayBe && tableID !== 0 ? [{ tableID, columnID, index }] : []
  })
  if (mayBeArrays.length === 0) return new Map()
  const tables = `{${mayBeArrays.map(({ tableID }) => tableID).join(',')}}`
  const columns = `{${mayBeArrays.map(({ columnID }) => columnID).join(',')}}`
  const rows = await connection.rows(LEVELS_SQL, [tables, columns])
  return new Map(
    rows.map(([position, levels]) => {
      return [mayBeArrays[Number(position) - 1]?.index ?? -1, Number(levels)] as const
    }),
  )
}

async function catalogColumns(
  rows: readonly TextRow[],
  { connection, kept }: Session,
): Promise<readonly SourceColumn[]> {
  const wanted = rows.map(([, , oid, modifier, levels]) => {
    return { oid: Number(oid), modifier: Number(modifier), levels: Number(levels) }
  })
  const types = await kept.typesOf(wanted, connection)
  return rows.map(([name, native, , , , isNullable], index) => ({
    name: name ?? '',
    type: types[index]?.duckdb ?? 'VARCHAR',
    nativeType: native ?? '',
    isNullable: isNullable === 't',
  }))
}

type Session = ServerSession<PostgresConnection, PostgresTypes>

/** Beginning a transaction is quick. If it takes longer, the server or the network is down. */
const BEGIN_MS = 5000

function postgresProtocol(guard: Guard): ServerProtocol<PostgresConnection, PostgresTypes> {
  return {
    open: (endpoint, signal) => firstFitting(endpoint, guard, signal),
    async begin(connection, { schemas }, timeoutMs) {
      const settings = settingsSql(timeoutMs, searchPath(schemas))
      await connection.rows(`BEGIN TRANSACTION READ ONLY; ${settings}; SAVEPOINT eider`)
    },
    // All settings and locks of a statement end with its transaction.
    rollback: (connection) =>
      connection.rows('ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()'),
    kept: ({ numericAs }) => new PostgresTypes(numericAs),
  }
}

/** @throws the error of a single server, or one that names the error of each */
async function firstFitting(
  endpoint: Endpoint,
  guard: Guard,
  signal: AbortSignal,
): Promise<PostgresConnection> {
  const { servers } = endpoint
  if (servers.length === 1) return PostgresConnection.open(endpoint, guard, signal)
  const failures: string[] = []
  for (const server of servers) {
    try {
      return await PostgresConnection.open({ ...endpoint, ...server }, guard, signal)
    } catch (error) {
      if (signal.aborted) throw error
      failures.push(`${shownAddress(server)}: ${causeOf(error)}`)
    }
  }
  throw new Error(failures.join('; '))
}
