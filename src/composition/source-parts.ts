import type { DataSources } from '../domain/ports/source-ports.ts'
import { AppError } from '../errors.ts'
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

/** Reaches no database. */
export const NO_SOURCES: DataSources = {
  check: unreachable,
  tables: unreachable,
  describeTables: unreachable,
  columns: unreachable,
  describe: unreachable,
  read: unreachable,
  stage: unreachable,
  forget: async () => {},
  close: async () => {},
}

async function unreachable({ name }: { readonly name: string }): Promise<never> {
  throw new AppError('source_failed', `Database ${name} cannot be reached from here`)
}
