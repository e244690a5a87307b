import type { DuckDBConnection } from '@duckdb/node-api'
import { desc, eq } from 'drizzle-orm'
import {
  NO_COUNTS,
  type RunTrigger,
  type SyncItem,
  type SyncRun,
  type SyncSource,
  type SyncSourceChanges,
  type SyncSourceDraft,
} from '../../core/domain/flow/sync-source.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { SyncStore } from '../../core/domain/ports/job-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { nextId, queriesOver } from '../catalog/catalog-queries.ts'
import { sealedJson, unsealed } from '../catalog/catalog-rows.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { syncDocuments, syncRuns, syncSources } from '../catalog/schema.ts'
import {
  deleteItems,
  insertItems,
  itemsWithout,
  sharedDocuments,
  syncItems,
} from './stored-items.ts'

const RUNS_MAX = 100

/**
 * Stores sources and their runs in DuckDB. Definitions and the last run of each are kept in memory.
 */
export class StoredSources implements SyncStore {
  readonly #parts: StoreParts
  #sources: readonly SyncSource[] = []
  readonly #lastRuns = new Map<number, SyncRun>()

  private constructor(parts: StoreParts) {
    this.#parts = parts
  }

  static async open(parts: StoreParts): Promise<StoredSources> {
    const stored = new StoredSources(parts)
    await parts.database.lease(async (connection) => {
      const queries = queriesOver(connection)
      const rows = await queries.select().from(syncSources).orderBy(syncSources.id)
      stored.#sources = rows.map((row) => stored.#sourceOf(row))
      const runs = await queries.select().from(syncRuns).orderBy(syncRuns.id)
      for (const run of runs) stored.#lastRuns.set(run.sourceId, runOf(run))
    })
    return stored
  }

  sources(): readonly SyncSource[] {
    const ids = new Set(this.#parts.state.snapshot().knowledgeBases.map(({ id }) => id))
    return this.#sources.filter(({ knowledgeBaseId }) => ids.has(knowledgeBaseId))
  }

  lastRun({ id }: Pick<SyncSource, 'id'>): SyncRun | null {
    return this.#lastRuns.get(id) ?? null
  }

  create(draft: SyncSourceDraft): Promise<SyncSource> {
    const { database, secrets } = this.#parts
    return database.write(
      async (connection) => {
        this.#checkName(draft)
        const queries = queriesOver(connection)
        const now = this.#now()
        const { parameters, ...plain } = draft
        const row = {
          ...plain,
          id: await nextId(queries, 'source'),
          nameKey: nameKey(draft.name),
          sealedParameters: sealedJson(parameters, secrets),
          createdAt: now,
          updatedAt: now,
        }
        await queries.insert(syncSources).values(row)
        return this.#sourceOf(row)
      },
      (source) => {
        this.#sources = [...this.#sources, source]
      },
    )
  }

  change(source: SyncSource, changes: SyncSourceChanges): Promise<SyncSource> {
    const { database, secrets } = this.#parts
    return database.write(
      async (connection) => {
        const known = this.#current(source)
        const changed = { ...known, ...changes, updatedAt: this.#now() }
        this.#checkName(changed)
        const { parameters, ...plain } = changed
        const row = {
          ...plain,
          nameKey: nameKey(changed.name),
          sealedParameters: sealedJson(parameters, secrets),
        }
        const queries = queriesOver(connection)
        await queries.delete(syncSources).where(eq(syncSources.id, source.id))
        await queries.insert(syncSources).values(row)
        // With new parameters every item must be read again. Its content still shows whether it has
        // changed.
        if (changes.parameters !== undefined) {
          await queries
            .update(syncDocuments)
            .set({ stamp: null, failure: null })
            .where(eq(syncDocuments.sourceId, source.id))
        }
        return changed
      },
      (changed) => {
        this.#sources = this.#sources.map((one) => (one.id === changed.id ? changed : one))
      },
    )
  }

  drop(source: SyncSource): Promise<void> {
    return this.#parts.database.writeFreeing(
      async (connection) => {
        this.#current(source)
        const queries = queriesOver(connection)
        await queries.delete(syncDocuments).where(eq(syncDocuments.sourceId, source.id))
        await queries.delete(syncRuns).where(eq(syncRuns.sourceId, source.id))
        await queries.delete(syncSources).where(eq(syncSources.id, source.id))
      },
      () => {
        this.#sources = this.#sources.filter(({ id }) => id !== source.id)
        this.#lastRuns.delete(source.id)
      },
    )
  }

  beginRun(source: SyncSource, trigger: RunTrigger, jobId: number | null): Promise<SyncRun> {
    return this.#parts.database.write(
      async (connection) => {
        this.#current(source)
        const queries = queriesOver(connection)
        const run: SyncRun = {
          id: await nextId(queries, 'source_run'),
          sourceId: source.id,
          trigger,
          state: 'running',
          jobId,
          startedAt: this.#now(),
          finishedAt: null,
          counts: NO_COUNTS,
          error: null,
          errors: [],
        }
        // Ends a run whose process died before the run's job was recorded.
        await connection.run(
          `UPDATE eider.sync_runs SET state = 'failed', error = 'It was cut off', finished_at = $2
            WHERE source_id = $1 AND state = 'running'`,
          [source.id, run.startedAt],
        )
        await queries.insert(syncRuns).values(runRow(run))
        await connection.run(
          `DELETE FROM eider.sync_runs WHERE source_id = $1 AND id NOT IN
            (SELECT id FROM eider.sync_runs WHERE source_id = $1 ORDER BY id DESC LIMIT $2)`,
          [source.id, RUNS_MAX],
        )
        return run
      },
      (run) => void this.#lastRuns.set(source.id, run),
    )
  }

  saveRun(run: SyncRun): Promise<void> {
    return this.#parts.database.writeFreeing(
      (connection) => writeRun(connection, run),
      () => this.#showRun(run),
    )
  }

  async runs({ id }: Pick<SyncSource, 'id'>, limit: number): Promise<readonly SyncRun[]> {
    const rows = await this.#parts.database.lease((connection) => {
      const isOwn = eq(syncRuns.sourceId, id)
      return queriesOver(connection)
        .select()
        .from(syncRuns)
        .where(isOwn)
        .orderBy(desc(syncRuns.id))
        .limit(limit)
    })
    return rows.map(runOf)
  }

  items({ id }: Pick<SyncSource, 'id'>): Promise<Map<string, SyncItem>> {
    return this.#parts.database.lease((connection) => syncItems(connection, id))
  }

  remember({ id }: Pick<SyncSource, 'id'>, items: readonly SyncItem[]): Promise<void> {
    if (items.length === 0) return Promise.resolve()
    return this.#parts.database.write(async (connection) => {
      // Skip a source that was dropped in the meantime.
      if (!this.#sources.some((source) => source.id === id)) return
      const names = items.map(({ item }) => item)
      await deleteItems(connection, id, names)
      await insertItems(connection, id, items)
    })
  }

  forget(run: SyncRun, items: readonly string[]): Promise<void> {
    return this.#parts.database.writeFreeing(
      async (connection) => {
        await deleteItems(connection, run.sourceId, items)
        await writeRun(connection, run)
      },
      () => this.#showRun(run),
    )
  }

  release(source: SyncSource, documentIds: readonly string[]): Promise<ReadonlySet<string>> {
    const others = this.sources().filter(({ knowledgeBaseId, id }) => {
      return knowledgeBaseId === source.knowledgeBaseId && id !== source.id
    })
    if (others.length === 0 || documentIds.length === 0) return Promise.resolve(new Set())
    return this.#parts.database.write((connection) => {
      return sharedDocuments(
        connection,
        others.map(({ id }) => id),
        documentIds,
      )
    })
  }

  itemsWithout(source: Pick<SyncSource, 'id'>, kb: KnowledgeBase): Promise<ReadonlySet<string>> {
    return this.#parts.database.lease((connection) => itemsWithout(connection, source.id, kb))
  }

  #showRun(run: SyncRun): void {
    if (this.#lastRuns.get(run.sourceId)?.id === run.id) this.#lastRuns.set(run.sourceId, run)
  }

  /** @throws AppError `source_not_found` if the source was dropped */
  #current({ id, name }: SyncSource): SyncSource {
    const known = this.sources().find((source) => source.id === id)
    if (known === undefined) throw notFound('source', name)
    return known
  }

  /** @throws AppError `source_exists`, `knowledge_base_not_found` */
  #checkName(draft: SyncSourceDraft & { readonly id?: number }): void {
    const { knowledgeBases } = this.#parts.state.snapshot()
    const kb = knowledgeBases.find(({ id }) => id === draft.knowledgeBaseId)
    if (kb === undefined) throw notFound('knowledge_base', draft.name)
    const isTaken = this.#sources.some((other) => {
      const isOfSame = other.knowledgeBaseId === draft.knowledgeBaseId && other.id !== draft.id
      return isOfSame && nameKey(other.name) === nameKey(draft.name)
    })
    if (!isTaken) return
    const message = `Source with name ${draft.name} already exists in ${kb.name}`
    throw new AppError('source_exists', message)
  }

  #sourceOf(row: typeof syncSources.$inferSelect): SyncSource {
    const { nameKey: _, sealedParameters, ...source } = row
    const parameters = unsealed<SyncSource['parameters']>(sealedParameters, this.#parts.secrets)
    return { ...source, parameters }
  }

  #now(): string {
    return timestampOfMillis(this.#parts.now())
  }
}

async function writeRun(connection: DuckDBConnection, run: SyncRun): Promise<void> {
  const { id, ...row } = runRow(run)
  await queriesOver(connection).update(syncRuns).set(row).where(eq(syncRuns.id, id))
}

function runRow({ trigger, ...run }: SyncRun): typeof syncRuns.$inferSelect {
  return { ...run, cause: trigger }
}

function runOf({ cause, ...run }: typeof syncRuns.$inferSelect): SyncRun {
  return { ...run, trigger: cause, counts: { ...NO_COUNTS, ...run.counts } }
}
