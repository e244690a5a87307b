import { AppError, type Named, notFound } from '../../errors.ts'
import type { Agent } from '../agents/agent.ts'
import type { Activity, Job } from '../flow/job.ts'
import type { DataSource } from '../flow/source-parameters.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'
import { FILES_DATABASE, nameKey, type Project, type ProjectTable, type View } from '../names.ts'
import { type FileTable, fileTableNamed, type UploadedFile } from '../uploaded-file.ts'
import { type Rights, requireSeen } from './principal.ts'

/** All named definitions as of the last committed change. Names ignore case. */
export interface CatalogSnapshot {
  /** Increases with every change, so anything derived from an older version is stale. */
  readonly version: number
  /** Increases when a definition changes, but not when only a knowledge base's documents change. */
  readonly definitionsVersion: number
  readonly projects: readonly Project[]
  readonly knowledgeBases: readonly KnowledgeBase[]
  readonly agents: readonly Agent[]
  readonly files: readonly UploadedFile[]
  readonly views: readonly View[]
  readonly tables: readonly ProjectTable[]
  /** Running requests, jobs and questions for tables that list them; unset if not requested. */
  readonly activity?: Activity
  readonly dataSources: readonly DataSource[]
  /** Set if the reader has limited rights: names the reader may not use are left out. */
  readonly limits?: {
    readonly rights: Rights
    /** Equal for readers with the same rights. */
    readonly key: string
  }
}

interface InProject extends Named {
  readonly projectId: number
}

function findNamed<T extends Named>(things: readonly T[], name: string): T | undefined {
  const key = nameKey(name)
  return things.find((thing) => nameKey(thing.name) === key)
}

/** @throws AppError `forbidden` for a name the reader may not use */
export function findProject(snapshot: CatalogSnapshot, name: string): Project | undefined {
  requireSeen(snapshot.limits?.rights, name)
  return findNamed(snapshot.projects, name)
}

/** A project's own knowledge bases, agents, views or tables, of those of all projects. */
export function ofProject<T extends InProject>(things: readonly T[], project: Project) {
  return things.filter(({ projectId }) => projectId === project.id)
}

export function findIn<T extends InProject>(things: readonly T[], project: Project, name: string) {
  return findNamed(ofProject(things, project), name)
}

/** Like `findIn`, in a project that may not exist. */
export function findQualified<T extends InProject>(
  snapshot: CatalogSnapshot,
  things: readonly T[],
  projectName: string,
  name: string,
): T | undefined {
  const project = findProject(snapshot, projectName)
  return project && findIn(things, project, name)
}

/** @throws AppError `forbidden` for a name the reader may not use */
export function findDataSource(snapshot: CatalogSnapshot, name: string): DataSource | undefined {
  requireSeen(snapshot.limits?.rights, name)
  return seenDataSource(snapshot, name)
}

/** Like `findDataSource`, but returns undefined instead of throwing. */
export function seenDataSource(snapshot: CatalogSnapshot, name: string): DataSource | undefined {
  return findNamed(snapshot.dataSources, name)
}

/** A project, `files` or a data source, as stored. @throws AppError `project_not_found` */
export function requireDatabase(snapshot: CatalogSnapshot, name: string): string {
  requireSeen(snapshot.limits?.rights, name)
  if (nameKey(name) === FILES_DATABASE) return FILES_DATABASE
  const found = findProject(snapshot, name) ?? findDataSource(snapshot, name)
  if (found !== undefined) return found.name
  throw notFound('project', name, [...snapshot.projects, ...snapshot.dataSources])
}

/** Finds a file by its full name or without its extension. @throws AppError `file_ambiguous` */
export function findFile(snapshot: CatalogSnapshot, name: string): UploadedFile | undefined {
  const table = findFileTable(snapshot, name)
  return table?.index === 0 ? table.file : undefined
}

/** A table; each sheet has its own name. @throws AppError `file_ambiguous` */
export function findFileTable(snapshot: CatalogSnapshot, name: string): FileTable | undefined {
  return fileTableNamed(snapshot.files, name)
}

/** @throws AppError `project_not_found` */
export function requireProject(snapshot: CatalogSnapshot, name: string): Project {
  const project = findProject(snapshot, name)
  if (project !== undefined) return project
  const source = findDataSource(snapshot, name)
  if (source === undefined) throw notFound('project', name, snapshot.projects)
  const why = `${source.name} is a connected database, which is read-only; use a project`
  throw new AppError('project_not_found', `${notFound('project', name).message}: ${why}`)
}

/** Data sources are read-only. @throws AppError `sql_not_supported` if `name` is one */
export function refuseToWrite(snapshot: CatalogSnapshot, name: string): void {
  const source = findDataSource(snapshot, name)
  if (source === undefined) return
  const copy = `CREATE TABLE … AS SELECT … FROM ${source.name}.…`
  const message = `Database ${source.name} is read-only here: change its tables with another client, or copy rows into a project with ${copy}`
  throw new AppError('sql_not_supported', message)
}

/** @throws AppError `project_not_found`, `knowledge_base_not_found` */
export function requireKnowledgeBase(
  snapshot: CatalogSnapshot,
  projectName: string,
  name: string,
): KnowledgeBase {
  const known = ofProject(snapshot.knowledgeBases, requireProject(snapshot, projectName))
  return required('knowledge_base', findNamed(known, name), name, known)
}

/** The knowledge base of a job's request. @throws AppError if it was dropped, even if replaced */
export function requireJobTarget(
  snapshot: CatalogSnapshot,
  { projectName, knowledgeBase }: Pick<Job, 'projectName' | 'knowledgeBase'>,
  id: number,
): KnowledgeBase {
  const kb = requireKnowledgeBase(snapshot, projectName, knowledgeBase ?? '')
  if (kb.id !== id) throw notFound('knowledge_base', kb.name)
  return kb
}

/** @throws AppError `project_not_found`, `agent_not_found` */
export function requireAgent(snapshot: CatalogSnapshot, projectName: string, name: string): Agent {
  const known = ofProject(snapshot.agents, requireProject(snapshot, projectName))
  return required('agent', findNamed(known, name), name, known)
}

/** @throws AppError `project_not_found`, `view_not_found` */
export function requireView(snapshot: CatalogSnapshot, projectName: string, name: string): View {
  const known = ofProject(snapshot.views, requireProject(snapshot, projectName))
  return required('view', findNamed(known, name), name, known)
}

/** @throws AppError `database_not_found` */
export function requireDataSource(snapshot: CatalogSnapshot, name: string): DataSource {
  return required('database', findDataSource(snapshot, name), name, snapshot.dataSources)
}

/** @throws AppError `file_not_found`, `file_ambiguous` */
export function requireFile(snapshot: CatalogSnapshot, name: string): UploadedFile {
  return required('file', findFile(snapshot, name), name, snapshot.files)
}

/** @throws AppError `file_not_found`, `file_ambiguous` */
export function requireFileTable(snapshot: CatalogSnapshot, name: string): FileTable {
  return required('file', findFileTable(snapshot, name), name, snapshot.files)
}

/** @throws AppError such as `view_not_found` */
function required<T>(
  kind: Parameters<typeof notFound>[0],
  found: T | undefined,
  name: string,
  known: readonly Named[],
): T {
  if (found === undefined) throw notFound(kind, name, known)
  return found
}

/** Whether all rows of the knowledge base are stored locally. */
export function isHere({ remote }: Pick<KnowledgeBase, 'remote'>): boolean {
  return remote?.isCopied !== false
}

/** Call before work that needs all rows. @throws AppError `sql_too_costly` if they are not local */
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
