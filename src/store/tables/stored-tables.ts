import type { DuckDBConnection } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import { projectSchema, projectTable } from '../../core/domain/document.ts'
import type { ProjectTable, RelationColumn } from '../../core/domain/names.ts'
import { literal, nameKey, quote } from '../../core/domain/names.ts'
import type { BoundSql, RunLimits } from '../../core/domain/ports/engine-ports.ts'
import type {
  NewEmptyTable,
  NewTable,
  RowWrite,
  TableKey,
  TableStore,
  WrittenRows,
} from '../../core/domain/ports/store-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { withDeadline } from '../../core/runtime/cancellation.ts'
import { Semaphore } from '../../core/runtime/semaphore.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { deleteRow, nextId, queriesOver } from '../catalog/catalog-queries.ts'
import { tableOfRow } from '../catalog/catalog-rows.ts'
import {
  checkRelationName,
  currentProject,
  isSameRelation,
  type StoreParts,
  withReplaced,
} from '../catalog/catalog-state.ts'
import { tables } from '../catalog/schema.ts'
import { statementError } from '../duckdb/database-error.ts'
import type { StoredEngine } from '../duckdb/engine.ts'
import { statementDeadline } from '../duckdb/read-session.ts'
import { STAGED, type StagedSelect } from '../duckdb/staged-select.ts'
import { shapeOf, tableName, writtenRows } from './written-rows.ts'

interface TableParts extends StoreParts {
  readonly engine: Pick<StoredEngine, 'stage'>
}

/** How often to prepare a change again if the row ids changed in the meantime. */
const ATTEMPTS_MAX = 5

export class StoredTables implements TableStore {
  readonly #parts: TableParts
  readonly #locks = new TableLocks()

  constructor(parts: TableParts) {
    this.#parts = parts
  }

  whileLocked<T>(
    table: TableKey,
    limits: RunLimits,
    signal: AbortSignal,
    work: (waitedMs: number) => Promise<T>,
  ): Promise<T> {
    return this.#locks.during(table, limits, signal, work)
  }

  async createTable(
    target: NewTable,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<ProjectTable> {
    this.#replacedBy(target)
    const source = { engine: this.#parts.engine, select: target.select, limits }
    return withStagedRows(source, signal, (staged, ending) => this.#store(target, staged, ending))
  }

  async appendRows(
    target: NewTable,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<ProjectTable> {
    if (this.#tableOf(target) === undefined) this.#replacedBy(target)
    const source = { engine: this.#parts.engine, select: target.select, limits }
    return withStagedRows(source, signal, (staged, ending) => this.#append(target, staged, ending))
  }

  defineTable(target: NewEmptyTable): Promise<ProjectTable> {
    return this.#parts.database.write(
      async (connection) => {
        const old = this.#replacedBy(target)
        if (old !== undefined) await dropWithin(connection, old)
        return this.#recorded(target, connection, 0, async (name) => {
          await refusing(target.name, () =>
            connection.run(`CREATE TABLE ${name} ${target.definition}`),
          )
        })
      },
      (table) => this.#committed(table),
    )
  }

  async writeRows(write: RowWrite, limits: RunLimits, signal: AbortSignal): Promise<WrittenRows> {
    const { engine } = this.#parts
    const { table, select } = write
    const source = { engine, select, limits, shape: shapeOf(write) }
    const attempted = () => {
      if (write.isConstant) return this.#write(write, undefined, signal)
      return withStagedRows(source, signal, ({ connection }, ending) => {
        return this.#write(write, connection, ending)
      })
    }
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const written = await refusing(table.name, attempted)
      if (written !== null) return written
    }
    const message = `The rows of ${table.name} were moved in the file meanwhile; try again`
    throw new AppError('too_busy', message)
  }

  /** @param staged holds the staged rows, if any @returns null if rows have changed meanwhile */
  #write(
    write: RowWrite,
    staged: DuckDBConnection | undefined,
    signal: AbortSignal,
  ): Promise<WrittenRows | null> {
    return this.#parts.database.write(
      async (connection) => {
        signal.throwIfAborted()
        return writtenRows({ ...write, table: this.#current(write.table) }, connection, signal)
      },
      (written) => {
        if (written !== null) this.#committed(written.table)
      },
      staged,
    )
  }

  async defaultsOf(table: ProjectTable): Promise<ReadonlyMap<string, string>> {
    const columns = await this.#parts.database.lease((connection) => columnsOf(connection, table))
    return new Map(columns.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])))
  }

  async truncateTable(table: ProjectTable): Promise<number> {
    await this.#changed(table, async (connection, current) => {
      await connection.run(`DELETE FROM ${tableName(table)}`)
      const queries = queriesOver(connection)
      await queries.update(tables).set({ rowCount: 0 }).where(eq(tables.id, table.id))
      return { ...current, rowCount: 0 }
    })
    return table.rowCount
  }

  alterTable(table: ProjectTable, change: string): Promise<void> {
    return this.#changed(table, async (connection, current) => {
      await refusing(table.name, () => connection.run(`ALTER TABLE ${tableName(table)} ${change}`))
      const stored = await columnsOf(connection, table)
      const columns = stored.map(({ name, type }) => ({ name, type }))
      const queries = queriesOver(connection)
      await queries.update(tables).set({ columns }).where(eq(tables.id, table.id))
      return { ...current, columns }
    })
  }

  renameTable(table: ProjectTable, name: string): Promise<void> {
    return this.#changed(table, async (connection, current) => {
      checkRelationName(this.#parts.state.snapshot(), { ...table, name })
      const named = { name, nameKey: nameKey(name) }
      await queriesOver(connection).update(tables).set(named).where(eq(tables.id, table.id))
      return { ...current, name }
    })
  }

  async #changed(
    table: ProjectTable,
    work: (connection: DuckDBConnection, current: ProjectTable) => Promise<ProjectTable>,
  ): Promise<void> {
    await this.#parts.database.writeFreeing(
      (connection) => work(connection, this.#current(table)),
      (changed) => this.#committed(changed),
    )
  }

  /** @throws AppError `table_not_found` if the table was dropped */
  #current({ id, name }: ProjectTable): ProjectTable {
    const current = this.#parts.state.snapshot().tables.find((table) => table.id === id)
    if (current === undefined) throw notFound('table', name)
    return current
  }

  dropTable(table: ProjectTable): Promise<void> {
    const { database, state } = this.#parts
    return database.writeFreeing(
      (connection) => dropWithin(connection, table),
      () => state.remove('tables', table.id),
    )
  }

  #store(target: NewTable, staged: StagedSelect, signal: AbortSignal): Promise<ProjectTable> {
    return this.#parts.database.write(
      async (connection) => {
        signal.throwIfAborted()
        const old = this.#replacedBy(target)
        if (old !== undefined) await dropWithin(connection, old)
        return this.#made(target, staged, signal)
      },
      (table) => this.#committed(table),
      staged.connection,
    )
  }

  #append(target: NewTable, staged: StagedSelect, signal: AbortSignal): Promise<ProjectTable> {
    return this.#parts.database.write(
      async (connection) => {
        signal.throwIfAborted()
        const old = this.#tableOf(target)
        if (old === undefined) {
          this.#replacedBy(target)
          return this.#made(target, staged, signal)
        }
        const added = await staged.describe()
        checkColumns(old, added.columns)
        const removed = await removeReplaced(connection, old, target)
        await staged.appendTo(tableName(old), signal)
        const rowCount = old.rowCount - removed + added.rowCount
        const queries = queriesOver(connection)
        await queries.update(tables).set({ rowCount }).where(eq(tables.id, old.id))
        return { ...old, rowCount }
      },
      (table) => this.#committed(table),
      staged.connection,
    )
  }

  /** Creates a table within a write on the connection that holds the staged rows. */
  async #made(target: NewTable, staged: StagedSelect, signal: AbortSignal): Promise<ProjectTable> {
    const { rowCount } = await staged.describe()
    return this.#recorded(target, staged.connection, rowCount, (name) => {
      return staged.moveInto(name, signal)
    })
  }

  /** @param make creates the table; its name is already quoted */
  async #recorded(
    { projectId, name }: Pick<NewTable, 'projectId' | 'name'>,
    connection: DuckDBConnection,
    rowCount: number,
    make: (name: string) => Promise<void>,
  ): Promise<ProjectTable> {
    const { state, now } = this.#parts
    const project = currentProject(state.snapshot(), projectId)
    const queries = queriesOver(connection)
    const ids = { id: await nextId(queries, 'table'), projectId: project.id }
    await make(tableName(ids))
    const stored = await columnsOf(connection, ids)
    const row = {
      ...ids,
      name,
      nameKey: nameKey(name),
      columns: stored.map((column) => ({ name: column.name, type: column.type })),
      rowCount,
      createdAt: timestampOfMillis(now()),
    }
    await queries.insert(tables).values(row)
    return tableOfRow(row, project.name)
  }

  /** Drops what was derived from a table that was replaced or renamed. */
  #committed(table: ProjectTable): void {
    const { state } = this.#parts
    const others = state.snapshot().tables.filter((other) => {
      return other.id === table.id || !isSameRelation(other, table)
    })
    state.change({ tables: withReplaced(others, table) })
  }

  #tableOf(target: Pick<NewTable, 'projectId' | 'name'>): ProjectTable | undefined {
    return this.#parts.state.snapshot().tables.find((table) => isSameRelation(table, target))
  }

  /** Returns the table to replace. @throws AppError `relation_exists`, `project_not_found` */
  #replacedBy(target: Omit<NewTable, 'select'>): ProjectTable | undefined {
    const old = this.#tableOf(target)
    if (old !== undefined && target.orReplace === true) return old
    checkRelationName(this.#parts.state.snapshot(), target)
    return undefined
  }
}

/** Within one statement's time limit. @param store receives the signal of that limit */
export async function withStagedRows<T>(
  {
    engine,
    select,
    limits,
    shape,
  }: { engine: Pick<StoredEngine, 'stage'>; select: BoundSql; limits: RunLimits; shape?: string },
  signal: AbortSignal,
  store: (staged: StagedSelect, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = statementDeadline(limits, signal)
  try {
    const staged = await engine.stage(select, limits, deadline.signal, shape)
    return await store(staged, deadline.signal).finally(staged.release)
  } finally {
    deadline.end()
  }
}

/** @returns the number of rows */
async function removeReplaced(
  connection: DuckDBConnection,
  table: ProjectTable,
  { replaced }: NewTable,
): Promise<number> {
  if (replaced === undefined || replaced.values.length === 0) return 0
  const values = replaced.values.map(literal).join(', ')
  const condition = `CAST(${quote(replaced.column)} AS VARCHAR) IN (${values})`
  const removed = await connection.run(`DELETE FROM ${tableName(table)} WHERE ${condition}`)
  return removed.rowsChanged
}

/** @throws AppError `table_not_found` if the table was dropped */
async function dropWithin(connection: DuckDBConnection, table: ProjectTable): Promise<void> {
  await deleteRow(connection, 'table', table)
  await connection.run(`DROP TABLE ${tableName(table)}`)
}

/** @throws AppError `invalid_request` */
function checkColumns(table: ProjectTable, columns: readonly RelationColumn[]): void {
  const known = new Set(table.columns.map(({ name }) => nameKey(name)))
  const missing = columns.filter(({ name }) => !known.has(nameKey(name)))
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name).join(', ')
  const has = table.columns.map(({ name }) => name).join(', ')
  const message = `The table ${table.name} has no column ${names}; it has ${has}`
  throw new AppError('invalid_request', message)
}

/** Returns the table's columns in DuckDB, with SQL for their default values. */
async function columnsOf(
  connection: DuckDBConnection,
  { projectId, id }: Pick<ProjectTable, 'projectId' | 'id'>,
): Promise<readonly (RelationColumn & { readonly value: string | null })[]> {
  const sql = `SELECT column_name, data_type, column_default FROM duckdb_columns()
      WHERE schema_name = ${literal(projectSchema(projectId))}
        AND table_name = ${literal(projectTable(id))} ORDER BY column_index`
  const found = await allRows(connection, sql)
  return found.map(([name, type, value]) => {
    return { name: String(name), type: String(type), value: value === null ? null : String(value) }
  })
}

/** Names the table in DuckDB's error as the client does. @throws AppError `sql_…` */
async function refusing<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const failure = statementError(error)
    if (!(failure instanceof AppError)) throw failure
    const { code, title, cause, excerpt } = failure
    const message = failure.message.replaceAll(INNER_NAMES, name)
    throw new AppError(code, message, { title, cause, excerpt })
  }
}

const INNER_NAMES = new RegExp(`\\b(${STAGED}|table_\\d+)\\b`, 'g')

/** How many statements may wait for one table. */
const WAITING_MAX = 1000

/** From reading to commit. A statement locks at most one table. */
export class TableLocks {
  readonly #locks = new Map<string, Semaphore>()

  /** Runs work while it has the lock on this table. @throws AppError `timeout`, `too_busy` */
  async during<T>(
    { projectId, name }: TableKey,
    { timeoutMs, spentMs = 0 }: RunLimits,
    signal: AbortSignal,
    work: (waitedMs: number) => Promise<T>,
  ): Promise<T> {
    const key = `${projectId ?? 'files'}/${nameKey(name)}`
    const lock = this.#locks.get(key) ?? newLock()
    this.#locks.set(key, lock)
    const startMs = performance.now()
    const timeoutError = () => {
      const limit = `The statement waited ${timeoutMs} ms for others that write ${name} (EIDER_QUERY_MS)`
      return new AppError('timeout', `${limit}; try again later`)
    }
    const limits = { timeoutMs: Math.max(1, timeoutMs - spentMs), signal, timeoutError }
    const release = await withDeadline(limits, (ending) => lock.enter(ending))
    try {
      return await work(performance.now() - startMs)
    } finally {
      release()
      if (lock.taken === 0 && lock.waiting === 0) this.#locks.delete(key)
    }
  }
}

function newLock(): Semaphore {
  const tooBusy = (waiting: number) => {
    const message = `${waiting} statements wait to write this table; try again later`
    return new AppError('too_busy', message)
  }
  return new Semaphore({ placesMax: 1, waitingMax: WAITING_MAX, tooBusy })
}
