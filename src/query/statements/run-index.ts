/** CREATE INDEX, DROP INDEX and SHOW INDEX ON a knowledge base. */
import { createVectorIndex, dropVectorIndex } from '../../catalog/define-index.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { IndexStatement } from '../../sql/dialect/parse-index.ts'
import { rowsSql, schemaColumns } from '../information-schema/schema-table.ts'
import type { QueryDeps } from '../query-deps.ts'
import { runComposedSelect } from '../select/composed-select.ts'
import { narrowedSelect, type Shown } from '../show/show-select.ts'
import { done, type StatementRequest } from '../statement-request.ts'
import { findKnowledgeBaseNamed, requireKnowledgeBaseNamed } from './run-knowledge-base.ts'

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
