import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import type { SourceSelect, SourceValue } from '../../core/domain/ports/engine-ports.ts'
import type { Guard } from '../../core/runtime/address-policy.ts'
import { MYSQL_DIALECT } from '../../core/text/native-sql.ts'
import { oneSelect, requireFields, valuesInText } from '../native-select.ts'
import { endpointOf } from '../server-endpoint.ts'
import { failureOf, type ServerProtocol, ServerSessions } from '../server-sessions.ts'
import {
  type CopiedRows,
  requireColumns,
  type ServerDeps,
  type SourceEngine,
  type SourceRows,
  type SourceWork,
  tablesOf,
} from '../source-engine.ts'
import { StagedCsv, stagedColumn } from '../staged-csv.ts'
import { StreamedRows } from '../streamed-rows.ts'
import { MysqlConnection, type MysqlField } from './mysql-connection.ts'
import { bytesConverter, declaredType, fieldType, fileWriter } from './mysql-types.ts'

function mysqlProtocol(guard: Guard): ServerProtocol<MysqlConnection, null> {
  return {
    open: (endpoint, signal) => MysqlConnection.open(endpoint, guard, signal),
    async begin(connection, _, timeoutMs) {
      const limit = connection.isMariadb
        ? `max_statement_time = ${timeoutMs / 1000}`
        : `max_execution_time = ${timeoutMs}`
      await connection.run(`SET SESSION ${limit}`)
      await connection.run('START TRANSACTION READ ONLY')
    },
    rollback: (connection) => connection.run('ROLLBACK'),
    kept: () => null,
  }
}

export class MysqlSource implements SourceEngine {
  readonly #deps: ServerDeps
  readonly #sessions: ServerSessions<MysqlConnection, null>

  constructor(deps: ServerDeps) {
    this.#deps = deps
    this.#sessions = new ServerSessions(mysqlProtocol(deps.guard))
  }

  check(source: DataSource, work: SourceWork): Promise<void> {
    return this.#sessions.check(source, work)
  }

  tables(source: DataSource, work: SourceWork): Promise<readonly DescribedSourceTable[]> {
    return this.#sessions.within(source, work, async ({ connection }) => {
      const scope =
        endpointOf(source).database === null ? SYSTEM_LEFT_OUT : 'c.TABLE_SCHEMA = DATABASE()'
      const rows = await connection.texts(catalogColumnsSql(connection, scope))
      return tablesOf(
        rows.map(([schema, name, kind, ...column]) => ({
          table: {
            schema: schema ?? null,
            name: name ?? '',
            kind: kind?.includes('VIEW') === true ? 'view' : 'table',
          },
          column: declaredColumn(column),
        })),
      )
    })
  }

  columns(
    source: DataSource,
    table: SourceTableName,
    work: SourceWork,
  ): Promise<readonly SourceColumn[]> {
    return this.#sessions.within(source, work, async ({ connection }) => {
      const schema = table.schema === null ? 'DATABASE()' : '?'
      const values = table.schema === null ? [table.name] : [table.schema, table.name]
      const scope = `c.TABLE_SCHEMA = ${schema} AND c.TABLE_NAME = ?`
      const sql = withValues(catalogColumnsSql(connection, scope), values)
      const rows = await connection.texts(sql)
      // Names of tables may differ in case alone on some servers.
      const exact = rows.filter(([, name]) => name === table.name)
      return requireColumns(
        exact.map((row) => declaredColumn(row.slice(3))),
        source,
        table,
      )
    })
  }

  describe(source: DataSource, sql: string, work: SourceWork): Promise<readonly SourceColumn[]> {
    const select = mysqlSelect(sql)
    return this.#sessions.within(source, work, async ({ connection }) => {
      return resultColumns(requireFields(await connection.describe(select)))
    })
  }

  async open(
    source: DataSource,
    { sql, values }: SourceSelect,
    work: SourceWork,
  ): Promise<SourceRows> {
    const select = withValues(mysqlSelect(sql), values)
    const session = await this.#sessions.begin(source, work)
    const rows = new StreamedRows<Uint8Array>(session, work.signal)
    try {
      await beginRows(select, rows, session.connection)
      return rows
    } catch (error) {
      await rows.close()
      throw failureOf(error, session.endpoint, work.signal)
    }
  }

  copy(source: DataSource, { sql, values }: SourceSelect, work: SourceWork): Promise<CopiedRows> {
    const select = withValues(mysqlSelect(sql), values)
    return this.#sessions.within(source, work, async ({ connection }) => {
      const csv = await StagedCsv.create(this.#deps.staging)
      try {
        const fields = await writtenFields(select, csv, connection)
        await csv.end()
        return {
          path: csv.path,
          sizeBytes: csv.sizeBytes,
          select: csv.select(fields.map((field) => stagedColumn(field.name, fieldType(field)))),
          columns: resultColumns(fields),
        }
      } catch (error) {
        await csv.remove()
        throw error
      }
    })
  }

  forget(source: Pick<DataSource, 'id'>): Promise<void> {
    return this.#sessions.forget(source)
  }

  close(): Promise<void> {
    return this.#sessions.close()
  }
}

const SYSTEM_LEFT_OUT =
  "c.TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')"

/** MariaDB's JSON is a text that a condition of its column calls JSON. */
function catalogColumnsSql({ isMariadb }: MysqlConnection, scope: string): string {
  const isJson = isMariadb
    ? `EXISTS (SELECT 1 FROM information_schema.CHECK_CONSTRAINTS k WHERE k.CONSTRAINT_SCHEMA = c.TABLE_SCHEMA
        AND k.TABLE_NAME = c.TABLE_NAME AND k.CONSTRAINT_NAME = c.COLUMN_NAME
        AND k.CHECK_CLAUSE LIKE 'json_valid(%')`
    : 'FALSE'
  return `SELECT NULLIF(c.TABLE_SCHEMA, DATABASE()), c.TABLE_NAME, t.TABLE_TYPE, c.COLUMN_NAME, c.COLUMN_TYPE,
      c.IS_NULLABLE, ${isJson}
    FROM information_schema.COLUMNS c JOIN information_schema.TABLES t
      ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
    WHERE ${scope}
    ORDER BY c.TABLE_SCHEMA <> coalesce(DATABASE(), ''), c.TABLE_SCHEMA, c.TABLE_NAME, c.ORDINAL_POSITION`
}

function declaredColumn([name, declared, isNullable, isJson]: readonly (
  | string
  | null
  | undefined
)[]): SourceColumn {
  return {
    name: name ?? '',
    type: isJson === '1' ? 'JSON' : declaredType(declared ?? ''),
    nativeType: isJson === '1' ? 'json' : (declared ?? ''),
    isNullable: isNullable === 'YES',
  }
}

function resultColumns(fields: readonly MysqlField[]): readonly SourceColumn[] {
  return fields.map((field) => ({
    name: field.name,
    type: fieldType(field),
    nativeType: fieldType(field).toLowerCase(),
    isNullable: (field.flags & 1) === 0,
  }))
}

async function writtenFields(
  select: string,
  csv: StagedCsv,
  connection: MysqlConnection,
): Promise<readonly MysqlField[]> {
  let fields: readonly MysqlField[] = []
  let writers: readonly ((bytes: Uint8Array) => string)[] = []
  let failure: unknown = null
  await connection
    .stream(select, {
      fields: (found) => {
        fields = found
        writers = found.map(fileWriter)
      },
      row: (row) => {
        const cells = row.map((bytes, index) =>
          bytes === null ? '' : (writers[index]?.(bytes) ?? ''),
        )
        csv.addLine(Buffer.from(`${cells.join(',')}\n`, 'latin1'))
        if (!csv.isFull) return true
        csv.drained().then(
          () => connection.resume(),
          (error) => {
            failure = error
            void connection.cancel()
          },
        )
        return false
      },
    })
    .catch((error) => Promise.reject(failure ?? error))
  return requireFields(fields)
}

/** Until the columns are known. */
async function beginRows(
  select: string,
  rows: StreamedRows<Uint8Array>,
  connection: MysqlConnection,
): Promise<void> {
  const described = Promise.withResolvers<void>()
  const over = connection.stream(select, {
    fields: (fields) => {
      rows.describe(
        fields.map((field) => ({ name: field.name, type: fieldType(field) })),
        fields.map(bytesConverter),
      )
      described.resolve()
    },
    row: (row) => rows.row(row),
  })
  rows.follow(over)
  await Promise.race([described.promise, over])
}

/** They act outside of the transaction, or reach more than tables. */
const FORBIDDEN_FUNCTIONS: ReadonlySet<string> = new Set(
  `get_lock release_lock release_all_locks load_file nextval setval sys_exec sys_eval sys_set
    master_pos_wait source_pos_wait wait_for_executed_gtid_set`.split(/\s+/),
)
/** `INTO OUTFILE` writes files; `FOR UPDATE` and `LOCK IN SHARE MODE` hold rows. */
const FORBIDDEN_WORDS: ReadonlySet<string> = new Set([
  'INTO',
  'UPDATE',
  'LOCK',
  'PROCEDURE',
  'NEXT',
])

/** @throws AppError `sql_forbidden`, `sql_syntax` */
export function mysqlSelect(sql: string): string {
  return oneSelect(sql, MYSQL_DIALECT, { functions: FORBIDDEN_FUNCTIONS, words: FORBIDDEN_WORDS })
}

/** @param sql with a `?` for each value */
export function withValues(sql: string, values: readonly SourceValue[]): string {
  return valuesInText(sql, values, { dialect: MYSQL_DIALECT, literalOf })
}

function literalOf(value: SourceValue): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  // With our sql_mode nothing but quotes and backslashes means something in it.
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''").replaceAll('\0', '\\0')}'`
}
