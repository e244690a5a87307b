/** Projects and the names of what they contain. */
import { AppError } from '../errors.ts'

export interface Project {
  readonly id: number
  readonly name: string
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly createdAt: string
  readonly updatedAt: string
}

/** Cannot be deleted; existing clients expect this name. */
export const DEFAULT_PROJECT = 'mindsdb'

/** The namespace of uploaded files, used like a project name: `files.teas`. */
export const FILES_DATABASE = 'files'

export function fullName(relation: {
  readonly projectName: string
  readonly name: string
}): string {
  return `${relation.projectName}.${relation.name}`
}

/** What a project contains: a knowledge base, an agent, a view and so on. */
export interface ProjectObject {
  readonly id: number
  readonly name: string
  readonly projectId: number
  readonly projectName: string
  readonly createdAt: string
}

/** A named SELECT. The names in it are resolved each time the view is read. */
export interface View extends ProjectObject {
  /** One SELECT, as written. */
  readonly sql: string
  /** The `context.db` of the statement that created the view: a project or `files`. */
  readonly database: string
  /** As of the view's creation or last change. */
  readonly columns: readonly RelationColumn[]
  readonly updatedAt: string
}

/** A column of a view or table, with its DuckDB type. */
export interface RelationColumn {
  readonly name: string
  readonly type: string
}

export type ViewDraft = Omit<View, 'id' | 'projectName' | 'createdAt' | 'updatedAt'>

export type ViewChanges = Pick<ViewDraft, 'sql' | 'database' | 'columns'>

/** A table of a project. Its rows are in a DuckDB table, see domain/chunk-tables.ts. */
export interface ProjectTable extends ProjectObject {
  readonly columns: readonly RelationColumn[]
  readonly rowCount: number
}

/** Columns that identify a row: its position, and a hash of all its values. */
export const ROW_ID = 'eider_row'
export const ROW_HASH = 'eider_hash'

/** SQL for both of those columns. @param alias the table's alias */
export function rowIdentity(alias: string, table: Pick<ProjectTable, 'columns'>): string {
  return `${quote(alias)}.rowid AS ${ROW_ID}, ${rowHash(alias, table)} AS ${ROW_HASH}`
}

export function rowHash(alias: string, { columns }: Pick<ProjectTable, 'columns'>): string {
  const values = columns.map(({ name }) => `${quote(alias)}.${quote(name)}`)
  return `hash(row(${values.join(', ')}))`
}

export const NAME_CHARS_MAX = 128

/** Quotes an identifier for DuckDB: `a"b` → `"a""b"`. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** `it's` → `'it''s'`. Only for Eider's own constants; user values are bound. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** The form of a name for comparison, ignoring case as SQL does. */
export function nameKey(name: string): string {
  return name.toLowerCase()
}

/** A full name for DuckDB: `shop.public.orders` → `"shop"."public"."orders"`. */
export function quotedPath(name: string): string {
  const [first = '', ...rest] = name.split('.')
  // Only a file's name may contain dots itself.
  const parts = nameKey(first) === FILES_DATABASE ? [rest.join('.')] : rest
  return [first, ...parts].map(quote).join('.')
}

const COLUMN_CHARS_MAX = 256

/** Makes column names non-empty and distinct, ignoring case: `a`, `A` → `a`, `A_1`. */
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

// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
const FORBIDDEN_IN_NAMES = /[\u0000-\u001f\u007f/\\.]/u

/**
 * Checks a name for a project, knowledge base, agent or file, and returns it unchanged. Quotes,
 * spaces, emoji and SQL keywords are allowed; characters that break a path or `project.name` are
 * not.
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
  if (name !== name.trim()) throw refuse('must not start or end with white space')
  const length = [...name].length
  if (length > NAME_CHARS_MAX) {
    throw refuse(`has at most ${NAME_CHARS_MAX} characters; this one has ${length}`)
  }
  if (!name.isWellFormed() || FORBIDDEN_IN_NAMES.test(name)) {
    throw refuse('must not contain control characters, "/", "\\" or "."')
  }
  return name
}
