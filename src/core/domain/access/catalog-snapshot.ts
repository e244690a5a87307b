import { AppError, notFound } from '../../errors.ts'
import type { Agent } from '../agents/agent.ts'
import type { Activity } from '../flow/job.ts'
import type { DataSource } from '../flow/source-parameters.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'
import { FILES_DATABASE, nameKey, type Project, type ProjectTable, type View } from '../names.ts'
import { type FileTable, fileTableNamed, type UploadedFile } from '../uploaded-file.ts'
import { type Rights, requireSeen } from './principal.ts'

/** Everything with a name, as of the last committed change. Names ignore case. */
export interface CatalogSnapshot {
  /** Grows with each change: what was derived from another version is stale. */
  readonly version: number
  /** Grows with each change of a definition, and not where only documents of a knowledge base have changed. */
  readonly definitionsVersion: number
  readonly projects: readonly Project[]
  readonly knowledgeBases: readonly KnowledgeBase[]
  readonly agents: readonly Agent[]
  readonly files: readonly UploadedFile[]
  readonly views: readonly View[]
  readonly tables: readonly ProjectTable[]
  /** Running requests, jobs and questions, for tables that show them; unset: not requested. */
  readonly activity?: Activity
  readonly dataSources: readonly DataSource[]
  /** Set if the reader may not see or read everything: what they may not name is left out. */
  readonly limits?: {
    readonly rights: Rights
    /** The same for the same rights. */
    readonly key: string
  }
}

interface Named {
  readonly name: string
}

function findNamed<T extends Named>(things: readonly T[], name: string): T | undefined {
  const key = nameKey(name)
  return things.find((thing) => nameKey(thing.name) === key)
}

/** @throws AppError `forbidden` for names outside of the snapshot's limits */
export function findProject(snapshot: CatalogSnapshot, name: string): Project | undefined {
  requireSeen(snapshot.limits?.rights, name)
  return findNamed(snapshot.projects, name)
}

export function knowledgeBasesOf(
  snapshot: CatalogSnapshot,
  project: Project,
): readonly KnowledgeBase[] {
  return snapshot.knowledgeBases.filter((kb) => kb.projectId === project.id)
}

export function agentsOf(snapshot: CatalogSnapshot, project: Project): readonly Agent[] {
  return snapshot.agents.filter((agent) => agent.projectId === project.id)
}

export function viewsOf(snapshot: CatalogSnapshot, project: Project): readonly View[] {
  return snapshot.views.filter((view) => view.projectId === project.id)
}

export function projectTables(
  snapshot: CatalogSnapshot,
  project: Project,
): readonly ProjectTable[] {
  return snapshot.tables.filter((table) => table.projectId === project.id)
}

export function findView(
  snapshot: CatalogSnapshot,
  project: Project,
  name: string,
): View | undefined {
  return findNamed(viewsOf(snapshot, project), name)
}

export function findTable(
  snapshot: CatalogSnapshot,
  project: Project,
  name: string,
): ProjectTable | undefined {
  return findNamed(projectTables(snapshot, project), name)
}

export function findKnowledgeBase(
  snapshot: CatalogSnapshot,
  project: Project,
  name: string,
): KnowledgeBase | undefined {
  return findNamed(knowledgeBasesOf(snapshot, project), name)
}

export function findAgent(
  snapshot: CatalogSnapshot,
  project: Project,
  name: string,
): Agent | undefined {
  return findNamed(agentsOf(snapshot, project), name)
}

/** @throws AppError `forbidden` for names outside of the snapshot's limits */
export function findDataSource(snapshot: CatalogSnapshot, name: string): DataSource | undefined {
  requireSeen(snapshot.limits?.rights, name)
  return seenDataSource(snapshot, name)
}

/** The same for a name that may belong to no database. */
export function seenDataSource(snapshot: CatalogSnapshot, name: string): DataSource | undefined {
  return findNamed(snapshot.dataSources, name)
}

/**
 * What `context.db` may name: a project, `files` or a data source, in its own case.
 * @throws AppError `project_not_found`
 */
export function requireDatabase(snapshot: CatalogSnapshot, name: string): string {
  requireSeen(snapshot.limits?.rights, name)
  if (nameKey(name) === FILES_DATABASE) return FILES_DATABASE
  const found = findProject(snapshot, name) ?? findDataSource(snapshot, name)
  if (found !== undefined) return found.name
  throw notFound('project', name)
}

/** By its whole name, or without its ending. @throws AppError `file_ambiguous` */
export function findFile(snapshot: CatalogSnapshot, name: string): UploadedFile | undefined {
  const table = findFileTable(snapshot, name)
  return table?.index === 0 ? table.file : undefined
}

/** The same for a table of a file; sheets have their own names. @throws AppError `file_ambiguous` */
export function findFileTable(snapshot: CatalogSnapshot, name: string): FileTable | undefined {
  return fileTableNamed(snapshot.files, name)
}

/** @throws AppError `project_not_found` */
export function requireProject(snapshot: CatalogSnapshot, name: string): Project {
  const project = findProject(snapshot, name)
  if (project !== undefined) return project
  const source = findDataSource(snapshot, name)
  if (source === undefined) throw notFound('project', name)
  const why = `${source.name} is a connected database, which is only read; name a project`
  throw new AppError('project_not_found', `${notFound('project', name).message}: ${why}`)
}

/** @throws AppError `sql_not_supported` for the name of a data source */
export function refuseToWrite(snapshot: CatalogSnapshot, name: string): void {
  const source = findDataSource(snapshot, name)
  if (source === undefined) return
  const copy = `CREATE TABLE … AS SELECT … FROM ${source.name}.…`
  const message = `Database ${source.name} is read only here: change its tables with a client of its own, or copy rows into a project with ${copy}`
  throw new AppError('sql_not_supported', message)
}

/** @throws AppError `project_not_found`, `knowledge_base_not_found` */
export function requireKnowledgeBase(
  snapshot: CatalogSnapshot,
  projectName: string,
  name: string,
): KnowledgeBase {
  const kb = findKnowledgeBase(snapshot, requireProject(snapshot, projectName), name)
  if (kb !== undefined) return kb
  throw notFound('knowledge_base', name)
}

/** @throws AppError `project_not_found`, `agent_not_found` */
export function requireAgent(snapshot: CatalogSnapshot, projectName: string, name: string): Agent {
  const agent = findAgent(snapshot, requireProject(snapshot, projectName), name)
  if (agent !== undefined) return agent
  throw notFound('agent', name)
}

/** @throws AppError `project_not_found`, `view_not_found` */
export function requireView(snapshot: CatalogSnapshot, projectName: string, name: string): View {
  const view = findView(snapshot, requireProject(snapshot, projectName), name)
  if (view !== undefined) return view
  throw notFound('view', name)
}

/** @throws AppError `database_not_found` */
export function requireDataSource(snapshot: CatalogSnapshot, name: string): DataSource {
  const source = findDataSource(snapshot, name)
  if (source !== undefined) return source
  throw notFound('database', name)
}

/** @throws AppError `file_not_found`, `file_ambiguous` */
export function requireFile(snapshot: CatalogSnapshot, name: string): UploadedFile {
  const file = findFile(snapshot, name)
  if (file !== undefined) return file
  throw notFound('file', name)
}

/** @throws AppError `file_not_found`, `file_ambiguous` */
export function requireFileTable(snapshot: CatalogSnapshot, name: string): FileTable {
  const table = findFileTable(snapshot, name)
  if (table !== undefined) return table
  throw notFound('file', name)
}

/** Whether all its rows are here. */
export function isHere({ remote }: Pick<KnowledgeBase, 'remote'>): boolean {
  return remote?.isCopied !== false
}

/** For what needs all rows. @throws AppError `sql_too_costly` where they are not copied to here */
export function requireHere(
  kb: Pick<KnowledgeBase, 'name' | 'vectorDatabase' | 'vectorDatabaseTable' | 'remote'>,
): void {
  if (isHere(kb)) return
  const { name, vectorDatabase, vectorDatabaseTable } = kb
  const why = `it needs all rows of ${name}, which this server has no copy of`
  const storage = JSON.stringify({ database: vectorDatabase, table: vectorDatabaseTable })
  const attach = `CREATE KNOWLEDGE_BASE … USING storage = ${storage}, attach = true`
  const how = `search with a LIMIT, or make a copy under another name: ${attach}`
  throw new AppError('sql_too_costly', `Not without a copy: ${why}; ${how}`)
}
