import type { ScheduleStore } from '../domain/ports/schedule-ports.ts'
import type { SourceKeeping } from '../domain/ports/sync-ports.ts'
import type { LiveTables } from '../query/information-schema/schema-table.ts'
import {
  allSourceRows,
  keptSourceRows,
  type ListedSources,
} from '../query/information-schema/source-tables.ts'
import { scheduleRows } from './schedule-parts.ts'

/** The tables of information_schema whose rows are fetched when they are read. */
export function liveTables(
  listed: ListedSources,
  schedules: Pick<ScheduleStore, 'list' | 'runs'>,
  keeping: SourceKeeping,
): LiveTables {
  return {
    async rows(table, signal) {
      if (table === 'tables' || table === 'columns') return allSourceRows(table, listed, signal)
      if (table === 'sources') return keptSourceRows(listed.snapshot(), keeping)
      const rows = await scheduleRows(table, schedules)
      if (rows !== undefined) return rows
      throw new Error(`nothing fetches the rows of ${table}`)
    },
  }
}
