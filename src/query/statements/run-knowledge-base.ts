/** CREATE, ALTER, DROP and DESCRIBE of knowledge bases, and of their sources and indexes. */
import {
  findQualified,
  ofProject,
  requireProject,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import { type ResultValue, rowsOf } from '../../core/domain/query-result.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import { didYouMean, nearestName } from '../../core/short-text.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { createVectorIndex, dropVectorIndex } from '../definitions/define-database.ts'
import {
  alterKnowledgeBase,
  createKnowledgeBase,
  dropKnowledgeBase,
} from '../definitions/define-knowledge-base.ts'
import { alterSource, createSource, requireSource } from '../definitions/define-source.ts'
import { FieldReader, INVALID_KNOWLEDGE_BASE } from '../definitions/fields.ts'
import { startMove } from '../documents/move-job.ts'
import { startRechunk } from '../documents/rechunk-job.ts'
import { describedKnowledgeBase } from '../information-schema/object-tables.ts'
import { rowsSql, schemaColumns } from '../information-schema/schema-table.ts'
import { queryRow } from '../rows/background-insert.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { Outcome, Runs } from '../select/statement-request.ts'
import { runComposedSelect } from '../select/views.ts'
import { withStatementName } from './run-definition.ts'
import { narrowedSelect, type Shown } from './show-select.ts'

export const KNOWLEDGE_BASE_RUNS = {
  create_knowledge_base: async ({ statement, db }, deps) => {
    const { name, project } = statement.name
    const fields = withStatementName(statement.options, name)
    try {
      return warningsOf(await createKnowledgeBase(project ?? db, fields, deps))
    } catch (error) {
      if (!hasCode(error, 'knowledge_base_exists')) throw error
      if (statement.ifNotExists) return {}
      throw new AppError('knowledge_base_exists', `Knowledge base already exists: ${name}`)
    }
  },
  /** Re-chunks afterwards or moves. Either returns the job's row of information_schema.queries. */
  alter_knowledge_base: async ({ statement, db }, deps, signal) => {
    const kb = requireKnowledgeBaseNamed(statement.name, db, deps)
    if (statement.options.storage !== undefined) {
      const job = await startMove(kb, statement.options, deps)
      return job === null ? {} : queryRow(job, db, deps, signal)
    }
    const { rechunk, ...options } = statement.options
    const isCutAnew = new FieldReader({ rechunk }, INVALID_KNOWLEDGE_BASE).truth('rechunk') === true
    const hasOptions = Object.keys(options).length > 0
    const altered = hasOptions ? await alterKnowledgeBase(kb, options, deps) : kb
    if (isCutAnew) return queryRow(await startRechunk(kb, deps), db, deps, signal)
    return options.embedding_model === undefined ? {} : warningsOf(altered)
  },
  drop_knowledge_base: async ({ statement: { name, ifExists }, db }, deps) => {
    const kb = findKnowledgeBaseNamed(name, db, deps)
    if (kb !== undefined) await dropKnowledgeBase(kb, deps)
    else if (!ifExists) throw doesNotExist(name, db, deps)
    return {}
  },
  describe_knowledge_base: async ({ statement: { name }, db }, deps) => {
    const kb = requireKnowledgeBaseNamed(name, db, deps)
    const progress = deps.reembeddings.progressOf(kb)
    return { rows: describedKnowledgeBase(kb, progress, deps.activity.now()) }
  },

  sources: async ({ statement, db }, deps) => {
    const kb = requireKnowledgeBaseNamed(statement.name, db, deps)
    const { keeping } = deps
    const isThere = (name: string) => {
      return keeping.list(kb).some((source) => nameKey(source.name) === nameKey(name))
    }
    switch (statement.change) {
      case 'add':
        if (!statement.ifNotExists || !isThere(statement.source))
          await createSource(kb, withStatementName(statement.options, statement.source), keeping)
        return {}
      case 'alter':
        await alterSource(requireSource(kb, statement.source, keeping), statement.options, keeping)
        return {}
      case 'drop':
        if (!statement.ifExists || isThere(statement.source))
          await keeping.drop(requireSource(kb, statement.source, keeping))
        return {}
      case 'refresh': {
        const { source: name } = statement
        const sources = name === null ? keeping.list(kb) : [requireSource(kb, name, keeping)]
        const rows: ResultValue[][] = []
        for (const source of sources) {
          const { id, state } = await keeping.run(source)
          rows.push([source.name, id, state])
        }
        return { rows: rowsOf(['SOURCE', 'JOB_ID', 'STATE'], rows) }
      }
    }
  },

  create_index: async ({ statement, db }, deps) => {
    const kb = requireKnowledgeBaseNamed(statement.knowledgeBase, db, deps)
    await createVectorIndex(kb, statement.options, deps)
    return {}
  },
  drop_index: async ({ statement: { knowledgeBase: name, ifExists }, db }, deps) => {
    const find = ifExists ? findKnowledgeBaseNamed : requireKnowledgeBaseNamed
    const kb = find(name, db, deps)
    if (kb !== undefined && kb.vectorIndex !== null) await dropVectorIndex(kb, deps)
    else if (!ifExists) {
      const message = `The knowledge base ${name.name} has no index of its own: Eider chooses`
      throw new AppError('index_not_found', message)
    }
    return {}
  },
  show_indexes: async (
    { statement: { knowledgeBase: name, narrowing }, db, params },
    deps,
    signal,
  ) => {
    const shown = shownIndexes(name && requireKnowledgeBaseNamed(name, db, deps), deps)
    const select = { sql: narrowedSelect(shown, narrowing), database: db, params }
    return { rows: await runComposedSelect(select, deps, signal) }
  },
} satisfies Partial<Runs>

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

/** Such as that its model could not be tested. */
function warningsOf({ params: { warnings } }: KnowledgeBase): Outcome {
  return Array.isArray(warnings) && warnings.length > 0 ? { warnings: warnings.map(String) } : {}
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
