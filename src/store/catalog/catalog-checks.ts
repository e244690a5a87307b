/** What must hold before a write of the catalog: names that are free. Called within the write, so nothing changes in between. */
import {
  type CatalogSnapshot,
  findDataSource,
  findProject,
} from '../../core/domain/access/catalog-snapshot.ts'
import { nameKey } from '../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { Project } from '../../core/domain/project.ts'
import { AppError, notFound } from '../../core/errors.ts'

const DEFAULT_VECTOR_DATABASE = 'duckdb'

interface Scoped {
  readonly name: string
  readonly projectId: number
}

type Storage = Pick<KnowledgeBase, 'name' | 'vectorDatabase' | 'vectorDatabaseTable'>

/** Projects and data sources share their names. @throws AppError `project_exists`, `database_exists` */
export function checkDatabaseName(snapshot: CatalogSnapshot, name: string): void {
  if (findProject(snapshot, name) !== undefined) {
    throw new AppError('project_exists', `Project with name ${name} already exists`)
  }
  if (findDataSource(snapshot, name) !== undefined) {
    throw new AppError('database_exists', `Database with name ${name} already exists`)
  }
}

/** @throws AppError `project_not_found` when it was dropped meanwhile */
export function currentProject(snapshot: CatalogSnapshot, id: number, name = 'this'): Project {
  const project = snapshot.projects.find((candidate) => candidate.id === id)
  if (project !== undefined) return project
  throw notFound('project', name)
}

/** @throws AppError `knowledge_base_exists`, `storage_in_use` */
export function checkKnowledgeBase(snapshot: CatalogSnapshot, draft: Scoped & Storage): void {
  if (snapshot.knowledgeBases.some((kb) => isSameRelation(kb, draft))) {
    const message = `Knowledge Base with name ${draft.name} already exists`
    throw new AppError('knowledge_base_exists', message)
  }
  checkRelationName(snapshot, draft)
  if (isDefaultStorage(draft)) return
  if (nameKey(draft.vectorDatabase) === DEFAULT_VECTOR_DATABASE) {
    const rule = `in the storage ${DEFAULT_VECTOR_DATABASE} a knowledge base has the table of its own name`
    throw new AppError('storage_in_use', `Storage ${draft.vectorDatabaseTable}: ${rule}`)
  }
  const key = storageKey(draft)
  const owner = snapshot.knowledgeBases.find((kb) => {
    return !isDefaultStorage(kb) && storageKey(kb) === key
  })
  if (owner === undefined) return
  const storage = `${draft.vectorDatabase}.${draft.vectorDatabaseTable}`
  const user = `${owner.projectName}.${owner.name}`
  throw new AppError('storage_in_use', `Storage ${storage} is used by knowledge base ${user}`)
}

/** @throws AppError `agent_exists` */
export function checkAgentName(snapshot: CatalogSnapshot, agent: Scoped, ownId?: number): void {
  const namesake = snapshot.agents.find((candidate) => isSameRelation(candidate, agent))
  if (namesake !== undefined && namesake.id === ownId) return
  if (namesake !== undefined) {
    throw new AppError('agent_exists', `Agent with name ${agent.name} already exists`)
  }
  checkRelationName(snapshot, agent)
}

/**
 * What can stand in a FROM shares its names within a project. @throws AppError `relation_exists`
 */
export function checkRelationName(snapshot: CatalogSnapshot, draft: Scoped): void {
  const kinds = [
    ['A knowledge base', snapshot.knowledgeBases],
    ['A view', snapshot.views],
    ['A table', snapshot.tables],
    ['An agent', snapshot.agents],
  ] as const
  for (const [kind, things] of kinds) {
    if (!things.some((thing: Scoped) => isSameRelation(thing, draft))) continue
    throw new AppError('relation_exists', `${kind} with name ${draft.name} already exists`)
  }
}

/** Whether two things have one name in one project. */
export function isSameRelation(first: Scoped, second: Scoped): boolean {
  return first.projectId === second.projectId && nameKey(first.name) === nameKey(second.name)
}

/** The pair that a knowledge base without `storage` gets. It is a name of its own project and conflicts with nothing. */
function isDefaultStorage(storage: Storage): boolean {
  return (
    nameKey(storage.vectorDatabase) === DEFAULT_VECTOR_DATABASE &&
    nameKey(storage.vectorDatabaseTable) === nameKey(storage.name)
  )
}

function storageKey(storage: Storage): string {
  return JSON.stringify([nameKey(storage.vectorDatabase), nameKey(storage.vectorDatabaseTable)])
}
