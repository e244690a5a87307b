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
import { type ServerProtocol, ServerSessions } from '../server-sessions.ts'
import {
  type CopiedRows,
  requireColumns,
  type ServerDeps,
  type SourceEngine,
  type SourceWork,
  tablesOf,
} from '../source-engine.ts'
import { StagedCsv, stagedColumn } from '../staged-csv.ts'
import { MysqlConnection, type MysqlField } from './mysql-connection.ts'
import { declaredType, fieldType, fileWriter } from './mysql-types.ts'

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
      // On some servers, table names may differ only in case.
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

  copy(source: DataSource, select: SourceSelect, work: SourceWork): Promise<CopiedRows> {
    const sql = withValues(mysqlSelect(select.sql), select.values)
    const asked = { ...select, sql }
    return this.#sessions.within(source, work, async ({ connection }) => {
      const csv = await StagedCsv.create(this.#deps.staging)
      try {
        const fields = await writtenFields(asked, csv, connection)
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

/** In MariaDB, JSON is a text column with a check constraint for JSON. */
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
  { sql, rowsMax }: Pick<SourceSelect, 'sql' | 'rowsMax'>,
  csv: StagedCsv,
  connection: MysqlConnection,
): Promise<readonly MysqlField[]> {
  let fields: readonly MysqlField[] = []
  let writers: readonly ((bytes: Uint8Array) => string)[] = []
  let failure: unknown = null
  let left = rowsMax ?? Number.POSITIVE_INFINITY
  await connection
    .stream(sql, {
      fields: (found) => {
        fields = found
        writers = found.map(fileWriter)
      },
      row: (row) => {
        if (left <= 0) return false
        left -= 1
        const cells = row.map((bytes, index) =>
          bytes === null ? '' : (writers[index]?.(bytes) ?? ''),
        )
        csv.addLine(Buffer.from(`${cells.join(',')}\n`, 'latin1'))
        // The server would send the other rows, too.
        if (left === 0) void connection.cancel()
        if (!csv.isFull) return left > 0
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
    .catch((error) => {
      if (left > 0 || failure !== null) throw failure ?? error
    })
  return requireFields(fields)
}

/** Functions that act outside of the transaction or reach more than tables. */
const FORBIDDEN_FUNCTIONS: ReadonlySet<string> = new Set(
  `get_lock release_lock release_all_locks load_file nextval setval sys_exec sys_eval sys_set
    master_pos_wait source_pos_wait wait_for_executed_gtid_set`.split(/\s+/),
)
/** `INTO OUTFILE` writes files; `FOR UPDATE` and `LOCK IN SHARE MODE` lock rows. */
const FORBIDDEN_WORDS: ReadonlySet<string> = new Set('INTO UPDATE LOCK PROCEDURE NEXT'.split(' '))

/** @throws AppError `sql_forbidden`, `sql_syntax` */
export function mysqlSelect(sql: string): string {
  return oneSelect(sql, MYSQL_DIALECT, { functions: FORBIDDEN_FUNCTIONS, words: FORBIDDEN_WORDS })
}

/** @param sql a statement with a `?` for each value */
export function withValues(sql: string, values: readonly SourceValue[]): string {
  return valuesInText(sql, values, { dialect: MYSQL_DIALECT, literalOf })
}

function literalOf(value: SourceValue): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  // With this connection's sql_mode, only quotes and backslashes have to be escaped.
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''").replaceAll('\0', '\\0')}'`
}
