/** Knowledge bases whose rows a connected PostgreSQL holds. */
import { AppError } from '../errors.ts'

export interface RemoteStorage {
  /** Its name among those that use the tables there. */
  readonly attachment: string
  /** Whether all rows are here, too; false: only those that were needed, and searches run there. */
  readonly isCopied: boolean
}

interface Stored {
  readonly name: string
  readonly vectorDatabase: string
  readonly vectorDatabaseTable: string
  readonly remote?: RemoteStorage
}

/** Whether all its rows are here. */
export function isHere({ remote }: Pick<Stored, 'remote'>): boolean {
  return remote?.isCopied !== false
}

/** For what needs all rows. @throws AppError `sql_too_costly` where they are not copied to here */
export function requireHere(kb: Stored): void {
  if (isHere(kb)) return
  const { name, vectorDatabase, vectorDatabaseTable } = kb
  const why = `it needs all rows of ${name}, which this server has no copy of`
  const storage = JSON.stringify({ database: vectorDatabase, table: vectorDatabaseTable })
  const attach = `CREATE KNOWLEDGE_BASE … USING storage = ${storage}, attach = true`
  const how = `search with a LIMIT, or make a copy under another name: ${attach}`
  throw new AppError('sql_too_costly', `Not without a copy: ${why}; ${how}`)
}
