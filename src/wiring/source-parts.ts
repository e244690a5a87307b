import type { CatalogSnapshot } from '../core/domain/access/catalog-snapshot.ts'
import type { Asker } from '../core/domain/access/principal.ts'
import type { AuditLog } from '../core/domain/ports/access-ports.ts'
import type { ScheduleStore } from '../core/domain/ports/schedule-ports.ts'
import type { SourceKeeping, SyncStore } from '../core/domain/ports/sync-ports.ts'
import type { TraceStore } from '../core/domain/ports/trace-ports.ts'
import type { DatabaseDeps } from '../query/definitions/define-database.ts'
import type { LiveTables } from '../query/information-schema/schema-table.ts'
import {
  allSourceRows,
  keptSourceRows,
  type ListedSources,
} from '../query/information-schema/source-tables.ts'
import { namesDatabase } from '../sql/lexer/database-names.ts'
import { askerOfSignal, requireAuditReader } from './access-parts.ts'
import { scheduleRows } from './schedule-parts.ts'

/** The tables of information_schema whose rows are fetched when they are read. */
export function liveTables(
  sources: ListedSources['sources'],
  schedules: Pick<ScheduleStore, 'list' | 'runs'>,
  {
    keeping,
    traces,
    audit,
  }: {
    readonly keeping: SourceKeeping
    readonly traces: TraceStore
    readonly audit: Pick<AuditLog, 'settled'>
  },
): LiveTables {
  return {
    async rows(table, snapshot, signal) {
      if (table === 'tables' || table === 'columns') {
        return allSourceRows(table, { snapshot, sources }, signal)
      }
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
      const rows = await scheduleRows(table, schedules, snapshot)
      if (rows !== undefined) return rows
      throw new Error(`nothing fetches the rows of ${table}`)
    },
  }
}

/** The one row that conditions over what was asked look at. */
function askedRows({ by, seesAll }: Asker) {
  return { rows: [{ SEEN: seesAll ? 'all' : 'own', ASKED_BY: by }] }
}

interface Readers {
  readonly schedules: Pick<ScheduleStore, 'list'>
  readonly sources: Pick<SyncStore, 'sources'>
}

/** What reads a database by itself: jobs that run again, and sources of knowledge bases. */
export function databaseUses(
  snapshot: () => CatalogSnapshot,
  { schedules, sources }: Readers,
): DatabaseDeps['databaseUses'] {
  return async ({ name: database }) => {
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
    return [...jobs, ...kept]
  }
}
