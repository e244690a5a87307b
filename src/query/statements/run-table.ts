import { findFile, findProject, findTable, requireProject } from '../../domain/catalog-snapshot.ts'
import { checkedName } from '../../domain/identifier.ts'
import { FILES_DATABASE, type ProjectTable } from '../../domain/project.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import type { UploadedFile } from '../../domain/uploaded-file.ts'
import { AppError, notFound } from '../../errors.ts'
import type { TableStatement } from '../../sql/dialect/parse-table.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { type QueryDeps, runLimits } from '../query-deps.ts'
import { withBoundSelect } from '../select/run-select.ts'
import { done, type StatementRequest } from '../statement-request.ts'

type StatementOf<K extends TableStatement['kind']> = Extract<TableStatement, { kind: K }>

export async function runTableStatement(
  request: StatementRequest<TableStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  if (statement.kind === 'create_table') return create({ ...request, statement }, deps, signal)
  const target = find(statement.name, db, deps)
  if (target !== undefined) await drop(target, deps)
  else if (!statement.ifExists) throw notFound('table', statement.name.name)
  return done(db)
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
  const isThere = () => find(statement.name, db, deps) !== undefined
  if (isThere() && ifNotExists) return done(db)
  if (isThere() && !orReplace) throw exists(statement.name)
  const name = checkedName('table', statement.name.name)
  const project = isFile(statement.name, db)
    ? null
    : requireProject(deps.catalog.snapshot(), statement.name.project ?? db)
  const request = { sql: source.select, database: source.database ?? db, params }
  const limits = runLimits(deps)
  try {
    const made = await withBoundSelect(request, deps, signal, async (bound) => {
      const target = { name, select: bound.statement, orReplace }
      return project === null
        ? deps.files.importSelect(target, limits, signal)
        : deps.tables.createTable({ ...target, projectId: project.id }, limits, signal)
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

function exists({ name }: QualifiedName): AppError {
  return new AppError('relation_exists', `A table with name ${name} already exists`)
}
