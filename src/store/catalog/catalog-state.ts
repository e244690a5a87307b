import { isDeepStrictEqual } from 'node:util'
import {
  type CatalogSnapshot,
  findDataSource,
  findProject,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase, KnowledgeBaseDraft } from '../../core/domain/knowledge-base.ts'
import { nameKey, type Project } from '../../core/domain/names.ts'
import type { CommitListener } from '../../core/domain/ports/retrieval-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import type { Database } from '../duckdb/database.ts'
import type { Secrets } from './secrets.ts'

type CatalogParts = Omit<CatalogSnapshot, 'version' | 'definitionsVersion'>

type ListName =
  | 'projects'
  | 'knowledgeBases'
  | 'agents'
  | 'files'
  | 'views'
  | 'tables'
  | 'dataSources'

/** Dependencies shared by all stores. */
export interface StoreParts {
  readonly database: Database
  readonly state: CatalogState
  readonly secrets: Secrets
  /** Milliseconds since 1970. */
  readonly now: () => number
}

interface Identified {
  readonly id: number
}

/** Changes only in a write's `committed`, so within a turn it equals what is stored. */
export class CatalogState {
  #snapshot: CatalogSnapshot
  #listener: CommitListener = NO_LISTENER

  constructor(parts: CatalogParts) {
    this.#snapshot = deepFrozen({ version: 1, definitionsVersion: 1, ...parts })
  }

  snapshot(): CatalogSnapshot {
    return this.#snapshot
  }

  /** The catalog's current version of this knowledge base, or `kb` itself if it was deleted. */
  current(kb: KnowledgeBase): KnowledgeBase {
    return this.#snapshot.knowledgeBases.find(({ id }) => id === kb.id) ?? kb
  }

  change(parts: Partial<CatalogParts>): void {
    const before = this.#snapshot
    const version = before.version + 1
    const isNew = changesDefinitions(before, parts)
    const definitionsVersion = before.definitionsVersion + (isNew ? 1 : 0)
    this.#snapshot = deepFrozen({ ...before, ...parts, version, definitionsVersion })
    this.#listener.catalogChanged(this.#snapshot)
  }

  /** Replaces the object with the same id, or adds it at the end. */
  put<K extends ListName>(list: K, thing: CatalogParts[K][number]): void {
    this.#setList(list, withReplaced<Identified>(this.#snapshot[list], thing))
  }

  remove(list: ListName, id: number): void {
    this.#setList(list, withoutId<Identified>(this.#snapshot[list], id))
  }

  #setList(list: ListName, things: readonly Identified[]): void {
    // The cast is safe: `put` guarantees that each list has objects of one kind.
    this.change({ [list]: things } as Partial<CatalogParts>)
  }

  get listener(): CommitListener {
    return this.#listener
  }

  setListener(listener: CommitListener): void {
    this.#listener = listener
  }
}

const NO_LISTENER: CommitListener = {
  needsChange: () => false,
  beginCommit: () => {},
  endCommit: () => {},
  catalogChanged: () => {},
}

/** Returns false if only documents or table rows have changed. */
function changesDefinitions(
  before: CatalogParts,
  { knowledgeBases, tables, ...others }: Partial<CatalogParts>,
): boolean {
  if (Object.keys(others).length > 0) return true
  const isSame =
    isEach(before.knowledgeBases, knowledgeBases, (kb, known) => {
      const { revision, updatedAt } = kb
      return isDeepStrictEqual(kb, { ...known, revision, updatedAt })
    }) &&
    isEach(before.tables, tables, (table, known) => {
      return isDeepStrictEqual(table, { ...known, rowCount: table.rowCount })
    })
  return !isSame
}

function isEach<T>(
  before: readonly T[],
  now: readonly T[] | undefined,
  isDefinedAs: (thing: T, known: T) => boolean,
): boolean {
  if (now === undefined) return true
  if (now.length !== before.length) return false
  return now.every((thing, index) => {
    const known = before[index]
    return thing === known || (known !== undefined && isDefinedAs(thing, known))
  })
}

/** Returns the list with this object replacing the one with the same id, or added at the end. */
export function withReplaced<T extends Identified>(things: readonly T[], thing: T): readonly T[] {
  const isThere = things.some((other) => other.id === thing.id)
  if (!isThere) return [...things, thing]
  return things.map((other) => (other.id === thing.id ? thing : other))
}

export function withoutId<T extends Identified>(things: readonly T[], id: number): readonly T[] {
  return things.filter((thing) => thing.id !== id)
}

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFrozen(part)
  return Object.freeze(value)
}

// These checks run within a catalog write, so that a name cannot be taken between check and write.

const DEFAULT_VECTOR_DATABASE = 'duckdb'

interface Scoped {
  readonly name: string
  readonly projectId: number
}

type Storage = Pick<KnowledgeBase, 'name' | 'vectorDatabase' | 'vectorDatabaseTable'>

/** Projects and data sources share a namespace. @throws AppError `project_exists`, … */
export function checkDatabaseName(snapshot: CatalogSnapshot, name: string): void {
  if (findProject(snapshot, name) !== undefined) {
    throw new AppError('project_exists', `Project with name ${name} already exists`)
  }
  if (findDataSource(snapshot, name) !== undefined) {
    throw new AppError('database_exists', `Database with name ${name} already exists`)
  }
}

/** @throws AppError `project_not_found` if the project was deleted */
export function currentProject(snapshot: CatalogSnapshot, id: number, name = 'this'): Project {
  const project = snapshot.projects.find((candidate) => candidate.id === id)
  if (project !== undefined) return project
  throw notFound('project', name)
}

/** @throws AppError `knowledge_base_exists`, `storage_in_use` */
export function checkKnowledgeBase(
  snapshot: CatalogSnapshot,
  draft: Scoped & Storage & Pick<KnowledgeBaseDraft, 'remote'>,
): void {
  if (snapshot.knowledgeBases.some((kb) => isSameRelation(kb, draft))) {
    const message = `Knowledge Base with name ${draft.name} already exists`
    throw new AppError('knowledge_base_exists', message)
  }
  checkRelationName(snapshot, draft)
  // Several knowledge bases may use the same tables of another database.
  if (isDefaultStorage(draft) || draft.remote !== undefined) return
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

/** What a FROM can name shares a namespace per project. @throws AppError `relation_exists` */
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

/** Whether two objects have the same name in the same project. */
export function isSameRelation(first: Scoped, second: Scoped): boolean {
  return first.projectId === second.projectId && nameKey(first.name) === nameKey(second.name)
}

/**
 * Whether this is the default storage, which several knowledge bases may use without a conflict.
 */
function isDefaultStorage(storage: Storage): boolean {
  return (
    nameKey(storage.vectorDatabase) === DEFAULT_VECTOR_DATABASE &&
    nameKey(storage.vectorDatabaseTable) === nameKey(storage.name)
  )
}

function storageKey(storage: Storage): string {
  return JSON.stringify([nameKey(storage.vectorDatabase), nameKey(storage.vectorDatabaseTable)])
}
