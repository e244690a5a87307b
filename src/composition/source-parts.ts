import type { LiveTables } from '../query/information-schema/schema-table.ts'
import { allSourceRows, type ListedSources } from '../query/information-schema/source-tables.ts'

/** The tables of information_schema whose rows are fetched when they are read. */
export function liveTables(listed: ListedSources): LiveTables {
  return {
    async rows(table, signal) {
      if (table === 'tables' || table === 'columns') return allSourceRows(table, listed, signal)
      throw new Error(`nothing fetches the rows of ${table}`)
    },
  }
}
