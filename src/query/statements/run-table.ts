import {
  findFile,
  findIn,
  findProject,
  findQualified,
  ofProject,
  refuseToWrite,
  requireProject,
} from '../../core/domain/access/catalog-snapshot.ts'
import {
  checkedName,
  FILES_DATABASE,
  nameKey,
  type Project,
  type ProjectTable,
  quote,
} from '../../core/domain/names.ts'
import type { VacuumScope } from '../../core/domain/ports/store-ports.ts'
import { checkedFileName, fileKey, type UploadedFile } from '../../core/domain/uploaded-file.ts'
import { AppError, notFound } from '../../core/errors.ts'
import type { StatementOf } from '../../sql/dialect/parse-statement.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import type {
  ColumnDefinition,
  TableChange,
  TableDefinition,
} from '../../sql/dialect/table-definition.ts'
import { rowsSql, schemaColumns } from '../information-schema/schema-table.ts'
import { storedExpression } from '../rows/assignments.ts'
import { type QueryDeps, runLimits } from '../select/query-deps.ts'
import { withBoundSelect } from '../select/run-select.ts'
import type { Outcome, StatementRequest } from '../select/statement-request.ts'
import { composing, describeSelect, runComposedSelect } from '../select/views.ts'

export async function runTableStatement(
  request: StatementRequest<StatementOf<'create_table' | 'alter_table' | 'drop_table'>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { statement, db } = request
  const snapshot = deps.catalog.snapshot()
  const { name } = statement
  refuseToWrite(snapshot, name.project ?? db)
  const project = isFile(name, db) ? undefined : findProject(snapshot, name.project ?? db)
  const key = { projectId: project?.id ?? null, name: name.name }
  return deps.tables.whileLocked(key, runLimits(deps), signal, async (waitedMs) => {
    const own = { ...deps, spentMs: (deps.spentMs ?? 0) + waitedMs }
    if (statement.kind === 'create_table') return create({ ...request, statement }, own, signal)
    const target = find(name, db, deps)
    if (target === undefined) {
      if (project !== undefined) refuseOther(statement, project, deps)
      const known = project === undefined ? [] : ofProject(snapshot.tables, project)
      if (!statement.ifExists) throw notFound('table', name.name, known)
    } else if (statement.kind === 'alter_table')
      await alter({ ...request, statement }, target, own, signal)
    else if (target.kind === 'file') await deps.files.dropFile(target.file)
    else await deps.tables.dropTable(target.table)
    return {}
  })
}

/** @throws AppError `sql_not_supported` for a file; errors of the change */
async function alter(
  { statement: { change, name }, db, params }: StatementRequest<StatementOf<'alter_table'>>,
  target: TableOrFile,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<void> {
  if (target.kind === 'file') {
    const how = `CREATE TABLE name AS SELECT * FROM files.${quote(name.name)}`
    throw new AppError('sql_not_supported', `A file is not changed; make a table of it: ${how}`)
  }
  const { table } = target
  if (change.kind === 'rename') {
    return deps.tables.renameTable(table, checkedName('table', change.to))
  }
  const sql = await changeSql({ change, table }, { db, params }, deps, signal)
  if (sql !== null) await deps.tables.alterTable(table, sql)
}

/** @throws AppError `sql_not_supported`, naming the right statement, for anything but a table */
function refuseOther(
  { name, kind }: StatementOf<'alter_table' | 'drop_table'>,
  project: Project,
  { catalog }: QueryDeps,
): void {
  const verb = kind === 'drop_table' ? 'DROP' : 'ALTER'
  const snapshot = catalog.snapshot()
  const kinds = [
    ['knowledge base', `${verb} KNOWLEDGE_BASE`, snapshot.knowledgeBases],
    ['view', `${verb} VIEW`, snapshot.views],
    ['agent', `${verb} AGENT`, snapshot.agents],
  ] as const
  for (const [what, statement, things] of kinds) {
    const found = findIn<(typeof things)[number]>(things, project, name.name)
    if (found === undefined) continue
    const article = what === 'agent' ? 'an' : 'a'
    const path = `${quote(project.name)}.${quote(found.name)}`
    const message = `${found.name} is ${article} ${what} and not a table; use ${statement} ${path}`
    throw new AppError('sql_not_supported', message)
  }
}

type TableOrFile =
  | { readonly kind: 'table'; readonly table: ProjectTable }
  | { readonly kind: 'file'; readonly file: UploadedFile }

async function create(
  { statement, db, params }: StatementRequest<StatementOf<'create_table'>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { source, ifNotExists, orReplace } = statement
  const isThere = () => findExactly(statement.name, db, deps) !== undefined
  if (isThere() && ifNotExists) return {}
  if (isThere() && !orReplace)
    throw new AppError('relation_exists', `A table with name ${statement.name.name} already exists`)
  const isOfFiles = isFile(statement.name, db)
  const { name: sentName } = statement.name
  const name = isOfFiles ? checkedFileName(sentName) : checkedName('table', sentName)
  const project = isOfFiles
    ? null
    : requireProject(deps.catalog.snapshot(), statement.name.project ?? db)
  const limits = runLimits(deps)
  try {
    if ('columns' in source) {
      const definition = await tableSql(source, { db, params }, deps, signal)
      const target = { name, projectId: tableProject(project).id, orReplace, definition }
      await deps.tables.defineTable(target)
      return {}
    }
    const request = { sql: source.select, database: source.database ?? db, params }
    const made = await withBoundSelect(request, deps, signal, async (bound) => {
      const target = { name, select: bound.statement }
      return project === null
        ? deps.files.importSelect({ ...target, replaces: orReplace }, limits, signal)
        : deps.tables.createTable({ ...target, projectId: project.id, orReplace }, limits, signal)
    })
    return { affectedRows: made.rowCount }
  } catch (error) {
    // Another statement created it in the meantime.
    if (ifNotExists && isTaken(error) && isThere()) return {}
    throw error
  }
}

/** @throws AppError `sql_not_supported` for a file */
function tableProject(project: Project | null): Project {
  if (project !== null) return project
  const message = 'A file is made of a SELECT: CREATE TABLE files.name AS …'
  throw new AppError('sql_not_supported', message)
}

function isTaken(error: unknown): boolean {
  if (!(error instanceof AppError)) return false
  return error.code === 'relation_exists' || error.code === 'file_exists'
}

const VACUUM_COLUMNS = schemaColumns('bytes_before:BIGINT bytes_after:BIGINT rows_removed:BIGINT')

export async function runVacuum(
  { statement: { name }, db, params }: StatementRequest<StatementOf<'vacuum'>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const scope = name === null ? null : vacuumScope(name, db, deps)
  const { bytesBefore, bytesAfter, deletedRows } = await deps.storage.vacuum(scope, signal)
  const row = { bytes_before: bytesBefore, bytes_after: bytesAfter, rows_removed: deletedRows }
  const select = { sql: rowsSql(VACUUM_COLUMNS, [row]), database: db, params }
  return { rows: await runComposedSelect(select, deps, signal) }
}

function vacuumScope(name: QualifiedName, db: string, deps: QueryDeps): VacuumScope {
  const found = find(name, db, deps)
  if (found?.kind === 'file') return { kind: 'file', id: found.file.id }
  if (found !== undefined) {
    const { id, projectId } = found.table
    return { kind: 'table', id, projectId }
  }
  const snapshot = deps.catalog.snapshot()
  const kb = findQualified(snapshot, snapshot.knowledgeBases, name.project ?? db, name.name)
  if (kb === undefined) throw notFound('table', name.name)
  return { kind: 'knowledge_base', id: kb.id, projectId: kb.projectId }
}

function isFile(name: QualifiedName, db: string): boolean {
  return (name.project ?? db).toLowerCase() === FILES_DATABASE
}

function find(name: QualifiedName, db: string, deps: QueryDeps): TableOrFile | undefined {
  const snapshot = deps.catalog.snapshot()
  if (isFile(name, db)) {
    const file = findFile(snapshot, name.name)
    return file && { kind: 'file', file }
  }
  const table = findQualified(snapshot, snapshot.tables, name.project ?? db, name.name)
  return table && { kind: 'table', table }
}

/** What a new one would replace. A file `teas.csv` does not conflict with a table `teas`. */
function findExactly(name: QualifiedName, db: string, deps: QueryDeps): TableOrFile | undefined {
  if (!isFile(name, db)) return find(name, db, deps)
  const { files } = deps.catalog.snapshot()
  const file = files.find((one) => fileKey(one.name) === fileKey(name.name))
  return file && { kind: 'file', file }
}

type Place = Pick<StatementRequest, 'db' | 'params'>

/** In parentheses. @throws AppError like the planner */
async function tableSql(
  { columns, keys, checks }: TableDefinition,
  place: Place,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string> {
  const parts = [
    ...(await columnsSql(columns, place, deps, signal)),
    ...keys.map((key) => `${key.kind} (${key.columns.map(quote).join(', ')})`),
  ]
  for (const check of checks) {
    const scope = { ...place, from: '(SELECT 1) AS checked' }
    const sql = await composing(() => storedExpression(check, scope, deps, signal))
    parts.push(`CHECK (${sql})`)
  }
  return `(${parts.join(', ')})`
}

/** The SQL after `ALTER TABLE name`; null if nothing changes. @throws AppError like the planner */
async function changeSql(
  {
    change,
    table,
  }: { readonly change: Exclude<TableChange, { kind: 'rename' }>; readonly table: ProjectTable },
  place: Place,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string | null> {
  const has = (name: string) => table.columns.some((own) => nameKey(own.name) === nameKey(name))
  if (change.kind === 'drop') {
    if (change.ifExists && !has(change.column)) return null
    return `DROP COLUMN ${quote(change.column)}`
  }
  if (change.kind === 'rename_column') {
    refuseRowId(change.to)
    return `RENAME COLUMN ${quote(change.column)} TO ${quote(change.to)}`
  }
  if (change.ifNotExists && has(change.column.name)) return null
  const [column] = await columnsSql([change.column], place, deps, signal)
  return `ADD COLUMN ${column}`
}

async function columnsSql(
  columns: readonly ColumnDefinition[],
  { db, params }: Place,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const nulls = columns.map(({ type, name }) => `CAST(NULL AS ${type}) AS ${quote(name)}`)
  const typed = { sql: `SELECT ${nulls.join(', ')}`, database: db }
  const described = await composing(() => describeSelect(typed, deps, signal))
  const list: string[] = []
  for (const [index, { name, key, isNotNull, default: value }] of columns.entries()) {
    refuseRowId(name)
    const parts = [quote(name), described[index]?.type, ...(isNotNull ? ['NOT NULL'] : [])]
    if (value !== null) {
      const scope = { db, params, from: null }
      const sql = await composing(() => storedExpression(value, scope, deps, signal))
      parts.push(`DEFAULT (${sql})`)
    }
    if (key !== null) parts.push(key)
    list.push(parts.join(' '))
  }
  return list
}

/**
 * Refuses DuckDB's name for a row's position, which UPDATE uses. @throws AppError `invalid_name`
 */
function refuseRowId(name: string): void {
  if (nameKey(name) !== 'rowid') return
  throw new AppError('invalid_name', 'A column cannot be called rowid: choose another name')
}
