import { afterEach, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { requireAgent, requireProject } from '../../src/core/domain/access/catalog-snapshot.ts'
import type { AgentDraft } from '../../src/core/domain/agents/agent.ts'
import { shownParams } from '../../src/core/domain/knowledge-base.ts'
import { DEFAULT_PROJECT } from '../../src/core/domain/names.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { each, newFile } from '../support/direct-reading.ts'
import {
  current,
  documentOf,
  draftOf,
  failureOf,
  openMemoryStore,
  temporaryFolder,
} from '../support/store-fixture.ts'

let store: Store

beforeEach(async () => {
  store = await openMemoryStore()
})

afterEach(() => store.close())

const AGENT: AgentDraft = {
  name: 'Guide',
  projectId: 1,
  model: { provider: 'openai', modelName: 'm', apiKey: 'sk-agent', options: { a: [1] } },
  data: { knowledgeBases: ['mindsdb.kb'], tables: [] },
  promptTemplate: null,
  params: { timeoutSeconds: 3 },
}

test('a new store has the default project and nothing else', () => {
  const { projects, knowledgeBases, agents, files } = store.catalog.snapshot()
  expect(projects.map((project) => project.name)).toEqual([DEFAULT_PROJECT])
  expect([...knowledgeBases, ...agents, ...files]).toEqual([])
})

test('the snapshot is frozen at every depth and its version grows with each change', async () => {
  const before = store.catalog.snapshot()
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  const after = store.catalog.snapshot()
  expect(after.version).toBeGreaterThan(before.version)
  expect(before.knowledgeBases).toEqual([])
  expect(Object.isFrozen(after.knowledgeBases)).toBe(true)
  expect(Object.isFrozen(current(store).embeddingModel.options)).toBe(true)
})

test('names are compared without case, and the spelling of the first one stays', async () => {
  await store.catalog.createProject('Sales')
  expect(await failureOf(store.catalog.createProject('SALES'))).toEqual({
    code: 'project_exists',
    message: 'Project with name SALES already exists',
  })
  await store.catalog.createKnowledgeBase(draftOf('Kb'))
  const second = store.catalog.createKnowledgeBase(draftOf('kB'))
  expect((await failureOf(second)).code).toBe('knowledge_base_exists')
  expect(requireProject(store.catalog.snapshot(), 'sales').name).toBe('Sales')
})

test('of concurrent creations of one name exactly one succeeds', async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, () => failureOf(store.catalog.createKnowledgeBase(draftOf('kb')))),
  )
  const codes = outcomes.map(({ code }) => code).sort()
  expect(codes).toEqual([...Array(7).fill('knowledge_base_exists'), 'none'])
  expect(store.catalog.snapshot().knowledgeBases).toHaveLength(1)
})

test('knowledge bases of one name in two projects share nothing', async () => {
  const other = await store.catalog.createProject('other')
  const one = await store.catalog.createKnowledgeBase(draftOf('kb'))
  const two = await store.catalog.createKnowledgeBase(draftOf('kb', other.id))
  await store.chunks.replaceDocuments(one, [documentOf({ id: 'a', texts: ['x'] })])
  expect(await store.chunks.chunkCount(two)).toBe(0)
  await store.catalog.dropKnowledgeBase(two)
  expect(await store.chunks.chunkCount(one)).toBe(1)
})

test('names that look like SQL are names', async () => {
  const name = `"; DROP SCHEMA eider CASCADE; -- '🦆`
  const project = await store.catalog.createProject(name)
  const kb = await store.catalog.createKnowledgeBase(draftOf(name, project.id))
  await store.chunks.replaceDocuments(kb, [
    documentOf({ id: name, texts: [name], metadata: { [name]: name } }),
  ])
  expect(current(store, name, name).storedMetadata.map((column) => column.name)).toEqual([name])
  await store.catalog.dropKnowledgeBase(kb)
  await store.catalog.dropProject(project)
  expect(store.catalog.snapshot().projects).toHaveLength(1)
})

test('the id of a dropped knowledge base is never reused', async () => {
  const first = await store.catalog.createKnowledgeBase(draftOf('kb'))
  await store.chunks.replaceDocuments(first, [documentOf({ id: 'a', texts: ['x'] })])
  await store.catalog.dropKnowledgeBase(first)
  const second = await store.catalog.createKnowledgeBase(draftOf('kb'))
  expect(second.id).toBeGreaterThan(first.id)
  expect(await store.chunks.chunkCount(second)).toBe(0)
})

test('an explicit storage serves one knowledge base; the default one conflicts with nothing', async () => {
  const storage = { vectorDatabase: 'shop', vectorDatabaseTable: 'Items' }
  await store.catalog.createKnowledgeBase({ ...draftOf('one'), ...storage })
  const sameStorage = { vectorDatabase: 'SHOP', vectorDatabaseTable: 'items' }
  const second = store.catalog.createKnowledgeBase({ ...draftOf('two'), ...sameStorage })
  expect(await failureOf(second)).toEqual({
    code: 'storage_in_use',
    message: 'Storage SHOP.items is used by knowledge base mindsdb.one',
  })
  expect((await store.catalog.createKnowledgeBase(draftOf('two'))).name).toBe('two')
})

test('an altered knowledge base keeps the fields that were not sent', async () => {
  const kb = await store.catalog.createKnowledgeBase({
    ...draftOf('kb'),
    rerankingModel: { provider: 'openai', modelName: 'r', options: {} },
    contentColumns: ['text'],
  })
  const altered = await store.catalog.alterKnowledgeBase(kb, {
    rerankingModel: null,
    idColumn: 'n',
  })
  expect(altered).toEqual({
    ...kb,
    rerankingModel: null,
    idColumn: 'n',
    updatedAt: altered.updatedAt,
  })
  expect(current(store)).toEqual(altered)
})

test('the notes of a crawl are kept with the params until the next crawl', async () => {
  using folder = temporaryFolder()
  const first = await openStore({ directory: folder.path })
  const kb = await first.catalog.createKnowledgeBase({ ...draftOf('kb'), params: { a: 1 } })
  await first.catalog.keepCrawlWarnings(kb, ['2 pages were not stored'])
  // `kb` is the earlier state: only its params are written.
  await first.catalog.alterKnowledgeBase(kb, { params: { a: 2 } })
  expect(current(first)).toMatchObject({ params: { a: 2 } })
  expect(shownParams(current(first))).toEqual({ a: 2, warnings: ['2 pages were not stored'] })
  await first.close()

  const second = await openStore({ directory: folder.path })
  expect(current(second).crawlWarnings).toEqual(['2 pages were not stored'])
  await second.catalog.keepCrawlWarnings(kb, [])
  expect(shownParams(current(second))).toEqual({ a: 2 })
  await second.catalog.dropKnowledgeBase(kb)
  await second.catalog.keepCrawlWarnings(kb, ['too late'])
  await second.close()
})

test('a dropped project takes everything in it along', async () => {
  const project = await store.catalog.createProject('gone')
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb', project.id))
  await store.catalog.createAgent({ ...AGENT, projectId: project.id })
  await store.catalog.dropProject(project)
  const { projects, knowledgeBases, agents } = store.catalog.snapshot()
  expect([projects.length, knowledgeBases.length, agents.length]).toEqual([1, 0, 0])
  expect((await failureOf(store.chunks.chunkCount(kb))).code).toBe('knowledge_base_not_found')
  const late = store.catalog.createKnowledgeBase(draftOf('late', project.id))
  expect((await failureOf(late)).code).toBe('project_not_found')
  expect((await failureOf(store.catalog.dropProject(project))).code).toBe('project_not_found')
})

test('an agent is renamed to its own name in another case, but not to that of another', async () => {
  const agent = await store.catalog.createAgent(AGENT)
  await store.catalog.createAgent({ ...AGENT, name: 'Other' })
  const renamed = await store.catalog.alterAgent(agent, { name: 'GUIDE', model: null })
  expect([renamed.name, renamed.model, renamed.params]).toEqual(['GUIDE', null, AGENT.params])
  const taken = store.catalog.alterAgent(renamed, { name: 'other' })
  expect((await failureOf(taken)).code).toBe('agent_exists')
  await store.catalog.dropAgent(renamed)
  expect((await failureOf(store.catalog.dropAgent(renamed))).code).toBe('agent_not_found')
})

test('a restart brings the same catalog back', async () => {
  using folder = temporaryFolder()
  const first = await openStore({ directory: folder.path })
  await first.catalog.createKnowledgeBase({ ...draftOf('kb'), params: { warnings: ['w'] } })
  const kb = current(first)
  await first.chunks.replaceDocuments(kb, [
    documentOf({ id: 'a', texts: ['x'], metadata: { price: 1 } }),
  ])
  await first.catalog.createAgent(AGENT)
  const file = newFile({ name: 'f', format: 'text' })
  await first.files.importRows(file, each([{ text: 'hello' }]), new AbortController().signal)
  const { version: _, definitionsVersion: _d, ...before } = first.catalog.snapshot()
  const signingKey = first.secrets.signingKey()
  await first.close()

  const second = await openStore({ directory: folder.path })
  const { version: __, definitionsVersion: __d, ...after } = second.catalog.snapshot()
  expect(after).toEqual(before)
  expect(requireAgent(second.catalog.snapshot(), 'mindsdb', 'guide').model?.apiKey).toBe('sk-agent')
  expect(second.secrets.signingKey()).toEqual(signingKey)
  expect(await second.chunks.chunkCount(kb)).toBe(1)
  await second.close()
})

test('a folder from an older version in which a knowledge base and an agent share a name still opens', async () => {
  using folder = temporaryFolder()
  const first = await openStore({ directory: folder.path })
  await first.catalog.createKnowledgeBase(draftOf('kb'))
  await first.catalog.createAgent(AGENT)
  await first.close()
  const instance = await DuckDBInstance.create(join(folder.path, 'eider-data.duckdb'))
  const connection = await instance.connect()
  await connection.run("UPDATE eider.agents SET name = 'KB', name_key = 'kb'")
  connection.closeSync()
  instance.closeSync()

  const second = await openStore({ directory: folder.path })
  const agent = requireAgent(second.catalog.snapshot(), 'mindsdb', 'kb')
  const altered = await second.catalog.alterAgent(agent, { name: 'Kb', promptTemplate: 'p' })
  expect([altered.name, current(second).name]).toEqual(['Kb', 'kb'])
  await second.catalog.dropKnowledgeBase(current(second))
  await second.close()
})

test("writes do not change a knowledge base's definition, except for its first metadata", async () => {
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  const versions = () => store.catalog.snapshot()
  const before = versions()
  await store.chunks.replaceDocuments(kb, [
    documentOf({ id: 'a', texts: ['x'], metadata: { n: 1 } }),
  ])
  const first = versions()
  await store.chunks.replaceDocuments(kb, [
    documentOf({ id: 'b', texts: ['y'], metadata: { n: 2 } }),
  ])
  const second = versions()
  expect(first.definitionsVersion).toBeGreaterThan(before.definitionsVersion)
  expect(second.definitionsVersion).toBe(first.definitionsVersion)
  expect(second.version).toBeGreaterThan(first.version)
})
