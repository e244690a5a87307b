import type { DuckDBConnection } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import { projectSchema, projectTable } from '../../domain/chunk-tables.ts'
import { literal, nameKey, quote } from '../../domain/identifier.ts'
import type { BoundSql, RunLimits } from '../../domain/ports/engine-ports.ts'
import type { NewTable, TableStore } from '../../domain/ports/store-ports.ts'
import type { ProjectTable } from '../../domain/project.ts'
import { timestampOfMillis } from '../../domain/timestamp.ts'
import { AppError } from '../../errors.ts'
import { checkRelationName, currentProject, isSameRelation } from '../catalog/catalog-checks.ts'
import { deleteRow, nextId, queriesOver } from '../catalog/catalog-queries.ts'
import { tableOfRow } from '../catalog/catalog-rows.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { withoutId } from '../catalog/catalog-state.ts'
import { tables } from '../catalog/schema.ts'
import type { StoredEngine } from '../duckdb/engine.ts'
import { statementDeadline } from '../duckdb/read-session.ts'
import type { StagedSelect } from '../duckdb/staged-select.ts'

export interface TableParts extends StoreParts {
  readonly engine: Pick<StoredEngine, 'stage'>
}

/** Tables of projects, made from SELECTs. */
export class StoredTables implements TableStore {
  readonly #parts: TableParts

  constructor(parts: TableParts) {
    this.#parts = parts
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

  dropTable(table: ProjectTable): Promise<void> {
    const { database, state } = this.#parts
    return database.writeFreeing(
      (connection) => dropWithin(connection, table),
      () => state.change({ tables: withoutId(state.snapshot().tables, table.id) }),
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
        checkColumns(old, staged)
        const removed = await removeReplaced(connection, old, target)
        await staged.appendTo(tableName(old), signal)
        const rowCount = old.rowCount - removed + staged.rowCount
        const queries = queriesOver(connection)
        await queries.update(tables).set({ rowCount }).where(eq(tables.id, old.id))
        return { ...old, rowCount }
      },
      (table) => this.#committed(table),
      staged.connection,
    )
  }

  /** A new table, within a write on the connection of its rows. */
  async #made(target: NewTable, staged: StagedSelect, signal: AbortSignal): Promise<ProjectTable> {
    const { state, now } = this.#parts
    const project = currentProject(state.snapshot(), target.projectId)
    const queries = queriesOver(staged.connection)
    const row = {
      id: await nextId(queries, 'table'),
      projectId: project.id,
      name: target.name,
      nameKey: nameKey(target.name),
      columns: staged.columns,
      rowCount: staged.rowCount,
      createdAt: timestampOfMillis(now()),
    }
    await staged.moveInto(tableName(row), signal)
    await queries.insert(tables).values(row)
    return tableOfRow(row, project.name)
  }

  #committed(table: ProjectTable): void {
    const { state } = this.#parts
    const others = state.snapshot().tables.filter((other) => !isSameRelation(other, table))
    state.change({ tables: [...others, table] })
  }

  #tableOf(target: NewTable): ProjectTable | undefined {
    return this.#parts.state.snapshot().tables.find((table) => isSameRelation(table, target))
  }

  /** The table that gives way to a new one. @throws AppError `relation_exists`, `project_not_found` */
  #replacedBy(target: NewTable): ProjectTable | undefined {
    const old = this.#tableOf(target)
    if (old !== undefined && target.orReplace === true) return old
    checkRelationName(this.#parts.state.snapshot(), target)
    return undefined
  }
}

/**
 * Reads the rows of a SELECT and gives them to `store`, within the time limit of one statement. The rows are released
 * afterwards.
 * @param store gets the signal that ends with the limit
 */
export async function withStagedRows<T>(
  {
    engine,
    select,
    limits,
  }: { engine: Pick<StoredEngine, 'stage'>; select: BoundSql; limits: RunLimits },
  signal: AbortSignal,
  store: (staged: StagedSelect, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = statementDeadline(limits, signal)
  try {
    const staged = await engine.stage(select, limits, deadline.signal)
    return await store(staged, deadline.signal).finally(staged.release)
  } finally {
    deadline.end()
  }
}

/** @returns how many rows */
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

/** @throws AppError `table_not_found` when it was dropped meanwhile */
async function dropWithin(connection: DuckDBConnection, table: ProjectTable): Promise<void> {
  await deleteRow(connection, 'table', table)
  await connection.run(`DROP TABLE ${tableName(table)}`)
}

/** @throws AppError `invalid_request` */
function checkColumns(table: ProjectTable, { columns }: StagedSelect): void {
  const known = new Set(table.columns.map(({ name }) => nameKey(name)))
  const missing = columns.filter(({ name }) => !known.has(nameKey(name)))
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name).join(', ')
  const has = table.columns.map(({ name }) => name).join(', ')
  const message = `The table ${table.name} has no column ${names}; it has ${has}`
  throw new AppError('invalid_request', message)
}

function tableName(table: { readonly projectId: number; readonly id: number }): string {
  return `${quote(projectSchema(table.projectId))}.${quote(projectTable(table.id))}`
}
