/** A namespace with relations besides knowledge bases: views and tables. */
import { AppError } from '../errors.ts'

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

export const NAME_CHARS_MAX = 128

/** An identifier for DuckDB: `a"b` → `"a""b"`. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A string literal for DuckDB: `it's` → `'it''s'`. For our own constants; values of callers are bound. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Names are compared without case, as SQL does. */
export function nameKey(name: string): string {
  return name.toLowerCase()
}

const COLUMN_CHARS_MAX = 256

/** Non-empty column names that differ even without case: `a`, `A` → `a`, `A_1`. */
export function distinctNames(names: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  return names.map((raw, index) => {
    const name =
      raw.toWellFormed().replaceAll('\0', '').trim().slice(0, COLUMN_CHARS_MAX) ||
      `column_${index + 1}`
    let distinct = name
    for (let count = 1; taken.has(nameKey(distinct)); count += 1) distinct = `${name}_${count}`
    taken.add(nameKey(distinct))
    return distinct
  })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const FORBIDDEN_IN_NAMES = /[\u0000-\u001f\u007f/\\.]/u

/**
 * A name for a project, knowledge base, agent or file, as the caller wrote it. Quotes, spaces, emoji and SQL's key words are
 * fine; characters that do not work in a path or in `project.name` are not.
 * @throws AppError `invalid_name`
 */
export function checkedName(kind: string, name: string): string {
  const article = /^[aeiou]/.test(kind) ? 'an' : 'a'
  const refuse = (why: string) => {
    return new AppError('invalid_name', `The name of ${article} ${kind} ${why}`)
  }
  if (name.length > NAME_CHARS_MAX * 2) {
    throw refuse(`has at most ${NAME_CHARS_MAX} characters; this one has many more`)
  }
  if (name.trim() === '') throw refuse('must not be empty')
  if (name !== name.trim()) throw refuse('must not begin or end with white space')
  const length = [...name].length
  if (length > NAME_CHARS_MAX) {
    throw refuse(`has at most ${NAME_CHARS_MAX} characters; this one has ${length}`)
  }
  if (!name.isWellFormed() || FORBIDDEN_IN_NAMES.test(name)) {
    throw refuse('must not hold control characters, "/", "\\" or "."')
  }
  return name
}
