import type { DuckDBConnection } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import { findDataSource } from '../../core/domain/access/catalog-snapshot.ts'
import type {
  DataSource,
  DataSourceChanges,
  DataSourceDraft,
} from '../../core/domain/flow/source-parameters.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { DataSourceCatalog } from '../../core/domain/ports/store-ports.ts'
import { notFound } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { deleteRow, nextId, queriesOver } from './catalog-queries.ts'
import { dataSourceOf, sealedJson } from './catalog-rows.ts'
import { checkDatabaseName, type StoreParts } from './catalog-state.ts'
import { dataSources } from './schema.ts'

export class StoredDataSources implements DataSourceCatalog {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  createDataSource(draft: DataSourceDraft, orReplace = false): Promise<DataSource> {
    const { database, state, secrets } = this.#parts
    return database.write(
      async (connection) => {
        const old = orReplace ? findDataSource(state.snapshot(), draft.name) : undefined
        if (old !== undefined) return this.#altered(connection, old, draft)
        checkDatabaseName(state.snapshot(), draft.name)
        const queries = queriesOver(connection)
        const now = timestampOfMillis(this.#parts.now())
        const row = {
          id: await nextId(queries, 'data_source'),
          name: draft.name,
          nameKey: nameKey(draft.name),
          engine: draft.engine,
          sealedParameters: sealedJson(draft.parameters, secrets),
          createdAt: now,
          updatedAt: now,
        }
        await queries.insert(dataSources).values(row)
        return dataSourceOf(row, secrets)
      },
      (source) => state.put('dataSources', source),
    )
  }

  alterDataSource(
    source: DataSource,
    changes: (stored: DataSource) => DataSourceChanges,
  ): Promise<DataSource> {
    return this.#parts.database.write(
      (connection) => {
        const { dataSources: all } = this.#parts.state.snapshot()
        const stored = all.find(({ id }) => id === source.id)
        if (stored === undefined) throw notFound('database', source.name)
        return this.#altered(connection, stored, changes(stored))
      },
      (altered) => this.#parts.state.put('dataSources', altered),
    )
  }

  dropDataSource(source: DataSource): Promise<void> {
    const { database, state } = this.#parts
    return database.writeFreeing(
      (connection) => deleteRow(connection, 'database', source),
      () => state.remove('dataSources', source.id),
    )
  }

  async #altered(
    connection: DuckDBConnection,
    { id, name }: DataSource,
    { engine, parameters }: DataSourceChanges,
  ): Promise<DataSource> {
    const { secrets, now } = this.#parts
    const queries = queriesOver(connection)
    const isOwn = eq(dataSources.id, id)
    await queries
      .update(dataSources)
      .set({
        ...(engine !== undefined && { engine }),
        ...(parameters !== undefined && { sealedParameters: sealedJson(parameters, secrets) }),
        updatedAt: timestampOfMillis(now()),
      })
      .where(isOwn)
    const [row] = await queries.select().from(dataSources).where(isOwn)
    if (row === undefined) throw notFound('database', name)
    return dataSourceOf(row, secrets)
  }
}
