import { statSync } from 'node:fs'
import type { DuckDBConnection } from '@duckdb/node-api'
import {
  FILES_SCHEMA,
  fileTable,
  knowledgeBaseTablePrefix,
  projectSchema,
  projectTable,
} from '../../core/domain/document.ts'
import { literal, quote } from '../../core/domain/names.ts'
import type {
  StorageUpkeep,
  VacuumReport,
  VacuumScope,
} from '../../core/domain/ports/store-ports.ts'
import type { DiskState } from '../../core/domain/server-state.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { countOf } from '../duckdb/columns.ts'
import type { Database } from '../duckdb/database.ts'
import type { DiskSpace } from './disk-space.ts'
import { definition } from './posting-sorter.ts'

const LOOK_MS = 3_000

/** Checks take longer with many tables, so limit them to this share of the time. */
const LOOKING_SHARE = 0.02

/** Fewer deleted rows are not worth a rebuild. */
const DEAD_ROWS_MIN = 2_000

/** After rebuilding at least this many rows, checkpoint at once to free their blocks. */
const ROWS_FOR_CHECKPOINT = 10_000

/** DuckDB does so at 16 MB, but not after an UPDATE with readers. Above this, each check tries. */
const LOG_BYTES_MAX = 20 * 1024 ** 2

/** VACUUM rewrites every table if a larger share of the file is free. */
const FREE_SHARE_MAX = 0.25

/** Keeps the database file small, in the background and on request. */
export class Upkeep implements StorageUpkeep {
  readonly #database: Database
  readonly #space: DiskSpace
  /** Stored rows per table at the last check. Tables whose number is unchanged are skipped. */
  #known: ReadonlyMap<string, number> = new Map()
  #timer: ReturnType<typeof setTimeout> | null = null
  #pauseMs = LOOK_MS
  readonly #work = new SerialQueue()
  #isClosed = false

  constructor(given: {
    readonly database: Database
    readonly space: DiskSpace
  }) {
    const { database, space } = given
    this.#database = database
    this.#space = space
  }

  /** Starts to clean up after writes. */
  start(): void {
    this.#database.onWrite(() => this.#wake())
  }

  /** Rebuilds tables that consist mostly of deleted rows, and checkpoints a large log. */
  run(): Promise<void> {
    return this.#work.run(async () => {
      const startMs = performance.now()
      const wasteful = await this.#wastefulTables()
      this.#pauseMs = Math.max(LOOK_MS, (performance.now() - startMs) / LOOKING_SHARE)
      let rebuilt = 0
      for (const table of wasteful) {
        if (this.#isClosed || this.#space.isFull()) break
        rebuilt += (await this.#rebuild(table))?.stored ?? 0
      }
      if (rebuilt >= ROWS_FOR_CHECKPOINT || this.logBytes() >= LOG_BYTES_MAX) {
        await this.#database.checkpoint()
      }
      await this.#database.trimCache()
    })
  }

  vacuum(scope: VacuumScope | null, signal: AbortSignal): Promise<VacuumReport> {
    return this.#work.run(async () => {
      const bytesBefore = this.#bytes()
      const tables = await this.#database.lease((connection) => storedRows(connection, 1))
      let deletedRows = 0
      for (const table of tables) {
        signal.throwIfAborted()
        if (scope !== null && !isInScope(table, scope)) continue
        const live = await this.#database.lease((connection) => liveRows(connection, table))
        if (live === null || live >= table.stored) continue
        // An estimate from the size of the file and the share of live rows.
        this.#space.checkForRebuild((this.#bytes() * live) / table.stored)
        const rows = await this.#rebuild(table)
        if (rows !== null) deletedRows += Math.max(0, rows.stored - rows.live)
      }
      await this.#cutOff()
      // Live blocks may follow free ones in the file. Rewriting moves them to the front.
      if (scope === null && (await this.#database.lease(freeShare)) > FREE_SHARE_MAX) {
        for (const table of tables) {
          signal.throwIfAborted()
          this.#space.checkForRebuild(this.#bytes())
          await this.#rebuild(table)
        }
        await this.#cutOff()
      }
      return { bytesBefore, bytesAfter: this.#bytes(), deletedRows }
    })
  }

  /** The first checkpoint frees blocks; the second truncates the file if they are at its end. */
  async #cutOff(): Promise<void> {
    await this.#database.checkpoint()
    await this.#database.checkpoint()
  }

  /** Returns free space and what is stored on the disk. */
  diskState(): Omit<DiskState, 'files'> {
    return this.#space.state({ data: this.dataBytes(), log: this.logBytes() })
  }

  /** The size of the database file in bytes; 0 in memory. */
  dataBytes(): number {
    const { file } = this.#database
    return file === null ? 0 : sizeBytesOf(file)
  }

  /** The size of the log in bytes; 0 in memory. */
  logBytes(): number {
    const { file } = this.#database
    return file === null ? 0 : sizeBytesOf(`${file}.wal`)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#work.idle()
  }

  #bytes(): number {
    return this.dataBytes() + this.logBytes()
  }

  #wake(): void {
    if (this.#timer !== null || this.#isClosed) return
    this.#timer = setTimeout(() => {
      // If it fails, the next write tries again.
      void this.run()
        .catch(() => {})
        .finally(() => {
          this.#timer = null
        })
    }, this.#pauseMs)
    this.#timer.unref()
  }

  /** Returns tables with at least half as many deleted rows as live ones. */
  async #wastefulTables(): Promise<readonly TableName[]> {
    return this.#database.lease(async (connection) => {
      const wasteful: TableName[] = []
      const known = new Map<string, number>()
      for (const table of await storedRows(connection, DEAD_ROWS_MIN)) {
        const name = `${table.schema}.${table.table}`
        known.set(name, table.stored)
        if (this.#known.get(name) === table.stored) continue
        const dead = table.stored - ((await liveRows(connection, table)) ?? table.stored)
        if (dead > Math.max(DEAD_ROWS_MIN, (table.stored - dead) / 2)) wasteful.push(table)
      }
      this.#known = known
      return wasteful
    })
  }

  #rebuild(table: TableName) {
    return this.#database.writeFreeing((connection) => rebuild(connection, table))
  }
}

function isInScope({ schema, table }: TableName, scope: VacuumScope): boolean {
  if (scope.kind === 'file') return schema === FILES_SCHEMA && table === fileTable(scope.id)
  if (schema !== projectSchema(scope.projectId)) return false
  if (scope.kind === 'table') return table === projectTable(scope.id)
  return table.startsWith(knowledgeBaseTablePrefix(scope))
}

/** Returns 0 if the file does not exist. */
function sizeBytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

// Finds deleted rows that tables still store. In a table without an index, DuckDB 1.5.5 frees them
// at a checkpoint without readers. In a table with a primary key it never does, so such a table is
// rebuilt.

interface TableName {
  readonly schema: string
  readonly table: string
}

interface TableRows extends TableName {
  /** The number of stored rows, including deleted ones. */
  readonly stored: number
  readonly live: number
}

const NEW_TABLE = 'eider_rebuilt'

/** Returns the tables that store at least `storedMin` rows. */
async function storedRows(
  connection: DuckDBConnection,
  storedMin: number,
): Promise<readonly (TableName & { readonly stored: number })[]> {
  const sql = `SELECT schema_name, table_name, estimated_size FROM duckdb_tables()
      WHERE NOT internal AND NOT temporary AND estimated_size >= ${storedMin}`
  const found = await allRows(connection, sql)
  return found.map(([schema, table, stored]) => {
    return { schema: String(schema), table: String(table), stored: Number(stored) }
  })
}

/** Returns how many rows are not deleted, or null if the table was dropped. */
async function liveRows(connection: DuckDBConnection, table: TableName): Promise<number | null> {
  try {
    return await countOf(connection, `SELECT count(*) FROM ${quotedTable(table)}`)
  } catch (error) {
    if (error instanceof Error && /^Catalog Error: Table/.test(error.message)) return null
    throw error
  }
}

/** The share of free blocks in the database file, from 0 to 1. */
function freeShare(connection: DuckDBConnection): Promise<number> {
  return countOf(
    connection,
    `SELECT free_blocks / greatest(total_blocks, 1) FROM pragma_database_size()
      WHERE database_name = current_database()`,
  )
}

/** In a write, in row order; readers see the old one. @returns counts, or null if dropped */
async function rebuild(connection: DuckDBConnection, table: TableName): Promise<TableRows | null> {
  const [row] = await allRows(
    connection,
    `SELECT sql, comment, estimated_size FROM duckdb_tables()
      WHERE schema_name = $schema AND table_name = $table AND NOT temporary`,
    { schema: table.schema, table: table.table },
  )
  if (row === undefined) return null
  const [sql, comment, stored] = row
  const live = (await liveRows(connection, table)) ?? 0
  const fresh = { schema: table.schema, table: NEW_TABLE }
  await connection.run(`CREATE TABLE ${quotedTable(fresh)} ${definition(table.table, String(sql))}`)
  await connection.run(`INSERT INTO ${quotedTable(fresh)} SELECT * FROM ${quotedTable(table)}`)
  await connection.run(`DROP TABLE ${quotedTable(table)}`)
  await connection.run(`ALTER TABLE ${quotedTable(fresh)} RENAME TO ${quote(table.table)}`)
  if (typeof comment === 'string') {
    await connection.run(`COMMENT ON TABLE ${quotedTable(table)} IS ${literal(comment)}`)
  }
  return { ...table, stored: Number(stored), live }
}

function quotedTable({ schema, table }: TableName): string {
  return `${quote(schema)}.${quote(table)}`
}
