import { isDeepStrictEqual } from 'node:util'
import { eq } from 'drizzle-orm'
import { type CatalogSnapshot, findIn } from '../core/domain/access/catalog-snapshot.ts'
import type { Agent, AgentChanges, AgentDraft } from '../core/domain/agents/agent.ts'
import { chunkTables, projectSchema, withNextKeywords } from '../core/domain/document.ts'
import type {
  KnowledgeBase,
  KnowledgeBaseChanges,
  KnowledgeBaseDraft,
  MetadataColumn,
} from '../core/domain/knowledge-base.ts'
import type { Project, View, ViewChanges, ViewDraft } from '../core/domain/names.ts'
import { nameKey, quote } from '../core/domain/names.ts'
import type { Catalog } from '../core/domain/ports/store-ports.ts'
import { notFound } from '../core/errors.ts'
import { timestampOfMillis } from '../core/time.ts'
import { type CatalogQueries, deleteRow, nextId, queriesOver } from './catalog/catalog-queries.ts'
import {
  agentOf,
  keptParams,
  knowledgeBaseOf,
  NOTHING_KEPT,
  projectOf,
  sealedData,
  sealedJson,
  sealedJsonOrNull,
  sealedParamsOf,
  storedParamsOf,
  viewOf,
} from './catalog/catalog-rows.ts'
import {
  checkAgentName,
  checkDatabaseName,
  checkKnowledgeBase,
  checkRelationName,
  currentProject,
  type StoreParts,
  withoutId,
} from './catalog/catalog-state.ts'
import { agents, attachments, knowledgeBases, projects, tables, views } from './catalog/schema.ts'
import { createChunkTables } from './documents/chunk-columns.ts'
import { dropKeywordTables } from './documents/keyword-index.ts'
import type { KeywordLanguages } from './documents/keyword-languages.ts'
import { declareColumns } from './documents/stored-metadata.ts'
import {
  applyEmbeddingChange,
  dropNextVectors,
  hasNoChunks,
  rowOfKnowledgeBase,
} from './documents/stored-vectors.ts'
import { deleteConversationsOf } from './records/stored-conversations.ts'
import { dropSourcesOf } from './records/stored-items.ts'
import { deleteTracesOf } from './records/trace-rows.ts'

const NO_COLUMNS: readonly MetadataColumn[] = []

/** Stores the catalog in DuckDB. Each write is one turn of the write queue. */
export class StoredCatalog implements Catalog {
  readonly #parts: StoreParts
  readonly #languages: KeywordLanguages

  constructor(parts: StoreParts, languages: KeywordLanguages) {
    this.#parts = parts
    this.#languages = languages
  }

  snapshot(): CatalogSnapshot {
    return this.#parts.state.snapshot()
  }

  createProject(name: string): Promise<Project> {
    const { database, state } = this.#parts
    return database.write(
      async (connection) => {
        checkDatabaseName(state.snapshot(), name)
        const queries = queriesOver(connection)
        const id = await nextId(queries, 'project')
        const row = { id, name, nameKey: nameKey(name), ...this.#created() }
        await queries.insert(projects).values(row)
        await connection.run(`CREATE SCHEMA ${quote(projectSchema(id))}`)
        return projectOf(row)
      },
      (project) => state.put('projects', project),
    )
  }

  dropProject(project: Project): Promise<void> {
    const { database, state } = this.#parts
    return database.writeFreeing(
      async (connection) => {
        currentProject(state.snapshot(), project.id, project.name)
        const queries = queriesOver(connection)
        await connection.run(`DROP SCHEMA ${quote(projectSchema(project.id))} CASCADE`)
        const { knowledgeBases: all } = state.snapshot()
        const own = all.filter(({ projectId }) => projectId === project.id)
        await dropSourcesOf(
          connection,
          own.map(({ id }) => id),
        )
        await queries.delete(knowledgeBases).where(eq(knowledgeBases.projectId, project.id))
        await queries.delete(agents).where(eq(agents.projectId, project.id))
        await queries.delete(views).where(eq(views.projectId, project.id))
        await queries.delete(tables).where(eq(tables.projectId, project.id))
        await deleteTracesOf(connection, project.id)
        await deleteConversationsOf(connection, { projectId: project.id })
        await queries.delete(projects).where(eq(projects.id, project.id))
      },
      () => {
        const old = state.snapshot()
        const isElsewhere = (thing: { readonly projectId: number }) =>
          thing.projectId !== project.id
        state.change({
          projects: withoutId(old.projects, project.id),
          knowledgeBases: old.knowledgeBases.filter(isElsewhere),
          agents: old.agents.filter(isElsewhere),
          views: old.views.filter(isElsewhere),
          tables: old.tables.filter(isElsewhere),
        })
      },
    )
  }

  createKnowledgeBase(draft: KnowledgeBaseDraft): Promise<KnowledgeBase> {
    const { database, state, secrets } = this.#parts
    const { remote } = draft
    return database.write(
      async (connection) => {
        const project = currentProject(state.snapshot(), draft.projectId)
        checkKnowledgeBase(state.snapshot(), draft)
        const queries = queriesOver(connection)
        const row = {
          id: await nextId(queries, 'knowledge_base'),
          projectId: project.id,
          name: draft.name,
          nameKey: nameKey(draft.name),
          vectorDatabase: draft.vectorDatabase,
          vectorDatabaseTable: draft.vectorDatabaseTable,
          sealedEmbeddingModel: sealedJson(draft.embeddingModel, secrets),
          sealedRerankingModel: sealedJsonOrNull(draft.rerankingModel, secrets),
          contentColumns: draft.contentColumns,
          metadataColumns: draft.metadataColumns,
          idColumn: draft.idColumn,
          sealedPreprocessing: sealedJson(draft.preprocessing, secrets),
          sealedParams: sealedParamsOf({ ...draft.params, ...NOTHING_KEPT }, secrets),
          dimensions: draft.dimensions,
          storedMetadata: NO_COLUMNS,
          vectorIndex: null,
          sealedNextEmbeddingModel: null,
          vectorsNumber: 0,
          revision: 0,
          nextChunkKey: 1,
          ...this.#created(),
        }
        await createChunkTables(connection, row)
        const storedMetadata = await declareColumns(connection, row, draft.declaredColumns ?? [])
        const created = { ...row, storedMetadata }
        await queries.insert(knowledgeBases).values(created)
        if (remote !== undefined) {
          const attachment = { knowledgeBaseId: row.id, ...remote, revision: 0 }
          await queries.insert(attachments).values(attachment)
        }
        return knowledgeBaseOf(created, { ...draft, projectName: project.name }, secrets)
      },
      (kb) => state.put('knowledgeBases', kb),
    )
  }

  alterKnowledgeBase(kb: KnowledgeBase, changes: KnowledgeBaseChanges): Promise<KnowledgeBase> {
    const { database, state, secrets } = this.#parts
    return database.write(
      async (connection) => {
        const { embeddingModel: _, reembedding: __, ...others } = changes
        const { rerankingModel, preprocessing, params, declaredColumns, ...plain } = others
        const queries = queriesOver(connection)
        const old = await rowOfKnowledgeBase(connection, kb)
        if (old === undefined) throw notFound('knowledge_base', kb.name)
        // Must come first, because it alters chunk tables; see `applyMetadataPlan`.
        const storedMetadata = await declareColumns(connection, old, declaredColumns ?? [])
        await queries
          .update(knowledgeBases)
          .set({
            ...plain,
            storedMetadata,
            ...(await applyEmbeddingChange(connection, kb, changes, secrets)),
            ...(rerankingModel !== undefined && {
              sealedRerankingModel: sealedJsonOrNull(rerankingModel, secrets),
            }),
            ...(preprocessing && { sealedPreprocessing: sealedJson(preprocessing, secrets) }),
            ...(params && {
              sealedParams: sealedParamsOf({ ...params, ...keptParams(old, secrets) }, secrets),
            }),
            updatedAt: this.#now(),
          })
          .where(eq(knowledgeBases.id, kb.id))
        const row = await rowOfKnowledgeBase(connection, kb)
        if (row === undefined) throw notFound('knowledge_base', kb.name)
        return knowledgeBaseOf(row, state.current(kb), secrets)
      },
      (altered) => {
        state.put('knowledgeBases', altered)
        this.#languages.wake(altered)
      },
    )
  }

  async keepCrawlWarnings(kb: KnowledgeBase, crawlWarnings: readonly string[]): Promise<void> {
    const { database, state, secrets } = this.#parts
    const known = state.snapshot().knowledgeBases.find(({ id }) => id === kb.id)
    if (known === undefined || isDeepStrictEqual(known.crawlWarnings, crawlWarnings)) return
    await database.write(
      async (connection) => {
        const queries = queriesOver(connection)
        const isOwn = eq(knowledgeBases.id, kb.id)
        const old = await rowOfKnowledgeBase(connection, kb)
        if (old === undefined) return null
        const params = { ...storedParamsOf(old.sealedParams, secrets), crawlWarnings }
        const sealedParams = sealedParamsOf(params, secrets)
        await queries.update(knowledgeBases).set({ sealedParams }).where(isOwn)
        return knowledgeBaseOf({ ...old, sealedParams }, state.current(kb), secrets)
      },
      (kept) => {
        if (kept !== null) state.put('knowledgeBases', kept)
      },
    )
  }

  async isEmpty(kb: KnowledgeBase): Promise<boolean> {
    return this.#parts.database.lease(async (connection) => {
      await connection.run('BEGIN TRANSACTION READ ONLY')
      if ((await rowOfKnowledgeBase(connection, kb)) === undefined)
        throw notFound('knowledge_base', kb.name)
      const isEmpty = await hasNoChunks(connection, kb)
      await connection.run('COMMIT')
      return isEmpty
    })
  }

  dropKnowledgeBase(kb: KnowledgeBase): Promise<void> {
    const { database, state } = this.#parts
    return database.writeFreeing(
      async (connection) => {
        const dropped = await queriesOver(connection)
          .delete(knowledgeBases)
          .where(eq(knowledgeBases.id, kb.id))
          .returning({ vectorsNumber: knowledgeBases.vectorsNumber })
        const [row] = dropped
        if (row === undefined) throw notFound('knowledge_base', kb.name)
        const ids = { ...kb, ...row }
        await dropSourcesOf(connection, [kb.id])
        await dropNextVectors(connection, ids)
        await connection.run(`DROP TABLE IF EXISTS ${chunkTables(ids).vectors}`)
        await connection.run(`DROP TABLE ${chunkTables(ids).chunks}`)
        await connection.run(`DROP TABLE IF EXISTS ${chunkTables(ids).contexts}`)
        await dropKeywordTables(connection, kb)
        await dropKeywordTables(connection, withNextKeywords(kb))
      },
      () => {
        state.remove('knowledgeBases', kb.id)
      },
    )
  }

  createAgent(draft: AgentDraft): Promise<Agent> {
    const { database, state, secrets } = this.#parts
    return database.write(
      async (connection) => {
        const project = currentProject(state.snapshot(), draft.projectId)
        checkAgentName(state.snapshot(), draft)
        const queries = queriesOver(connection)
        const { model, data, ...plain } = draft
        const row = {
          ...plain,
          data: sealedData(data, secrets),
          id: await nextId(queries, 'agent'),
          nameKey: nameKey(draft.name),
          sealedModel: sealedJsonOrNull(model, secrets),
          ...this.#created(),
        }
        await queries.insert(agents).values(row)
        return agentOf(row, { projectName: project.name, secrets })
      },
      (agent) => state.put('agents', agent),
    )
  }

  alterAgent(agent: Agent, changes: AgentChanges, check?: (stored: Agent) => void): Promise<Agent> {
    const { database, state, secrets } = this.#parts
    return database.write(
      async (connection) => {
        const stored = state.snapshot().agents.find(({ id }) => id === agent.id)
        if (stored === undefined) throw notFound('agent', agent.name)
        check?.(stored)
        const { name, model, data, ...plain } = changes
        if (name !== undefined) checkAgentName(state.snapshot(), { ...agent, name }, agent.id)
        const queries = queriesOver(connection)
        await queries
          .update(agents)
          .set({
            ...plain,
            ...(name !== undefined && { name, nameKey: nameKey(name) }),
            ...(data !== undefined && { data: sealedData(data, secrets) }),
            ...(model !== undefined && { sealedModel: sealedJsonOrNull(model, secrets) }),
            updatedAt: this.#now(),
          })
          .where(eq(agents.id, agent.id))
        const [row] = await queries.select().from(agents).where(eq(agents.id, agent.id))
        if (row === undefined) throw notFound('agent', agent.name)
        return agentOf(row, { projectName: agent.projectName, secrets })
      },
      (altered) => state.put('agents', altered),
    )
  }

  dropAgent(agent: Agent): Promise<void> {
    const { database, state } = this.#parts
    return database.writeFreeing(
      async (connection) => {
        await deleteRow(connection, 'agent', agent)
        await deleteConversationsOf(connection, { agentId: agent.id })
      },
      () => state.remove('agents', agent.id),
    )
  }

  createView(draft: ViewDraft, orReplace = false): Promise<View> {
    const { database, state } = this.#parts
    return database.write(
      async (connection) => {
        const project = currentProject(state.snapshot(), draft.projectId)
        const old = orReplace ? findIn(state.snapshot().views, project, draft.name) : undefined
        if (old !== undefined) return this.#alteredView(queriesOver(connection), old, draft)
        checkRelationName(state.snapshot(), draft)
        const queries = queriesOver(connection)
        const id = await nextId(queries, 'view')
        const row = { ...draft, id, nameKey: nameKey(draft.name), ...this.#created() }
        await queries.insert(views).values(row)
        return viewOf(row, project.name)
      },
      (view) => state.put('views', view),
    )
  }

  alterView(view: View, changes: ViewChanges): Promise<View> {
    const { database, state } = this.#parts
    return database.write(
      (connection) => this.#alteredView(queriesOver(connection), view, changes),
      (altered) => state.put('views', altered),
    )
  }

  async #alteredView(
    queries: CatalogQueries,
    view: View,
    { sql, database, columns }: ViewChanges,
  ): Promise<View> {
    await queries
      .update(views)
      .set({ sql, database, columns, updatedAt: this.#now() })
      .where(eq(views.id, view.id))
    const [row] = await queries.select().from(views).where(eq(views.id, view.id))
    if (row === undefined) throw notFound('view', view.name)
    return viewOf(row, view.projectName)
  }

  dropView(view: View): Promise<void> {
    const { database, state } = this.#parts
    return database.writeFreeing(
      (connection) => deleteRow(connection, 'view', view),
      () => state.remove('views', view.id),
    )
  }

  #now(): string {
    return timestampOfMillis(this.#parts.now())
  }

  #created(): { readonly createdAt: string; readonly updatedAt: string } {
    const now = this.#now()
    return { createdAt: now, updatedAt: now }
  }
}
