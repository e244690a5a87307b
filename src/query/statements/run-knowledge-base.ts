import {
  findQualified,
  ofProject,
  requireProject,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import {
  type QueryResult,
  type ResultValue,
  type RowStream,
  rowsOf,
} from '../../core/domain/query-result.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import { didYouMean, nearestName } from '../../core/short-text.ts'
import type { KnowledgeBaseStatement } from '../../sql/dialect/object-statements.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import {
  alterKnowledgeBase,
  createKnowledgeBase,
  dropKnowledgeBase,
} from '../definitions/define-knowledge-base.ts'
import { alterSource, createSource, requireSource } from '../definitions/define-source.ts'
import { FieldReader } from '../definitions/fields.ts'
import { startMove } from '../documents/move-job.ts'
import { startRechunk } from '../documents/rechunk-job.ts'
import { describedKnowledgeBase } from '../information-schema/object-tables.ts'
import { queryRow } from '../rows/background-insert.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { done, type StatementRequest } from '../select/statement-request.ts'
import { withStatementName } from './run-definition.ts'

type StatementOf<K extends KnowledgeBaseStatement['kind']> = Extract<
  KnowledgeBaseStatement,
  { kind: K }
>

type DefinitionStatement = StatementOf<
  | 'create_knowledge_base'
  | 'alter_knowledge_base'
  | 'drop_knowledge_base'
  | 'describe_knowledge_base'
>

export async function runKnowledgeBaseStatement(
  { statement, db }: StatementRequest<DefinitionStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  switch (statement.kind) {
    case 'create_knowledge_base':
      return createBase(statement, db, deps)
    case 'alter_knowledge_base':
      return alter(statement, db, deps, signal)
    case 'drop_knowledge_base':
      return drop(statement, db, deps)
    case 'describe_knowledge_base':
      return { kind: 'table', rows: describe(statement.name, db, deps), context: { db } }
  }
}

/** Re-chunks afterwards or moves. Either returns the job's row of information_schema.queries. */
async function alter(
  statement: StatementOf<'alter_knowledge_base'>,
  db: string,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const kb = requireKnowledgeBaseNamed(statement.name, db, deps)
  if (statement.options.storage !== undefined) {
    const job = await startMove(kb, statement.options, deps)
    return job === null ? done(db) : queryRow(job, db, deps, signal)
  }
  const { rechunk, ...options } = statement.options
  const isCutAnew = new FieldReader({ rechunk }, 'invalid_knowledge_base').truth('rechunk') === true
  const hasOptions = Object.keys(options).length > 0
  const altered = hasOptions ? await alterKnowledgeBase(kb, options, deps) : kb
  if (!isCutAnew) return options.embedding_model === undefined ? done(db) : doneWith(altered, db)
  return queryRow(await startRechunk(kb, deps), db, deps, signal)
}

async function createBase(
  statement: StatementOf<'create_knowledge_base'>,
  db: string,
  deps: QueryDeps,
): Promise<QueryResult> {
  const { name, project } = statement.name
  const fields = withStatementName(statement.options, name)
  try {
    return doneWith(await createKnowledgeBase(project ?? db, fields, deps), db)
  } catch (error) {
    if (!hasCode(error, 'knowledge_base_exists')) throw error
    if (!statement.ifNotExists) {
      throw new AppError('knowledge_base_exists', `Knowledge base already exists: ${name}`)
    }
  }
  return done(db)
}

/** With its warnings, such as that its model could not be tested. */
function doneWith({ params: { warnings } }: KnowledgeBase, db: string): QueryResult {
  if (!Array.isArray(warnings) || warnings.length === 0) return done(db)
  return { kind: 'ok', affectedRows: null, context: { db }, warnings: warnings.map(String) }
}

async function drop(
  statement: StatementOf<'drop_knowledge_base'>,
  db: string,
  deps: QueryDeps,
): Promise<QueryResult> {
  const kb = findKnowledgeBaseNamed(statement.name, db, deps)
  if (kb !== undefined) await dropKnowledgeBase(kb, deps)
  else if (!statement.ifExists) throw doesNotExist(statement.name, db, deps)
  return done(db)
}

function describe(name: QualifiedName, db: string, deps: QueryDeps): RowStream {
  const kb = requireKnowledgeBaseNamed(name, db, deps)
  return describedKnowledgeBase(kb, deps.reembeddings.progressOf(kb), deps.activity.now())
}

export function findKnowledgeBaseNamed(
  name: QualifiedName,
  db: string,
  deps: QueryDeps,
): KnowledgeBase | undefined {
  const snapshot = deps.catalog.snapshot()
  return findQualified(snapshot, snapshot.knowledgeBases, name.project ?? db, name.name)
}

/** @throws AppError `knowledge_base_not_found` */
export function requireKnowledgeBaseNamed(
  name: QualifiedName,
  db: string,
  deps: QueryDeps,
): KnowledgeBase {
  const kb = findKnowledgeBaseNamed(name, db, deps)
  if (kb === undefined) throw doesNotExist(name, db, deps)
  return kb
}

function doesNotExist({ name, project }: QualifiedName, db: string, deps: QueryDeps): AppError {
  const snapshot = deps.catalog.snapshot()
  const known = ofProject(snapshot.knowledgeBases, requireProject(snapshot, project ?? db))
  const names = known.map((kb) => kb.name)
  const hint = didYouMean(nearestName(name, names))
  return new AppError('knowledge_base_not_found', `Knowledge base does not exist: ${name}${hint}`)
}

type SourceStatement = StatementOf<'sources'>

/** Runs statements about the sources of a knowledge base. */
export async function runSourceStatement(
  { statement, db }: StatementRequest<SourceStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  const kb = requireKnowledgeBaseNamed(statement.name, db, deps)
  const { keeping } = deps
  const named = (name: string) => {
    return keeping.list(kb).find((source) => nameKey(source.name) === nameKey(name))
  }
  switch (statement.change) {
    case 'add': {
      const isThere = statement.ifNotExists && named(statement.source) !== undefined
      if (!isThere)
        await createSource(kb, withStatementName(statement.options, statement.source), keeping)
      return done(db)
    }
    case 'alter':
      await alterSource(requireSource(kb, statement.source, keeping), statement.options, keeping)
      return done(db)
    case 'drop':
      if (statement.ifExists && named(statement.source) === undefined) return done(db)
      await keeping.drop(requireSource(kb, statement.source, keeping))
      return done(db)
    case 'refresh': {
      const { source: name } = statement
      const sources = name === null ? keeping.list(kb) : [requireSource(kb, name, keeping)]
      const rows: ResultValue[][] = []
      for (const source of sources) {
        const { id, state } = await keeping.run(source)
        rows.push([source.name, id, state])
      }
      return { kind: 'table', rows: rowsOf(['SOURCE', 'JOB_ID', 'STATE'], rows), context: { db } }
    }
  }
}
