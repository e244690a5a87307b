import { type CatalogSnapshot, requireProject } from '../domain/catalog-snapshot.ts'
import { checkedName, nameKey, quote } from '../domain/identifier.ts'
import type { View } from '../domain/project.ts'
import type { QueryDeps } from './query-deps.ts'
import { describeSelect } from './select/describe-select.ts'
import { nameScope } from './select/name-scope.ts'
import { planSelect } from './select/plan-select.ts'

export interface NewView {
  readonly project: string
  readonly name: string
  readonly sql: string
  /** The project of names without a qualifier in it. */
  readonly database: string
  /** Whether a view of that name gets this definition. */
  readonly orReplace?: boolean
}

/** @throws AppError `relation_exists`, `invalid_name`, `project_not_found`, and as its SELECT fails */
export async function createView(
  { project: projectName, name, sql, database, orReplace = false }: NewView,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<View> {
  const project = requireProject(deps.catalog.snapshot(), projectName)
  const definition = { projectId: project.id, name: checkedName('view', name), sql, database }
  const columns = await describeSelect({ sql, database }, deps, signal)
  await checkReadable({ ...definition, projectName: project.name }, deps)
  return deps.catalog.createView({ ...definition, columns }, orReplace)
}

export async function alterView(
  view: View,
  { sql, database }: Pick<NewView, 'sql' | 'database'>,
  { deps, signal }: { readonly deps: QueryDeps; readonly signal: AbortSignal },
): Promise<View> {
  const columns = await describeSelect({ sql, database }, deps, signal)
  await checkReadable({ ...view, sql, database }, deps)
  return deps.catalog.alterView(view, { sql, database, columns })
}

type Definition = Pick<View, 'projectId' | 'projectName' | 'name' | 'sql' | 'database'>

/**
 * Plans a statement that reads the view as if it were stored: only so it is seen that it leads back to itself, or
 * through too many others.
 */
async function checkReadable(view: Definition, { catalog, engine }: QueryDeps): Promise<void> {
  const names = nameScope(withView(catalog.snapshot(), view), view.projectName)
  await planSelect(`SELECT * FROM ${quote(view.projectName)}.${quote(view.name)}`, names, engine)
}

function withView(snapshot: CatalogSnapshot, view: Definition): CatalogSnapshot {
  const others = snapshot.views.filter((other) => {
    return other.projectId !== view.projectId || nameKey(other.name) !== nameKey(view.name)
  })
  const stored = { ...view, id: 0, columns: [], createdAt: '', updatedAt: '' }
  return { ...snapshot, views: [...others, stored] }
}
