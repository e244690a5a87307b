import { asc, eq, sql } from 'drizzle-orm'
import { AppError, StartError } from '../../errors.ts'
import type { Database } from '../duckdb/database.ts'
import { agentOf, fileOf, knowledgeBaseOf, projectOf, tableOf, viewOf } from './catalog-rows.ts'
import { CatalogState } from './catalog-state.ts'
import { type CatalogQueries, queriesOver } from './drizzle.ts'
import {
  agents,
  counters,
  files,
  keyCheck,
  knowledgeBases,
  projects,
  tables,
  views,
} from './schema.ts'
import type { Secrets } from './secrets.ts'

const KEY_CHECK_TEXT = 'eider'

/**
 * Reads the whole catalog. @throws StartError when the key file is not the one that the data was
 * sealed with
 */
export async function loadCatalog(database: Database, secrets: Secrets): Promise<CatalogState> {
  await database.write((connection) => checkKey(queriesOver(connection), secrets))
  return database.lease(async (connection) => {
    const queries = queriesOver(connection)
    const projectRows = await queries.select().from(projects).orderBy(asc(projects.id))
    const names = new Map(projectRows.map((row) => [row.id, row.name]))
    const contextOf = (row: { readonly projectId: number }) => {
      const projectName = names.get(row.projectId)
      if (projectName === undefined) throw new Error(`project ${row.projectId} is missing`)
      return { projectName, secrets }
    }
    const kbRows = await queries.select().from(knowledgeBases).orderBy(asc(knowledgeBases.id))
    const agentRows = await queries.select().from(agents).orderBy(asc(agents.id))
    const viewRows = await queries.select().from(views).orderBy(asc(views.id))
    const tableRows = await queries.select().from(tables).orderBy(asc(tables.id))
    const fileRows = await queries.select().from(files).orderBy(asc(files.id))
    return new CatalogState({
      projects: projectRows.map(projectOf),
      knowledgeBases: kbRows.map((row) => knowledgeBaseOf(row, contextOf(row))),
      agents: agentRows.map((row) => agentOf(row, contextOf(row))),
      files: fileRows.map(fileOf),
      views: viewRows.map((row) => viewOf(row, contextOf(row).projectName)),
      tables: tableRows.map((row) => tableOf(row, contextOf(row).projectName)),
    })
  })
}

async function checkKey(queries: CatalogQueries, secrets: Secrets): Promise<void> {
  const [row] = await queries.select().from(keyCheck)
  if (row === undefined) {
    await queries.insert(keyCheck).values({ id: 1, sealed: secrets.seal(KEY_CHECK_TEXT) })
    return
  }
  try {
    if (secrets.open(row.sealed) === KEY_CHECK_TEXT) return
  } catch (error) {
    const advice = 'put eider.key back from the backup that the data comes from'
    throw new StartError(`The key file does not fit the data: ${advice}`, error)
  }
  throw new AppError('internal', 'The key check of the catalog is damaged')
}

/** A number that no other thing of this kind has or ever had. Only within a write. */
export async function nextId(
  queries: CatalogQueries,
  kind: 'project' | 'knowledge_base' | 'agent' | 'file' | 'view' | 'table',
): Promise<number> {
  const [row] = await queries
    .update(counters)
    .set({ nextValue: sql`next_value + 1` })
    .where(eq(counters.name, kind))
    .returning({ next: counters.nextValue })
  if (row === undefined) throw new Error(`no counter for ${kind}`)
  return row.next - 1
}
