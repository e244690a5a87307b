import { checkedName } from '../../core/domain/identifier.ts'
import { DEFAULT_PROJECT, FILES_DATABASE, type Project } from '../../core/domain/project.ts'
import { AppError } from '../../core/errors.ts'
import type { CatalogDeps } from './catalog-deps.ts'

/** Names that mean something else in SQL, so no database may have them. */
const RESERVED_NAMES = new Set([
  FILES_DATABASE,
  'information_schema',
  'log',
  'main',
  'temp',
  'system',
])

/** @throws AppError `invalid_name`, `project_exists`, `database_exists` */
export async function createProject(name: string, deps: CatalogDeps): Promise<Project> {
  checkedName('project', name)
  checkReserved(name)
  return deps.catalog.createProject(name)
}

/** @throws AppError `invalid_name` for what neither a project nor a data source may be called */
export function checkReserved(name: string): void {
  if (!RESERVED_NAMES.has(name.toLowerCase())) return
  throw new AppError('invalid_name', `The name "${name}" is reserved; choose another one`)
}

/** Drops the project with its knowledge bases and agents. @throws AppError `project_not_deletable` */
export async function dropProject(project: Project, deps: CatalogDeps): Promise<void> {
  if (project.name === DEFAULT_PROJECT) {
    throw new AppError('project_not_deletable', `Project ${project.name} cannot be deleted`)
  }
  await deps.catalog.dropProject(project)
}
