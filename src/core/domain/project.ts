/** A namespace with relations besides knowledge bases: views and tables. */
import { quote } from './identifier.ts'

export interface Project {
  readonly id: number
  readonly name: string
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly createdAt: string
  readonly updatedAt: string
}

/** The project that every data folder has and that cannot be deleted. Existing clients name it. */
export const DEFAULT_PROJECT = 'mindsdb'

/** The namespace of uploaded files, like a project's name before a view: `files.teas`. */
export const FILES_DATABASE = 'files'

/** A relation as people name it outside its project. */
export function fullName(relation: {
  readonly projectName: string
  readonly name: string
}): string {
  return `${relation.projectName}.${relation.name}`
}

/** A SELECT with a name. Its names are resolved each time it is read. */
export interface View {
  readonly id: number
  readonly name: string
  readonly projectId: number
  readonly projectName: string
  /** One SELECT, as written. */
  readonly sql: string
  /** The project of its unqualified names, or `files`: `context.db` of the statement that created it. */
  readonly database: string
  /** As of its creation or last change. */
  readonly columns: readonly RelationColumn[]
  readonly createdAt: string
  readonly updatedAt: string
}

/** A column of a view or table and DuckDB's name of its type. */
export interface RelationColumn {
  readonly name: string
  readonly type: string
}

export type ViewDraft = Omit<View, 'id' | 'projectName' | 'createdAt' | 'updatedAt'>

export type ViewChanges = Pick<ViewDraft, 'sql' | 'database' | 'columns'>

/** A table of a project. Its rows are in a table of DuckDB, see domain/chunk-tables.ts. */
export interface ProjectTable {
  readonly id: number
  readonly name: string
  readonly projectId: number
  readonly projectName: string
  readonly columns: readonly RelationColumn[]
  readonly rowCount: number
  readonly createdAt: string
}

/** The columns that identify a row that was read: its position, and a hash of all its values. */
export const ROW_ID = 'eider_row'
export const ROW_HASH = 'eider_hash'

/** SQL for both. @param alias of the table */
export function rowIdentity(alias: string, table: Pick<ProjectTable, 'columns'>): string {
  return `${quote(alias)}.rowid AS ${ROW_ID}, ${rowHash(alias, table)} AS ${ROW_HASH}`
}

export function rowHash(alias: string, { columns }: Pick<ProjectTable, 'columns'>): string {
  const values = columns.map(({ name }) => `${quote(alias)}.${quote(name)}`)
  return `hash(row(${values.join(', ')}))`
}
