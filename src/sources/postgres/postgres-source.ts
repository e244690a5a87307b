import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import type { SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import type { RemoteBegin, RunRemote } from '../../core/domain/ports/storage-ports.ts'
import type { Guard } from '../../core/runtime/address-policy.ts'
import { requireFields } from '../native-select.ts'
import {
  failureOf,
  type ServerProtocol,
  type ServerSession,
  ServerSessions,
} from '../server-sessions.ts'
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
import { PostgresConnection, type PostgresField, type TextRow } from './postgres-connection.ts'
import { postgresSelect, withLiterals } from './postgres-select.ts'
import {
  castExpression,
  columnInFile,
  fileExpression,
  type PostgresType,
  PostgresTypes,
  valueConverter,
} from './postgres-types.ts'

export class PostgresSource implements SourceEngine {
  readonly #deps: ServerDeps
  readonly #sessions: ServerSessions<PostgresConnection, PostgresTypes>
  /** With separate connections: readers wait for no write. */
  readonly #storage: ServerSessions<PostgresConnection, PostgresTypes>

  constructor(deps: ServerDeps) {
    this.#deps = deps
    this.#sessions = new ServerSessions(postgresProtocol(deps.guard))
    this.#storage = new ServerSessions({
      ...postgresProtocol(deps.guard),
      begin: async (connection, _endpoint, timeoutMs, opening) => {
        await connection.rows(`${opening};${timeoutSql(timeoutMs)}`)
      },
    })
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
    { mode, opening }: RemoteBegin,
    work: SourceWork,
    use: (run: RunRemote) => Promise<T>,
  ): Promise<T> {
    const session = await this.#storage.begin(source, work, `${BEGINNINGS[mode]} ${opening}`)
    const { connection, endpoint } = session
    // A reader has everything by now and need not wait for its end.
    let isEnded = mode === 'read'
    try {
      const result = await use((sql, values) => connection.rows(sql, values))
      if (mode === 'write') await connection.rows('COMMIT')
      return result
    } catch (error) {
      isEnded = false
      throw failureOf(error, endpoint, work.signal)
    } finally {
      const end = session.end()
      if (!isEnded) await end
    }
  }

  async forget(source: Pick<DataSource, 'id'>): Promise<void> {
    await Promise.all([this.#sessions.forget(source), this.#storage.forget(source)])
  }

  async close(): Promise<void> {
    await Promise.all([this.#sessions.close(), this.#storage.close()])
  }
}

/** The statement itself if no column is cast. */
function castSelect(select: string, types: Described['types']): string {
  if (types.every(({ cast }) => cast === undefined)) return select
  const names = types.map((_, index) => `c${index}`)
  const values = types.map((type, index) => castExpression(type, `s.c${index}`))
  return `SELECT ${values.join(', ')} FROM (${select}\n) AS s(${names.join(', ')})`
}

function resultColumns({ fields, types }: Described): readonly SourceColumn[] {
  return fields.map(({ name }, index) => ({
    name,
    type: types[index]?.duckdb ?? 'VARCHAR',
    nativeType: types[index]?.native ?? '',
    isNullable: true,
  }))
}

/** What PostgreSQL says of its tables, and of a statement before it runs. */

const COLUMN = `a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypid, a.atttypmod,
    a.attndims, NOT a.attnotnull`

const IS_COLUMN = `a.attnum > 0 AND NOT a.attisdropped
    AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')`

/**
 * Columns of all tables that the login may read, each with its table. A schema is null for the one that is looked in first.
 * A partition is in no list: its rows are in its table.
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

/** $1: the schema, or null: the first in the search path that has such a table. */
const COLUMNS_SQL = `SELECT ${COLUMN}
  FROM pg_catalog.pg_attribute a
  WHERE ${IS_COLUMN} AND a.attrelid = (
      SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND CASE WHEN $1::text IS NULL
        THEN n.nspname = ANY(pg_catalog.current_schemas(true)) ELSE n.nspname = $1 END
      ORDER BY pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname) LIMIT 1)
  ORDER BY a.attnum`

/** $1, $2: numbers of tables and of their columns. */
const LEVELS_SQL = `SELECT w.position, a.attndims
  FROM unnest($1::pg_catalog.oid[], $2::int2[]) WITH ORDINALITY AS w(relation, number, position)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = w.relation AND a.attnum = w.number`

interface Described {
  readonly fields: readonly PostgresField[]
  readonly types: readonly PostgresType[]
}

const ARRAY_LEVELS_UNKNOWN = 0

/** The statement is parsed alone, so that it is one, and whole. @throws AppError `sql_not_supported` */
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

/** As the tables declare them; a result does not say. */
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

/** For rows that start with a column, as the catalog describes it. */
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

/** How a session with PostgreSQL starts and ends. */

type Session = ServerSession<PostgresConnection, PostgresTypes>

const TIMEOUT_MS_MAX = 2 ** 31 - 1

function postgresProtocol(guard: Guard): ServerProtocol<PostgresConnection, PostgresTypes> {
  return {
    open: (endpoint, signal) => PostgresConnection.open(endpoint, guard, signal),
    async begin(connection, { schemas }, timeoutMs) {
      await connection.rows(BEGIN_SQL + timeoutSql(timeoutMs) + searchPath(schemas))
    },
    // All settings and locks of a statement end with it.
    rollback: (connection) =>
      connection.rows('ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()'),
    kept: ({ numericAs }) => new PostgresTypes(numericAs),
  }
}

function timeoutSql(timeoutMs: number): string {
  return ` SET LOCAL statement_timeout = ${Math.min(TIMEOUT_MS_MAX, timeoutMs)};`
}

/** In the transaction, so that it works through poolers, too, and ends with it. */
const SETTINGS_SQL = `SET LOCAL client_encoding = 'UTF8'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres';
SET LOCAL TimeZone = 'UTC'; SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex';
SET LOCAL standard_conforming_strings = on; SET LOCAL xmloption = 'content';`
const BEGIN_SQL = `BEGIN TRANSACTION READ ONLY; ${SETTINGS_SQL} SAVEPOINT eider;`
/** Each statement of one that reads sees the same state. */
const BEGINNINGS: Readonly<Record<RemoteBegin['mode'], string>> = {
  read: `BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; ${SETTINGS_SQL}`,
  write: `BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE; ${SETTINGS_SQL}`,
}

function searchPath(schemas: readonly string[]): string {
  if (schemas.length === 0) return ''
  const names = schemas.map((name) => `"${name.replaceAll('"', '""')}"`)
  return ` SET LOCAL search_path = ${names.join(', ')};`
}
