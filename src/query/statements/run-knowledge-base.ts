import { createVectorIndex, dropVectorIndex } from '../../catalog/define-index.ts'
import {
  alterKnowledgeBase,
  createKnowledgeBase,
  dropKnowledgeBase,
} from '../../catalog/define-knowledge-base.ts'
import { findKnowledgeBase, findProject } from '../../domain/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { type QueryResult, rowsOf } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { IndexStatement } from '../../sql/dialect/parse-index.ts'
import type { KnowledgeBaseStatement } from '../../sql/dialect/parse-knowledge-base.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { describedKnowledgeBase } from '../information-schema/object-tables.ts'
import { rowsSql, schemaColumns } from '../information-schema/schema-table.ts'
import type { QueryDeps } from '../query-deps.ts'
import { runComposedSelect } from '../select/composed-select.ts'
import { narrowedSelect, type Shown } from '../show/show-select.ts'
import { done, type StatementRequest } from '../statement-request.ts'

type StatementOf<K extends KnowledgeBaseStatement['kind']> = Extract<
  KnowledgeBaseStatement,
  { kind: K }
>

export async function runKnowledgeBaseStatement(
  { statement, db }: StatementRequest<KnowledgeBaseStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  switch (statement.kind) {
    case 'create_knowledge_base':
      return create(statement, db, deps)
    case 'alter_knowledge_base':
      await alterKnowledgeBase(
        requireKnowledgeBaseNamed(statement.name, db, deps),
        statement.options,
        deps,
      )
      return done(db)
    case 'drop_knowledge_base':
      return drop(statement, db, deps)
    case 'describe_knowledge_base':
      return describe(requireKnowledgeBaseNamed(statement.name, db, deps), db, deps)
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
  const kb = findKnowledgeBaseNamed(statement.name, db, deps)
  if (kb !== undefined) await dropKnowledgeBase(kb, deps)
  else if (!statement.ifExists) throw doesNotExist(statement.name)
  return done(db)
}

function describe(kb: KnowledgeBase, db: string, { reembeddings }: QueryDeps): QueryResult {
  const { columns, rows } = describedKnowledgeBase(kb, reembeddings.progressOf(kb))
  return { kind: 'table', rows: rowsOf(columns, rows), context: { db } }
}

export async function runIndexStatement(
  { statement, db, params }: StatementRequest<IndexStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  switch (statement.kind) {
    case 'create_index': {
      const kb = requireKnowledgeBaseNamed(statement.knowledgeBase, db, deps)
      await createVectorIndex(kb, statement.options, deps)
      return done(db)
    }
    case 'drop_index':
      return dropIndex(statement, db, deps)
    case 'show_indexes': {
      const { knowledgeBase, narrowing } = statement
      const shown = shownIndexes(
        knowledgeBase && requireKnowledgeBaseNamed(knowledgeBase, db, deps),
        deps,
      )
      const select = { sql: narrowedSelect(shown, narrowing), database: db, params }
      const rows = await runComposedSelect(select, deps, signal)
      return { kind: 'table', rows, context: { db } }
    }
  }
}

async function dropIndex(
  { knowledgeBase, ifExists }: IndexStatement & { readonly kind: 'drop_index' },
  db: string,
  deps: QueryDeps,
): Promise<QueryResult> {
  const kb = ifExists
    ? findKnowledgeBaseNamed(knowledgeBase, db, deps)
    : requireKnowledgeBaseNamed(knowledgeBase, db, deps)
  if (kb !== undefined && kb.vectorIndex !== null) await dropVectorIndex(kb, deps)
  else if (!ifExists) {
    const message = `The knowledge base ${knowledgeBase.name} has no index of its own: Eider chooses`
    throw new AppError('index_not_found', message)
  }
  return done(db)
}

const INDEX_COLUMNS = schemaColumns('project knowledge_base type state vectors:BIGINT detail')

function shownIndexes(kb: KnowledgeBase | null, deps: QueryDeps): Shown {
  const states = deps.indexes.states().filter(({ project, knowledgeBase }) => {
    return kb === null || (project === kb.projectName && knowledgeBase === kb.name)
  })
  const rows = states.map((shown) => {
    const { project, knowledgeBase: knowledge_base, type, state, vectorCount, detail } = shown
    return { project, knowledge_base, type, state, vectors: vectorCount, detail }
  })
  return { sql: rowsSql(INDEX_COLUMNS, rows), likeColumn: 'knowledge_base' }
}

export function findKnowledgeBaseNamed(
  name: QualifiedName,
  db: string,
  deps: QueryDeps,
): KnowledgeBase | undefined {
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, name.project ?? db)
  return project && findKnowledgeBase(snapshot, project, name.name)
}

/** @throws AppError `knowledge_base_not_found` */
export function requireKnowledgeBaseNamed(
  name: QualifiedName,
  db: string,
  deps: QueryDeps,
): KnowledgeBase {
  const kb = findKnowledgeBaseNamed(name, db, deps)
  if (kb === undefined) throw doesNotExist(name)
  return kb
}

function doesNotExist(name: QualifiedName): AppError {
  const message = `Knowledge base does not exist: ${name.name}`
  return new AppError('knowledge_base_not_found', message)
}
