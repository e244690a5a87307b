import { requireProject } from '../domain/catalog-snapshot.ts'
import { checkedName } from '../domain/identifier.ts'
import type { View } from '../domain/view.ts'
import { describeSelect } from './describe-select.ts'
import type { QueryDeps } from './query-deps.ts'

export interface NewView {
  readonly project: string
  readonly name: string
  readonly sql: string
  /** The project of names without a qualifier in it. */
  readonly database: string
}

/** @throws AppError `relation_exists`, `invalid_name`, `project_not_found`, and as its SELECT fails */
export async function createView(
  { project, name, sql, database }: NewView,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<View> {
  const { id: projectId } = requireProject(deps.catalog.snapshot(), project)
  checkedName('view', name)
  const columns = await describeSelect({ sql, database }, deps, signal)
  return deps.catalog.createView({ name, projectId, sql, database, columns })
}

export async function alterView(
  view: View,
  { sql, database }: Pick<NewView, 'sql' | 'database'>,
  { deps, signal }: { readonly deps: QueryDeps; readonly signal: AbortSignal },
): Promise<View> {
  const columns = await describeSelect({ sql, database }, deps, signal)
  const altered = await deps.catalog.alterView(view, { sql, database, columns })
  try {
    // Only now it can be seen whether it leads back to itself.
    await describeSelect({ sql, database }, deps, signal)
  } catch (error) {
    await deps.catalog.alterView(altered, view)
    throw error
  }
  return altered
}
