import type { CatalogSnapshot } from '../core/domain/access/catalog-snapshot.ts'
import type { Asker, Rights } from '../core/domain/access/principal.ts'
import { isOver, type StoredJob } from '../core/domain/flow/job.ts'
import { nameKey } from '../core/domain/names.ts'
import type { AuditLog } from '../core/domain/ports/access-ports.ts'
import type { TraceStore } from '../core/domain/ports/conversation-ports.ts'
import type { DataSources } from '../core/domain/ports/engine-ports.ts'
import type { JobStore, ScheduleStore, SyncStore } from '../core/domain/ports/job-ports.ts'
import type { RemoteDatabases } from '../core/domain/ports/storage-ports.ts'
import type { DatabaseDeps } from '../query/definitions/define-database.ts'
import { catalogRows } from '../query/information-schema/information-schema.ts'
import type { LiveTables } from '../query/information-schema/schema-table.ts'
import {
  allSourceRows,
  keptSourceRows,
  type ListedSources,
} from '../query/information-schema/source-tables.ts'
import type { QueryDeps } from '../query/select/query-deps.ts'
import type { Sources } from '../sources/sources.ts'
import { namesDatabase } from '../sql/lexer/database-names.ts'
import { memoryBytesOf } from '../store/duckdb/memory-watchdog.ts'
import { askerOfSignal, requireAuditReader } from './access-parts.ts'
import { scheduleRows } from './job-parts.ts'
import { LATER } from './later.ts'
import type { SourceFilesOptions, SourcesOptions } from './open-sources.ts'
import { environmentOfReaders, type Settings } from './settings/settings.ts'

/** Tables of information_schema whose rows are computed when queried. */
export function liveTables(
  sources: ListedSources['sources'],
  depsWithin: (rights: Rights | null) => Pick<QueryDeps, 'schedules' | 'keeping'>,
  given: { readonly traces: TraceStore; readonly audit: Pick<AuditLog, 'settled'> },
): LiveTables {
  const { traces, audit } = given
  return {
    async rows(table, snapshot, signal) {
      const ofCatalog = catalogRows(table, snapshot)
      if (ofCatalog !== undefined) return { rows: ofCatalog }
      if (table === 'tables' || table === 'columns') {
        return allSourceRows(table, { snapshot, sources }, signal)
      }
      const { schedules, keeping } = depsWithin(snapshot.limits?.rights ?? null)
      if (table === 'sources') return keptSourceRows(snapshot, keeping)
      if (table === 'audit_log') {
        requireAuditReader(signal)
        await audit.settled()
        return { rows: [] }
      }
      if (table === 'conversation_turns') return askedRows(askerOfSignal(signal))
      if (table.startsWith('trace')) {
        await traces.settled()
        return askedRows(askerOfSignal(signal))
      }
      const rows = await scheduleRows(table, schedules.store)
      if (rows !== undefined) return rows
      throw new Error(`nothing fetches the rows of ${table}`)
    },
  }
}

/** The only row that the conditions need. */
function askedRows({ by, seesAll }: Asker) {
  return { rows: [{ SEEN: seesAll ? 'all' : 'own', ASKED_BY: by }] }
}

interface Readers {
  readonly schedules: Pick<ScheduleStore, 'list'>
  readonly sources: Pick<SyncStore, 'sources'>
  readonly jobs: Pick<JobStore, 'list' | 'workOf'>
}

/**
 * Creates what needs remote databases: knowledge bases stored in one, jobs and syncs that read one.
 */
export function databaseUses(
  snapshot: () => CatalogSnapshot,
  { schedules, sources, jobs: jobStore }: Readers,
): DatabaseDeps['databaseUses'] {
  const isMove = async ({ id, kind, state }: StoredJob, database: string) => {
    if (kind !== 'move' || isOver({ state })) return false
    // Written by `startMove`.
    const { request } = (await jobStore.workOf(id)) as { request: { database: string } }
    return nameKey(request.database) === nameKey(database)
  }
  return async ({ name: database }) => {
    const moving: string[] = []
    for (const job of jobStore.list()) {
      if (await isMove(job, database)) moving.push(`job ${job.id}`)
    }
    const jobs = schedules.list().flatMap(({ name, projectName, query, ifQuery, nextRunAt }) => {
      const isReader = namesDatabase(query, database) || namesDatabase(ifQuery ?? '', database)
      return nextRunAt !== null && isReader ? [`job ${projectName}.${name}`] : []
    })
    const { knowledgeBases } = snapshot()
    const kept = sources.sources().flatMap(({ name, parameters, knowledgeBaseId }) => {
      const kb = knowledgeBases.find(({ id }) => id === knowledgeBaseId)
      const texts = [parameters.query, parameters.table].map((text) => String(text ?? ''))
      if (kb === undefined || !texts.some((text) => namesDatabase(text, database))) return []
      return [`source ${name} of ${kb.projectName}.${kb.name}`]
    })
    const stored = knowledgeBases.filter((kb) => {
      return kb.remote !== undefined && nameKey(kb.vectorDatabase) === nameKey(database)
    })
    const names = stored.map(({ name, projectName }) => `knowledge base ${projectName}.${name}`)
    return [...names, ...moving, ...jobs, ...kept]
  }
}

export function dataSourcesOf(options: SourcesOptions): DataSources & RemoteDatabases {
  let opened: Promise<Sources> | undefined
  let ready: Sources | undefined
  const sources = () => {
    opened ??= LATER.sources().then(({ openSources }) => {
      ready = openSources(options)
      return ready
    })
    return opened
  }
  return {
    check: async (...request) => (await sources()).check(...request),
    tables: async (...request) => (await sources()).tables(...request),
    describeTables: async (...request) => (await sources()).describeTables(...request),
    columns: async (...request) => (await sources()).columns(...request),
    describe: async (...request) => (await sources()).describe(...request),
    stage: async (...request) => (await sources()).stage(...request),
    select: async (...request) => (await sources()).select(...request),
    transaction: async (...request) => (await sources()).transaction(...request),
    forgetTables: (source) => ready?.forgetTables(source),
    forget: async (source) => (await opened)?.forget(source),
    close: async () => (await opened)?.close(),
  }
}

export function sourceFilesOf(
  settings: Pick<Settings, 'sourcesDirectory' | 'readingMemory'>,
): SourceFilesOptions {
  return {
    folder: settings.sourcesDirectory ?? null,
    memoryBytes: memoryBytesOf(settings.readingMemory),
    environment: environmentOfReaders(),
  }
}
