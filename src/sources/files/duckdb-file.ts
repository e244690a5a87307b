import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'
import type {
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import { literal } from '../../core/domain/names.ts'
import type { SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import { typeName } from '../../core/domain/shown-values.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { tablesOf } from '../source-engine.ts'
import {
  columnTypeHere,
  type FileJob,
  type OpenedFile,
  requireColumnCount,
  STAGED_FILES,
  type StagedAnswer,
} from './file-messages.ts'

const THREADS = 2

export class DuckDBFile implements OpenedFile {
  readonly #instance: DuckDBInstance
  readonly #connection: DuckDBConnection
  readonly #job: FileJob

  private constructor(job: FileJob, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#job = job
    this.#instance = instance
    this.#connection = connection
  }

  /** Opens an instance with locked settings that may only read this file and write one other. */
  static async open(job: FileJob): Promise<DuckDBFile> {
    const megabytes = Math.floor(job.limits.memoryBytes / 2 / 1024 ** 2)
    const instance = await DuckDBInstance.create(job.path, {
      access_mode: 'READ_ONLY',
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      memory_limit: `${megabytes}MB`,
      threads: String(THREADS),
      temp_directory: join(job.folder, 'spill'),
      preserve_insertion_order: 'true',
    })
    const connection = await instance.connect()
    await connection.run("SET TimeZone = 'UTC'")
    await connection.run(`SET allowed_paths = [${literal(stagedPath(job))}]`)
    await connection.run('SET enable_external_file_cache = false')
    await connection.run('SET enable_external_access = false')
    await connection.run('SET lock_configuration = true')
    return new DuckDBFile(job, instance, connection)
  }

  async check(): Promise<void> {
    await allRows(this.#connection, 'SELECT count(*) FROM duckdb_tables()')
  }

  async tables(): Promise<readonly DescribedSourceTable[]> {
    const rows = await this.#rows([null, null])
    return tablesOf(
      rows.map(([schema, name, isView, ...column]) => ({
        table: {
          schema: schema === 'main' ? null : String(schema),
          name: String(name),
          kind: isView === true ? 'view' : 'table',
        },
        column: catalogColumn(column),
      })),
    )
  }

  async columns({ schema, name }: SourceTableName): Promise<readonly SourceColumn[]> {
    const rows = await this.#rows([schema ?? 'main', name])
    return rows.map((row) => catalogColumn(row.slice(3)))
  }

  async describe(sql: string): Promise<readonly SourceColumn[]> {
    const statement = await this.#connection.prepare(sql)
    try {
      requireColumnCount(statement.columnCount)
      return Array.from({ length: statement.columnCount }, (_, index) => {
        const type = typeName(statement.columnType(index))
        return describedColumn(statement.columnName(index), type)
      })
    } finally {
      statement.destroySync()
    }
  }

  async stage({ sql, values, rowsMax = null }: SourceSelect): Promise<StagedAnswer> {
    const columns = (await this.describe(sql)).map((column) => ({
      ...column,
      isText:
        column.type === 'VARCHAR'
          ? column.nativeType !== 'varchar'
          : NOT_IN_PARQUET.test(column.type),
    }))
    const cells = columns.map(({ isText }, index) => {
      return isText ? `CAST(c${index} AS VARCHAR) AS c${index}` : `c${index}`
    })
    const aliases = columns.map((_, index) => `c${index}`).join(', ')
    const limit = rowsMax === null ? '' : ` LIMIT ${rowsMax}`
    const rows = `SELECT ${cells.join(', ')} FROM (${sql}\n) AS s(${aliases})${limit}`
    const path = stagedPath(this.#job)
    const copy = `COPY (${rows}) TO ${literal(path)} (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 30720)`
    await this.#connection.run(copy, [...values])
    return { columns, sizeBytes: Bun.file(path).size, lineBytesMax: 0 }
  }

  close(): void {
    this.#connection.closeSync()
    this.#instance.closeSync()
  }

  #rows(values: readonly (string | null)[]) {
    return allRows(this.#connection, COLUMNS_SQL, [...values])
  }
}

/** DuckDB 1.5.5 writes these types to Parquet as other numbers, without their zone or fraction, or not at all. */
const NOT_IN_PARQUET = /HUGEINT|INTERVAL|\bTIMESTAMP_/

/** A text with a collation of its own may compare differently here. */
const COLUMNS_SQL = `SELECT c.schema_name, c.table_name, t.table_name IS NULL, c.column_name, c.data_type, c.is_nullable,
    coalesce(contains(lower(t.sql), 'collate'), true)
  FROM duckdb_columns() c LEFT JOIN duckdb_tables() t
    ON t.database_oid = c.database_oid AND t.table_oid = c.table_oid
  WHERE c.database_name = current_database() AND NOT c.internal
    AND ($1::VARCHAR IS NULL OR c.schema_name = $1) AND ($2::VARCHAR IS NULL OR c.table_name = $2)
  ORDER BY c.schema_name <> 'main', c.schema_name, c.table_name, c.column_index`

function catalogColumn([name, type, isNullable, mayCollate]: readonly DuckDBValue[]): SourceColumn {
  const column = describedColumn(String(name), String(type))
  const isCollated = mayCollate === true && column.nativeType === 'varchar'
  return {
    ...column,
    nativeType: isCollated ? 'varchar of a collation' : column.nativeType,
    isNullable: isNullable === true,
  }
}

function describedColumn(name: string, type: string): SourceColumn {
  return { name, type: columnTypeHere(type), nativeType: type.toLowerCase(), isNullable: true }
}

function stagedPath({ folder }: FileJob): string {
  return join(folder, STAGED_FILES.duckdb)
}
