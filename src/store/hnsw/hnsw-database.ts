import { ARRAY, arrayValue, type DuckDBConnection, DuckDBInstance, FLOAT } from '@duckdb/node-api'
import { literal, quote } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { appendColumns } from '../duckdb/columns.ts'

const IDLE_CONNECTIONS_MAX = 8

/**
 * A separate in-memory DuckDB instance for graphs. It shares no file and no lock with the data, so
 * loading the extension does not affect the main instance, and the extension only touches copies.
 * It runs only internal statements. Use on the main thread only.
 */
export class HnswDatabase {
  readonly #instance: DuckDBInstance
  readonly #idle: DuckDBConnection[] = []
  #usedCount = 0
  #tableCount = 0
  #isClosed = false
  #onLastGivenBack: (() => void) | null = null

  private constructor(instance: DuckDBInstance) {
    this.#instance = instance
  }

  /**
   * Takes 0.1 to 0.5 s, mostly to check the signature.
   * @param options the file of the `vss` extension, and the memory limit for tables, for example
   * `512MB`; graphs need more
   * @throws DuckDB's error if it refuses the file
   */
  static async open(given: {
    readonly extensionPath: string
    readonly memoryLimit: string
  }): Promise<HnswDatabase> {
    const { extensionPath, memoryLimit } = given
    const instance = await DuckDBInstance.create(':memory:', {
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      memory_limit: memoryLimit,
      // With one thread, a statement runs on the thread that started it, so building a graph uses
      // one core.
      threads: '1',
      temp_directory: '',
    })
    const connection = await instance.connect()
    try {
      await connection.run(`LOAD ${literal(extensionPath)}`)
      await connection.run('SET GLOBAL enable_external_access = false')
      await connection.run('SET lock_configuration = true')
    } catch (error) {
      connection.closeSync()
      instance.closeSync()
      throw error
    }
    connection.closeSync()
    return new HnswDatabase(instance)
  }

  /** Returns a table name that was never used in this instance. */
  newTableName(): string {
    this.#tableCount += 1
    return `graph_${this.#tableCount}`
  }

  /** Runs work on its own connection. The connection is discarded if the work fails. */
  async lease<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new AppError('shutting_down', 'The indexes in memory were released')
    this.#usedCount += 1
    let connection: DuckDBConnection | undefined
    try {
      connection = this.#idle.pop() ?? (await this.#instance.connect())
      const result = await work(connection)
      if (this.#idle.length < IDLE_CONNECTIONS_MAX) this.#idle.push(connection)
      else connection.closeSync()
      return result
    } catch (error) {
      connection?.closeSync()
      throw error
    } finally {
      this.#usedCount -= 1
      if (this.#usedCount === 0) this.#onLastGivenBack?.()
    }
  }

  /** Waits for running work, because closing an instance in use would block the main thread. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#usedCount > 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#onLastGivenBack = resolve
      await promise
    }
    for (const connection of this.#idle.splice(0)) connection.closeSync()
    this.#instance.closeSync()
  }
}

export interface HnswTableOptions {
  readonly database: HnswDatabase
  readonly dimensions: number
  readonly parameters: {
    readonly m: number
    readonly efConstruction: number
    readonly efSearch: number
  }
}

/** A vector with its number in the index. Numbers are never reused. */
export interface NumberedVector {
  readonly row: number
  readonly key: number
  readonly vector: Float32Array
}

export interface FoundRow {
  readonly row: number
  readonly key: number
  /** Cosine distance in float32. */
  readonly distance: number
}

/** Per statement. Committing delays others by about 2 ms per vector of 384 dimensions. */
const INSERTED_MAX = 16

const STAGED = 'staged'

/**
 * A table with a graph (`vss` 1.5.5). Only one statement at a time may use it, because more
 * concurrent searches than cores crash the process. Rows are never deleted and the graph is never
 * compacted: a deleted row makes LIMIT return too few rows, and compaction loses rows or crashes
 * the process.
 */
export class HnswTable {
  readonly #options: HnswTableOptions
  readonly #name: string
  readonly #statements = new SerialQueue()

  private constructor(options: HnswTableOptions) {
    this.#options = options
    this.#name = options.database.newTableName()
  }

  static async create(options: HnswTableOptions): Promise<HnswTable> {
    const table = new HnswTable(options)
    const { m, efConstruction, efSearch } = options.parameters
    const parameters = `M = ${m}, ef_construction = ${efConstruction}, ef_search = ${efSearch}`
    await options.database.lease(async (connection) => {
      const columns = `"row" BIGINT, "key" BIGINT, "vector" ${table.#vectorType}`
      await connection.run(`CREATE TABLE ${quote(table.#name)} (${columns})`)
      await connection.run(`CREATE INDEX ${quote(table.#indexName)} ON ${quote(table.#name)}
        USING HNSW ("vector") WITH (metric = 'cosine', ${parameters})`)
    })
    return table
  }

  get #indexName(): string {
    return `${this.#name}_index`
  }

  get #vectorType(): string {
    return `FLOAT[${this.#options.dimensions}]`
  }

  /** A few at a time. @param afterSlice throw an error to stop */
  async insert(
    vectors: readonly NumberedVector[],
    afterSlice: (slice: readonly NumberedVector[]) => void,
  ): Promise<void> {
    await this.#options.database.lease(async (connection) => {
      await this.#stage(connection, vectors)
      for (let start = 0; start < vectors.length; start += INSERTED_MAX) {
        const end = start + INSERTED_MAX
        const slice = vectors.slice(start, end)
        const insert = `INSERT INTO ${quote(this.#name)} SELECT "row", "key", "vector"
          FROM temp.${STAGED} WHERE place >= $start AND place < $end`
        await this.#statements.run(() => connection.run(insert, { start, end }))
        afterSlice(slice)
      }
      await connection.run(`DROP TABLE temp.${STAGED}`)
    })
  }

  async #stage(connection: DuckDBConnection, vectors: readonly NumberedVector[]): Promise<void> {
    await connection.run(`CREATE OR REPLACE TEMP TABLE ${STAGED}
      (place BIGINT, "row" BIGINT, "key" BIGINT, "vector" ${this.#vectorType})`)
    const target = { connection, catalog: 'temp', schema: 'main', table: STAGED } as const
    await appendColumns(target, [
      [
        vectors.map((_, index) => BigInt(index)),
        vectors.map(({ row }) => BigInt(row)),
        vectors.map(({ key }) => BigInt(key)),
        vectors.map(({ vector }) => arrayValue([...vector])),
      ],
    ])
  }

  /** Returns the `k` nearest rows the graph finds. It rarely misses one. */
  async nearest(queryVector: Float32Array, k: number): Promise<readonly FoundRow[]> {
    const rows = await this.#run(this.#searchSql(k), queryVector)
    return rows.map(([row, key, distance]) => {
      return { row: Number(row), key: Number(key), distance: Number(distance) }
    })
  }

  /** Returns DuckDB's plan for the search. It contains `HNSW_INDEX_SCAN` if the graph is used. */
  async plan(queryVector: Float32Array, k: number): Promise<string> {
    const rows = await this.#run(`EXPLAIN ${this.#searchSql(k)}`, queryVector)
    return rows.flat().join('\n')
  }

  /** Drops the table after earlier statements have finished. */
  async drop(): Promise<void> {
    await this.#options.database.lease(async (connection) => {
      await this.#statements.run(() => connection.run(`DROP TABLE ${quote(this.#name)}`))
    })
  }

  /** `vss` uses the graph only without condition or second sort key, with a parameter. */
  #searchSql(k: number): string {
    const distance = `array_cosine_distance("vector", $vector)`
    return `SELECT "row", "key", ${distance} AS distance FROM ${quote(this.#name)}
      ORDER BY ${distance} LIMIT ${k}`
  }

  #run(sql: string, queryVector: Float32Array): Promise<readonly (readonly unknown[])[]> {
    const { database, dimensions } = this.#options
    const values = { vector: arrayValue([...queryVector]) }
    const types = { vector: ARRAY(FLOAT, dimensions) }
    return database.lease((connection) => {
      return this.#statements.run(() => allRows(connection, sql, values, types))
    })
  }
}
