/**
 * A separate in-memory DuckDB for statements that never touch stored data. It has no access to
 * files or the network, and little memory.
 */
import { type DuckDBConnection, DuckDBInstance, StatementType } from '@duckdb/node-api'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { exactConverterOf } from '../../core/domain/shown-values.ts'
import { AppError, errorText } from '../../core/errors.ts'
import { onAbort, startDeadline } from '../../core/runtime/cancellation.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'

const MEMORY = '64MB'
const READ_MS = 10_000
const ROWS_MAX = 100_000

export class ScratchDatabase {
  readonly #instance: DuckDBInstance
  readonly #connection: DuckDBConnection
  readonly #turns = new SerialQueue()
  #isClosed = false

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance
    this.#connection = connection
  }

  /** @param script runs before the settings are locked */
  static async open(script: string, searchPath: string): Promise<ScratchDatabase> {
    const instance = await DuckDBInstance.create(':memory:', { memory_limit: MEMORY, threads: '1' })
    const connection = await instance.connect()
    await connection.run(script)
    await connection.run(`SET search_path = '${searchPath}'; SET integer_division = true`)
    await connection.run('SET enable_external_access = false; SET lock_configuration = true')
    return new ScratchDatabase(instance, connection)
  }

  /** In one transaction. @param tables rows as objects by column name @param script runs then */
  fill(tables: Readonly<Record<string, readonly object[]>>, script = ''): Promise<void> {
    return this.#turns.run(async () => {
      await this.#connection.run('BEGIN')
      try {
        for (const [table, rows] of Object.entries(tables)) await this.#replace(table, rows)
        if (script !== '') await this.#connection.run(script)
        await this.#connection.run('COMMIT')
      } catch (error) {
        await this.#connection.run('ROLLBACK')
        throw error
      }
    })
  }

  async #replace(table: string, rows: readonly object[]): Promise<void> {
    await this.#connection.run(`DELETE FROM ${table}`)
    const described = await this.#connection.run(`SELECT * FROM ${table} LIMIT 0`)
    const types = described.columnTypes()
    const fields = described.columnNames().map((name, index) => [name, String(types[index])])
    const shape = JSON.stringify([Object.fromEntries(fields)])
    const sql = `INSERT INTO ${table} BY NAME SELECT unnest(from_json($1, '${shape}'), recursive := true)`
    await this.#connection.run(sql, [JSON.stringify(rows)])
  }

  /** One at a time. @throws AppError `sql_failed` or `timeout`; the signal's reason */
  read(sql: string, signal: AbortSignal) {
    return this.#turns.run(() => this.#read(sql, signal))
  }

  async #read(sql: string, caller: AbortSignal) {
    caller.throwIfAborted()
    if (this.#isClosed) throw new AppError('too_busy', 'The catalog was closed; try again')
    const deadline = startDeadline({
      timeoutMs: READ_MS,
      signals: [caller],
      timeoutError: (ms) => new AppError('timeout', `A query of the catalog took over ${ms} ms`),
    })
    const stop = onAbort(deadline.signal, () => this.#connection.interrupt())
    try {
      const extracted = await this.#connection.extractStatements(sql)
      if (extracted.count !== 1) throw new AppError('sql_not_supported', 'One statement at a time')
      const prepared = await extracted.prepare(0)
      const { statementType } = prepared
      // Frees the memory of the statement, which counts against the limit.
      prepared.destroySync()
      if (statementType !== StatementType.SELECT) {
        throw new AppError('sql_not_supported', 'The catalog can only be read')
      }
      const reader = await this.#connection.runAndReadUntil(sql, ROWS_MAX)
      const types = reader.columnTypes()
      const converters = types.map(exactConverterOf)
      const columns = reader.columnNames().map((name, index) => {
        return { name, type: String(types[index]) }
      })
      const rows = reader.getRows().map((row) => {
        return row.map((value, index): ResultValue => {
          return value === null ? null : (converters[index]?.(value) ?? null)
        })
      })
      return { columns, rows }
    } catch (error) {
      deadline.signal.throwIfAborted()
      if (error instanceof AppError) throw error
      throw new AppError('sql_failed', errorText(error).split('\n')[0] ?? '', { cause: error })
    } finally {
      stop()
      deadline.end()
    }
  }

  close(): void {
    void this.#turns.run(async () => {
      if (this.#isClosed) return
      this.#isClosed = true
      this.#connection.closeSync()
      this.#instance.closeSync()
    })
  }
}
