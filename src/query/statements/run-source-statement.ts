import { alterSource, createSource, requireSource } from '../../catalog/define-source.ts'
import type { Job } from '../../domain/flow/job.ts'
import { nameKey } from '../../domain/identifier.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import { rowsOf } from '../../domain/query-result.ts'
import type { KnowledgeBaseStatement } from '../../sql/dialect/parse-knowledge-base.ts'
import type { QueryDeps } from '../query-deps.ts'
import { done, type StatementRequest } from '../statement-request.ts'
import { requireKnowledgeBaseNamed } from './run-knowledge-base.ts'

type SourceStatement = Extract<
  KnowledgeBaseStatement,
  { kind: 'add_source' | 'alter_source' | 'drop_source' | 'refresh_knowledge_base' }
>

/** What a knowledge base is kept in step with. */
export async function runSourceStatement(
  { statement, db }: StatementRequest<SourceStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  const kb = requireKnowledgeBaseNamed(statement.name, db, deps)
  const { keeping } = deps
  const named = (name: string) => {
    return keeping.list(kb).find((source) => nameKey(source.name) === nameKey(name))
  }
  switch (statement.kind) {
    case 'add_source': {
      const isThere = statement.ifNotExists && named(statement.source) !== undefined
      if (!isThere)
        await createSource(kb, { ...statement.options, name: statement.source }, keeping)
      return done(db)
    }
    case 'alter_source':
      await alterSource(requireSource(kb, statement.source, keeping), statement.options, keeping)
      return done(db)
    case 'drop_source':
      if (statement.ifExists && named(statement.source) === undefined) return done(db)
      await keeping.drop(requireSource(kb, statement.source, keeping))
      return done(db)
    case 'refresh_knowledge_base': {
      const { source: name } = statement
      const sources = name === null ? keeping.list(kb) : [requireSource(kb, name, keeping)]
      const started: (readonly [string, Job])[] = []
      for (const source of sources) started.push([source.name, await keeping.run(source)])
      const rows = started.map(([source, job]) => [source, job.id, job.state])
      return { kind: 'table', rows: rowsOf(['SOURCE', 'JOB_ID', 'STATE'], rows), context: { db } }
    }
  }
}
