import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { literal } from '../../core/domain/identifier.ts'
import { AppError } from '../../core/errors.ts'

const IDLE_CONNECTIONS_MAX = 8

/**
 * A DuckDB instance of its own for graphs, in memory: it shares no file and no lock with the data, it alone pays for the
 * extension, and whatever the extension does to a table does it to a copy. Only statements of ours run in it. Main
 * thread only.
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
   * Takes 0.1 to 0.5 s, most of it to check the file's signature.
   * @param options the file of the `vss` extension, and the memory of the tables, as `512MB`; the graphs lie beside it
   * @throws DuckDB's error when it refuses the file
   */
  static async open({
    extensionPath,
    memoryLimit,
  }: {
    readonly extensionPath: string
    readonly memoryLimit: string
  }): Promise<HnswDatabase> {
    const instance = await DuckDBInstance.create(':memory:', {
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      memory_limit: memoryLimit,
      // A statement runs on the thread that started it: building takes one core and no more.
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

  /** A name that no table of this instance has had. */
  newTableName(): string {
    this.#tableCount += 1
    return `graph_${this.#tableCount}`
  }

  /** Runs work on a connection of its own; where the work fails, the connection is not used again. */
  async lease<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new AppError('shutting_down', 'The indexes in memory are let go')
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

  /** Waits for the work that runs: closing an instance in use would block the main thread. */
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
