import type { CatalogSnapshot } from '../catalog-snapshot.ts'
import { FILES_DATABASE } from '../project.ts'
import { type Rights, sees } from './rights.ts'

/** Rights under which a catalog is looked at, at the same time. */
const VIEWS_MAX = 64

/**
 * The catalog as those see it who may not see all of it: what they may not name is not there. Names, suggestions, lists
 * and information_schema follow from that. Each view of a catalog is made once.
 */
export class VisibleCatalogs {
  readonly #views = new WeakMap<CatalogSnapshot, Map<string, CatalogSnapshot>>()

  /** @param rights null: everything is seen */
  of(snapshot: CatalogSnapshot, rights: Rights | null): CatalogSnapshot {
    if (rights === null) return snapshot
    const key = JSON.stringify(rights)
    const views = this.#views.get(snapshot) ?? new Map<string, CatalogSnapshot>()
    if (views.size === 0) this.#views.set(snapshot, views)
    const known = views.get(key)
    if (known !== undefined) return known
    if (views.size >= VIEWS_MAX) views.clear()
    const view = visible(snapshot, rights, key)
    views.set(key, view)
    return view
  }
}

function visible(snapshot: CatalogSnapshot, rights: Rights, key: string): CatalogSnapshot {
  const limits = { rights, key }
  if (rights.namespaces === null) return { ...snapshot, limits }
  const isNamed = ({ name }: { readonly name: string }) => sees(rights, name)
  const isInside = ({ projectName }: { readonly projectName: string }) => sees(rights, projectName)
  return {
    ...snapshot,
    limits,
    projects: snapshot.projects.filter(isNamed),
    knowledgeBases: snapshot.knowledgeBases.filter(isInside),
    agents: snapshot.agents.filter(isInside),
    views: snapshot.views.filter(isInside),
    tables: snapshot.tables.filter(isInside),
    files: sees(rights, FILES_DATABASE) ? snapshot.files : [],
    dataSources: snapshot.dataSources.filter(isNamed),
  }
}
