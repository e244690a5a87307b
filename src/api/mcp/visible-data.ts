/** The part of the catalog that a principal sees, and how clients name it. */

import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import {
  mayDo,
  mayName,
  type Principal,
  requireNamespace,
} from '../../core/domain/access/principal.ts'
import type { Agent } from '../../core/domain/agents/agent.ts'
import type { DataSource } from '../../core/domain/flow/source-parameters.ts'
import { nameKey } from '../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import {
  DEFAULT_PROJECT,
  type Project,
  type ProjectTable,
  type View,
} from '../../core/domain/project.ts'
import { type FileTable, tablesOfFile } from '../../core/domain/uploaded-file.ts'
import { notFound } from '../../core/errors.ts'

export interface VisibleData {
  readonly projects: readonly Project[]
  readonly knowledgeBases: readonly KnowledgeBase[]
  readonly agents: readonly Agent[]
  readonly tables: readonly ProjectTable[]
  readonly views: readonly View[]
  readonly files: readonly FileTable[]
  readonly dataSources: readonly DataSource[]
}

/** @param snapshot without what the principal may not name */
export function visibleData(snapshot: CatalogSnapshot, principal: Principal): VisibleData {
  const isRead = mayDo(principal, 'read')
  const isAsked = isRead || mayDo(principal, 'ask')
  const read = <T>(things: readonly T[]): readonly T[] => (isRead ? things : [])
  return {
    projects: snapshot.projects,
    knowledgeBases: read(snapshot.knowledgeBases),
    agents: isAsked ? snapshot.agents : [],
    tables: read(snapshot.tables),
    views: read(snapshot.views),
    files: read(snapshot.files).flatMap(tablesOfFile),
    dataSources: read(snapshot.dataSources),
  }
}

/**
 * The named thing, among those that the principal sees.
 * @throws AppError `forbidden` for a project it may not name, whether there is one or not; `…_not_found`
 */
export function namedAmong<T extends { readonly name: string; readonly projectName: string }>(
  things: readonly T[],
  given: {
    readonly named: string
    readonly kind: 'knowledge_base' | 'agent'
    readonly principal: Principal
  },
): T {
  const { named, kind, principal } = given
  const dot = named.indexOf('.')
  const project = dot < 0 ? defaultProject(principal) : named.slice(0, dot)
  const name = named.slice(dot + 1)
  requireNamespace(principal, project)
  const found = things.find((thing) => {
    return nameKey(thing.projectName) === nameKey(project) && nameKey(thing.name) === nameKey(name)
  })
  if (found === undefined) throw notFound(kind, named.slice(0, 200))
  return found
}

/** The project of names without one. */
export function defaultProject(principal: Principal): string {
  if (mayName(principal, DEFAULT_PROJECT)) return DEFAULT_PROJECT
  const [first = DEFAULT_PROJECT] = principal.namespaces ?? []
  return first
}
