import { FILES_DATABASE } from '../project.ts'
import type { CatalogSnapshot } from './catalog-snapshot.ts'
import { type Rights, sees } from './principal.ts'

/** Rights under which a catalog is looked at, at the same time. */
const VIEWS_MAX = 64

/**
 * The catalog for callers who may not see all of it: names they may not use are missing. Names, suggestions, lists and
 * information_schema follow from that. Each view of a catalog is built once.
 */
export class VisibleCatalogs {
  readonly #views = new WeakMap<CatalogSnapshot, Map<string, CatalogSnapshot>>()
  readonly #databasesNamed: (sql: string) => ReadonlySet<string>

  /** @param databasesNamed the databases that the text of a view names, in lower case */
  constructor(databasesNamed: (sql: string) => ReadonlySet<string>) {
    this.#databasesNamed = databasesNamed
  }

  /** @param rights null: everything is seen */
  of(snapshot: CatalogSnapshot, rights: Rights | null): CatalogSnapshot {
    if (rights === null) return snapshot
    const key = JSON.stringify(rights)
    const views = this.#views.get(snapshot) ?? new Map<string, CatalogSnapshot>()
    if (views.size === 0) this.#views.set(snapshot, views)
    const known = views.get(key)
    if (known !== undefined) return known
    if (views.size >= VIEWS_MAX) views.clear()
    const view = visible(snapshot, { rights, key }, this.#databasesNamed)
    views.set(key, view)
    return view
  }
}

/** Shown in place of a view's text that names something its reader may not see. */
export const HIDDEN_VIEW = '-- Hidden: this view reads other projects or databases'

function visible(
  snapshot: CatalogSnapshot,
  limits: NonNullable<CatalogSnapshot['limits']>,
  databasesNamed: (sql: string) => ReadonlySet<string>,
): CatalogSnapshot {
  const { rights } = limits
  if (rights.namespaces === null) return { ...snapshot, limits }
  const isNamed = ({ name }: { readonly name: string }) => sees(rights, name)
  const isInside = ({ projectName }: { readonly projectName: string }) => sees(rights, projectName)
  return {
    ...snapshot,
    limits,
    projects: snapshot.projects.filter(isNamed),
    knowledgeBases: snapshot.knowledgeBases.filter(isInside),
    agents: snapshot.agents.filter(isInside),
    views: snapshot.views.filter(isInside).map((view) => {
      const isOpen = [...databasesNamed(view.sql)].every((name) => sees(rights, name))
      return isOpen ? view : { ...view, sql: HIDDEN_VIEW }
    }),
    tables: snapshot.tables.filter(isInside),
    files: sees(rights, FILES_DATABASE) ? snapshot.files : [],
    dataSources: snapshot.dataSources.filter(isNamed),
  }
}
