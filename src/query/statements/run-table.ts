import {
  findAgent,
  findFile,
  findKnowledgeBase,
  findProject,
  findTable,
  findView,
  refuseToWrite,
  requireProject,
} from '../../domain/catalog-snapshot.ts'
import { checkedName, quote } from '../../domain/identifier.ts'
import type { VacuumScope } from '../../domain/ports/store-ports.ts'
import { FILES_DATABASE, type ProjectTable } from '../../domain/project.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import { checkedFileName, fileKey, type UploadedFile } from '../../domain/uploaded-file.ts'
import { AppError, notFound } from '../../errors.ts'
import type { TableStatement } from '../../sql/dialect/parse-table.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { rowsSql, schemaColumns } from '../information-schema/schema-table.ts'
import { runComposedSelect } from '../select/composed-select.ts'
import { type QueryDeps, runLimits } from '../select/query-deps.ts'
import { withBoundSelect } from '../select/run-select.ts'
import { done, type StatementRequest } from '../select/statement-request.ts'

type StatementOf<K extends TableStatement['kind']> = Extract<TableStatement, { kind: K }>

export async function runTableStatement(
  request: StatementRequest<TableStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  if (statement.kind === 'create_table') return create({ ...request, statement }, deps, signal)
  if (statement.kind === 'vacuum') return vacuum({ ...request, statement }, deps, signal)
  refuseToWrite(deps.catalog.snapshot(), statement.name.project ?? db)
  const target = find(statement.name, db, deps)
  if (target !== undefined) await drop(target, deps)
  else {
    refuseOther(statement.name, db, deps)
    if (!statement.ifExists) throw notFound('table', statement.name.name)
  }
  return done(db)
}

/** @throws AppError `sql_not_supported` with the right statement for what is no table */
function refuseOther(name: QualifiedName, db: string, deps: QueryDeps): void {
  const snapshot = deps.catalog.snapshot()
  const project = isFile(name, db) ? undefined : findProject(snapshot, name.project ?? db)
  if (project === undefined) return
  const kinds = [
    ['knowledge base', 'DROP KNOWLEDGE_BASE', findKnowledgeBase],
    ['view', 'DROP VIEW', findView],
    ['agent', 'DROP AGENT', findAgent],
  ] as const
  for (const [what, statement, findIn] of kinds) {
    const found = findIn(snapshot, project, name.name)
    if (found === undefined) continue
    const article = what === 'agent' ? 'an' : 'a'
    const path = `${quote(project.name)}.${quote(found.name)}`
    const message = `${found.name} is ${article} ${what} and not a table; use ${statement} ${path}`
    throw new AppError('sql_not_supported', message)
  }
}

/** A table of a project, or a file. */
type TableOrFile =
  | { readonly kind: 'table'; readonly table: ProjectTable }
  | { readonly kind: 'file'; readonly file: UploadedFile }

async function create(
  { statement, db, params }: StatementRequest<StatementOf<'create_table'>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { source, ifNotExists, orReplace } = statement
  refuseToWrite(deps.catalog.snapshot(), statement.name.project ?? db)
  const isThere = () => findExactly(statement.name, db, deps) !== undefined
  if (isThere() && ifNotExists) return done(db)
  if (isThere() && !orReplace) throw exists(statement.name)
  const isOfFiles = isFile(statement.name, db)
  const { name: sentName } = statement.name
  const name = isOfFiles ? checkedFileName(sentName) : checkedName('table', sentName)
  const project = isOfFiles
    ? null
    : requireProject(deps.catalog.snapshot(), statement.name.project ?? db)
  const request = { sql: source.select, database: source.database ?? db, params }
  const limits = runLimits(deps)
  try {
    const made = await withBoundSelect(request, deps, signal, async (bound) => {
      const target = { name, select: bound.statement }
      return project === null
        ? deps.files.importSelect({ ...target, replaces: orReplace }, limits, signal)
        : deps.tables.createTable({ ...target, projectId: project.id, orReplace }, limits, signal)
    })
    return done(db, made.rowCount)
  } catch (error) {
    // Another statement has made it meanwhile.
    if (ifNotExists && isTaken(error) && isThere()) return done(db)
    throw error
  }
}

function isTaken(error: unknown): boolean {
  if (!(error instanceof AppError)) return false
  return error.code === 'relation_exists' || error.code === 'file_exists'
}

async function drop(found: TableOrFile, deps: QueryDeps): Promise<void> {
  if (found.kind === 'file') await deps.files.dropFile(found.file)
  else await deps.tables.dropTable(found.table)
}

const VACUUM_COLUMNS = schemaColumns('bytes_before:BIGINT bytes_after:BIGINT rows_removed:BIGINT')

async function vacuum(
  { statement: { name }, db, params }: StatementRequest<StatementOf<'vacuum'>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const scope = name === null ? null : vacuumScope(name, db, deps)
  const { bytesBefore, bytesAfter, deletedRows } = await deps.storage.vacuum(scope, signal)
  const row = { bytes_before: bytesBefore, bytes_after: bytesAfter, rows_removed: deletedRows }
  const select = { sql: rowsSql(VACUUM_COLUMNS, [row]), database: db, params }
  const rows = await runComposedSelect(select, deps, signal)
  return { kind: 'table', rows, context: { db } }
}

function vacuumScope(name: QualifiedName, db: string, deps: QueryDeps): VacuumScope {
  const found = find(name, db, deps)
  if (found?.kind === 'file') return { kind: 'file', id: found.file.id }
  if (found !== undefined) {
    const { id, projectId } = found.table
    return { kind: 'table', id, projectId }
  }
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, name.project ?? db)
  const kb = project && findKnowledgeBase(snapshot, project, name.name)
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
  const project = findProject(snapshot, name.project ?? db)
  const table = project && findTable(snapshot, project, name.name)
  return table && { kind: 'table', table }
}

/** What a new one of this name would replace: the file `teas.csv` is not in the way of `teas`. */
function findExactly(name: QualifiedName, db: string, deps: QueryDeps): TableOrFile | undefined {
  if (!isFile(name, db)) return find(name, db, deps)
  const { files } = deps.catalog.snapshot()
  const file = files.find((one) => fileKey(one.name) === fileKey(name.name))
  return file && { kind: 'file', file }
}

function exists({ name }: QualifiedName): AppError {
  return new AppError('relation_exists', `A table with name ${name} already exists`)
}
