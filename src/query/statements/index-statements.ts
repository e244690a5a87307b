import { createVectorIndex, dropVectorIndex } from '../../catalog/vector-indexes.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { type QueryResult, rowsOf } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { IndexStatement } from '../../sql/statements/index-statements.ts'
import type { QueryDeps } from '../query-deps.ts'
import { findNamed, mustFind } from './knowledge-base-statements.ts'
import { done, type StatementRequest } from './statement-request.ts'

export async function runIndexStatement(
  { statement, db }: StatementRequest<IndexStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  switch (statement.kind) {
    case 'create_index': {
      const kb = mustFind(statement.knowledgeBase, db, deps)
      await createVectorIndex(kb, statement.options, deps)
      return done(db)
    }
    case 'drop_index':
      return drop(statement, db, deps)
    case 'show_indexes': {
      const { knowledgeBase } = statement
      return show(knowledgeBase && mustFind(knowledgeBase, db, deps), db, deps)
    }
  }
}

async function drop(
  { knowledgeBase, ifExists }: IndexStatement & { readonly kind: 'drop_index' },
  db: string,
  deps: QueryDeps,
): Promise<QueryResult> {
  const kb = ifExists ? findNamed(knowledgeBase, db, deps) : mustFind(knowledgeBase, db, deps)
  if (kb !== undefined && kb.vectorIndex !== null) await dropVectorIndex(kb, deps)
  else if (!ifExists) {
    const message = `The knowledge base ${knowledgeBase.name} has no index of its own: Eider chooses`
    throw new AppError('index_not_found', message)
  }
  return done(db)
}

const COLUMNS = ['project', 'knowledge_base', 'type', 'state', 'vectors', 'detail'] as const

function show(kb: KnowledgeBase | null, db: string, deps: QueryDeps): QueryResult {
  const states = deps.indexes.states().filter(({ project, knowledgeBase }) => {
    return kb === null || (project === kb.projectName && knowledgeBase === kb.name)
  })
  const rows = states.map((one) => {
    const { project, knowledgeBase, type, state, vectorCount, detail } = one
    return [project, knowledgeBase, type, state, vectorCount, detail]
  })
  return { kind: 'table', rows: rowsOf(COLUMNS, rows), context: { db } }
}
