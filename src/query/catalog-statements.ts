/** The dialect's statements over the catalog, one function each. */
import { createKnowledgeBase, dropKnowledgeBase } from '../catalog/knowledge-bases.ts'
import { createProject, dropProject } from '../catalog/projects.ts'
import {
  findKnowledgeBase,
  findProject,
  knowledgeBasesOf,
  requireProject,
} from '../domain/catalog-snapshot.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { type QueryResult, rowsOf } from '../domain/query-result.ts'
import { AppError } from '../errors.ts'
import type { QualifiedName, Statement } from '../sql/statements.ts'
import { databaseTable, knowledgeBaseTable } from './information-schema.ts'
import { FILES_DATABASE } from './name-scope.ts'
import type { QueryDeps } from './query-deps.ts'

type StatementOf<K extends Statement['kind']> = Extract<Statement, { kind: K }>

/** @param db the project of names without a qualifier */
export async function runStatement(
  statement: Statement,
  db: string,
  deps: QueryDeps,
): Promise<QueryResult> {
  switch (statement.kind) {
    case 'create_knowledge_base':
      return create(statement, db, deps)
    case 'drop_knowledge_base':
      return drop(statement, db, deps)
    case 'describe_knowledge_base':
      return knowledgeBaseRows([mustFind(statement.name, db, deps)], db)
    case 'show_knowledge_bases':
      return knowledgeBaseRows(shown(statement, db, deps), db)
    case 'show_tables':
      return showTables(statement, db, deps)
    case 'show_databases':
      return showDatabases(statement.isFull, db, deps)
    case 'create_project':
      return makeProject(statement, db, deps)
    case 'drop_project':
      return removeProject(statement, db, deps)
    case 'use':
      return use(statement.database, deps)
  }
}

async function create(
  statement: StatementOf<'create_knowledge_base'>,
  db: string,
  deps: QueryDeps,
): Promise<QueryResult> {
  const { name, project } = statement.name
  const fields = { ...statement.options, name }
  try {
    await createKnowledgeBase(project ?? db, fields, deps)
  } catch (error) {
    const isThere = error instanceof AppError && error.code === 'knowledge_base_exists'
    if (!isThere) throw error
    if (!statement.ifNotExists) {
      throw new AppError('knowledge_base_exists', `Knowledge base already exists: ${name}`)
    }
  }
  return done(db)
}

async function drop(
  statement: StatementOf<'drop_knowledge_base'>,
  db: string,
  deps: QueryDeps,
): Promise<QueryResult> {
  const kb = find(statement.name, db, deps)
  if (kb !== undefined) await dropKnowledgeBase(kb, deps)
  else if (!statement.ifExists) throw doesNotExist(statement.name)
  return done(db)
}

async function makeProject(
  { name, ifNotExists }: StatementOf<'create_project'>,
  db: string,
  deps: QueryDeps,
): Promise<QueryResult> {
  const isThere = findProject(deps.catalog.snapshot(), name) !== undefined
  if (!isThere || !ifNotExists) await createProject(name, deps)
  return done(db)
}

async function removeProject(
  { name, ifExists }: StatementOf<'drop_project'>,
  db: string,
  deps: QueryDeps,
): Promise<QueryResult> {
  const project = findProject(deps.catalog.snapshot(), name)
  if (project !== undefined) await dropProject(project, deps)
  else if (!ifExists) requireProject(deps.catalog.snapshot(), name)
  return done(db)
}

function showDatabases(isFull: boolean, db: string, deps: QueryDeps): QueryResult {
  const { rows } = databaseTable(deps.catalog.snapshot())
  const names = isFull ? ['Database', 'TYPE', 'ENGINE'] : ['Database']
  const shown = rows.map((row) => row.slice(0, names.length))
  return { kind: 'table', rows: rowsOf(names, shown), context: { db } }
}

function use(database: string, deps: QueryDeps): QueryResult {
  if (database.toLowerCase() === FILES_DATABASE) return done(FILES_DATABASE)
  return done(requireProject(deps.catalog.snapshot(), database).name)
}

function done(db: string): QueryResult {
  return { kind: 'ok', affectedRows: null, context: { db } }
}

function find(name: QualifiedName, db: string, deps: QueryDeps): KnowledgeBase | undefined {
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, name.project ?? db)
  return project && findKnowledgeBase(snapshot, project, name.name)
}

function mustFind(name: QualifiedName, db: string, deps: QueryDeps): KnowledgeBase {
  const kb = find(name, db, deps)
  if (kb === undefined) throw doesNotExist(name)
  return kb
}

function doesNotExist(name: QualifiedName): AppError {
  const message = `Knowledge base does not exist: ${name.name}`
  return new AppError('knowledge_base_not_found', message)
}

function shown(
  statement: StatementOf<'show_knowledge_bases'>,
  db: string,
  deps: QueryDeps,
): readonly KnowledgeBase[] {
  const snapshot = deps.catalog.snapshot()
  const project = requireProject(snapshot, statement.project ?? db)
  const wanted = statement.name?.toLowerCase()
  return knowledgeBasesOf(snapshot, project).filter((kb) => {
    return (
      (wanted === undefined || kb.name.toLowerCase() === wanted) &&
      (statement.like === null || isLike(kb.name, statement.like))
    )
  })
}

/** SQL's LIKE without case: `%` any characters, `_` one. */
function isLike(name: string, pattern: string): boolean {
  const escaped = pattern.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const source = escaped.replaceAll('%', '.*').replaceAll('_', '.')
  return new RegExp(`^${source}$`, 'isu').test(name)
}

function knowledgeBaseRows(kbs: readonly KnowledgeBase[], db: string): QueryResult {
  const { columns, rows } = knowledgeBaseTable(kbs)
  return { kind: 'table', rows: rowsOf(columns, rows), context: { db } }
}

function showTables(
  statement: StatementOf<'show_tables'>,
  db: string,
  deps: QueryDeps,
): QueryResult {
  const database = statement.from ?? db
  const tables = tablesOf(database, deps).filter(([name]) => {
    return statement.like === null || isLike(name, statement.like)
  })
  const names = [`Tables_in_${database}`, ...(statement.isFull ? ['Table_type'] : [])]
  const rows = tables.map(([name, type]) => (statement.isFull ? [name, type] : [name]))
  return { kind: 'table', rows: rowsOf(names, rows), context: { db } }
}

function tablesOf(database: string, deps: QueryDeps): readonly (readonly [string, string])[] {
  const snapshot = deps.catalog.snapshot()
  if (database.toLowerCase() === FILES_DATABASE) {
    return snapshot.files.map((file) => [file.name, 'BASE TABLE'] as const)
  }
  const project = requireProject(snapshot, database)
  return knowledgeBasesOf(snapshot, project).map((kb) => [kb.name, 'KNOWLEDGE BASE'] as const)
}
