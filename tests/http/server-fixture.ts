/** A server with fakes: an in-memory catalog, and statements and agents that a test scripts. */
import type { Answer } from '../../src/agents/questions/completion-stream.ts'
import type { ServerDeps } from '../../src/api/http/request/route-context.ts'
import type { LogEntry, LoggedError } from '../../src/api/http/request/running-requests.ts'
import type { Operations } from '../../src/api/http/routes/operation.ts'
import { createServer, type Server } from '../../src/api/http/server.ts'
import type { CatalogSnapshot } from '../../src/core/domain/access/catalog-snapshot.ts'
import type { Agent } from '../../src/core/domain/agents/agent.ts'
import type { CompletionEvent } from '../../src/core/domain/agents/completion-event.ts'
import { NO_ACTIVITY } from '../../src/core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type { Project } from '../../src/core/domain/names.ts'
import type { TraceStore } from '../../src/core/domain/ports/conversation-ports.ts'
import { NOTHING_NOTED } from '../../src/core/domain/ports/engine-ports.ts'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import type { Catalog } from '../../src/core/domain/ports/store-ports.ts'
import { rowsOf } from '../../src/core/domain/query-result.ts'
import { PLAIN_FILE, type UploadedFile } from '../../src/core/domain/uploaded-file.ts'
import { AppError } from '../../src/core/errors.ts'
import { parsedJson } from '../../src/core/json.ts'
import type { UploadRequest } from '../../src/ingest/pipeline/upload-files.ts'
import type { InsertRequest } from '../../src/ingest/sources/insert-request.ts'
import { JobRunner } from '../../src/ops/jobs/job-runner.ts'
import { FileContents } from '../../src/store/tables/file-contents.ts'
import {
  NO_DOCUMENTS,
  NO_REEMBEDDINGS,
  NO_SOURCES,
  NO_STORAGES,
  noDocument,
} from '../support/absent-parts.ts'
import { NO_AUDIT, NO_KEYS, NO_USERS } from '../support/access-keys.ts'
import { fakeSources } from '../support/fake-sources.ts'
import { holdAnswer } from '../support/held-answers.ts'

export const NOW_MS = Date.UTC(2026, 3, 30, 12, 0, 0)
const STAMP = '2026-04-30 12:00:00.000000'
const UNCITED = { citations: [], evidence: 'answer', warnings: [] } as const

export function fakeCatalog(): Catalog {
  let snapshot: CatalogSnapshot = {
    version: 1,
    definitionsVersion: 1,
    projects: [{ id: 1, name: 'mindsdb', createdAt: STAMP, updatedAt: STAMP }],
    knowledgeBases: [],
    agents: [],
    files: [],
    views: [],
    tables: [],
    dataSources: [],
  }
  let lastId = 1
  const times = { createdAt: STAMP, updatedAt: STAMP }
  const change = (changes: Partial<CatalogSnapshot>) => {
    snapshot = { ...snapshot, ...changes, version: snapshot.version + 1 }
  }
  const projectName = (id: number) => snapshot.projects.find((one) => one.id === id)?.name ?? ''
  return {
    snapshot: () => snapshot,
    async createProject(name) {
      if (snapshot.projects.some((one) => one.name === name)) {
        throw new AppError('project_exists', `Project with name ${name} already exists`)
      }
      const project: Project = { id: ++lastId, name, ...times }
      change({ projects: [...snapshot.projects, project] })
      return project
    },
    async dropProject(project) {
      change({ projects: snapshot.projects.filter((one) => one.id !== project.id) })
    },
    async createKnowledgeBase(draft) {
      const kb: KnowledgeBase = {
        ...draft,
        id: ++lastId,
        projectName: projectName(draft.projectId),
        search: { isHybrid: false, alpha: null, fusion: 'convex', hasFeedback: false },
        language: 'english',
        nextLanguage: null,
        hasOlderTerms: false,
        isLanguageKnown: false,
        crawlWarnings: [],
        storedMetadata: [],
        vectorIndex: null,
        vectorsNumber: 0,
        nextEmbeddingModel: null,
        revision: 0,
        ...times,
      }
      change({ knowledgeBases: [...snapshot.knowledgeBases, kb] })
      return kb
    },
    async alterKnowledgeBase(kb, changes) {
      const altered = { ...kb, ...changes }
      const others = snapshot.knowledgeBases.filter((one) => one.id !== kb.id)
      change({ knowledgeBases: [...others, altered] })
      return altered
    },
    async keepCrawlWarnings() {},
    isEmpty: async () => true,
    async dropKnowledgeBase(kb) {
      change({ knowledgeBases: snapshot.knowledgeBases.filter((one) => one.id !== kb.id) })
    },
    async createAgent(draft) {
      const projectOf = projectName(draft.projectId)
      const agent: Agent = { ...draft, id: ++lastId, projectName: projectOf, ...times }
      change({ agents: [...snapshot.agents, agent] })
      return agent
    },
    async alterAgent(agent, changes) {
      const altered = { ...agent, ...changes }
      change({ agents: [...snapshot.agents.filter((one) => one.id !== agent.id), altered] })
      return altered
    },
    async dropAgent(agent) {
      change({ agents: snapshot.agents.filter((one) => one.id !== agent.id) })
    },
    async createView(draft) {
      const view = { ...draft, id: ++lastId, projectName: projectName(draft.projectId), ...times }
      change({ views: [...snapshot.views, view] })
      return view
    },
    async alterView(view, changes) {
      const altered = { ...view, ...changes }
      const others = snapshot.views.filter((one) => one.id !== view.id)
      change({ views: [...others, altered] })
      return altered
    },
    async dropView(view) {
      change({ views: snapshot.views.filter((one) => one.id !== view.id) })
    },
  }
}

const EMBEDDERS: EmbedderRegistry = {
  providers: ['builtin', 'openai'],
  embedder: () => ({ embed: async (texts) => texts.map(() => new Float32Array([1, 0])) }),
  async probe(ref) {
    if (!['builtin', 'openai'].includes(ref.provider)) {
      throw new AppError('unknown_provider', `Unknown provider ${ref.provider}`)
    }
    return { kind: 'ready', dimensions: 2 }
  },
}

export const TRACE_ID = '8a8f6f0e-52a1-4a6f-9f43-7b5f5f3b1c55'

export async function* answerEvents(question: string): AsyncGenerator<CompletionEvent> {
  const trace_id = TRACE_ID
  const action = { tool: 'kb_list_tool', tool_input: '', log: 'looking' }
  yield { type: 'start', prompt: question, trace_id }
  yield { actions: [action], messages: [{ content: 'looking' }], trace_id }
  yield {
    steps: [{ action, observation: '["teas"]' }],
    messages: [{ content: '["teas"]' }],
    trace_id,
  }
  yield { type: 'delta', content: 'Ro', trace_id }
  const found = { citations: [], evidence: 'answer', warnings: [] } as const
  yield { output: 'Rooibos', messages: [{ content: 'Rooibos' }], trace_id, ...found }
  yield { type: 'end' }
}

const NO_STORED_TRACES: TraceStore = {
  keep: () => {},
  list: async () => ({ items: [], next: null }),
  get: () => Promise.reject(new Error('no traces')),
  remove: () => Promise.reject(new Error('no traces')),
  rate: () => Promise.reject(new Error('no traces')),
  removeAll: async () => 0,
  settled: async () => {},
}

const NO_JOBS = new JobRunner({
  store: {
    list: () => [],
    get: () => undefined,
    add: () => Promise.reject(new Error('no jobs')),
    change: () => Promise.reject(new Error('no jobs')),
    mark: async () => {},
    countStart: async () => 1,
    workOf: () => Promise.reject(new Error('no jobs')),
    items: async function* () {},
    remove: async () => {},
    onChange: () => {},
  },
  runningMax: 1,
  waitingMax: 1,
  keptMax: 1,
  log: () => {},
  onFailure: () => {},
  now: () => NOW_MS,
})

export interface TestServer {
  readonly server: Server
  readonly deps: ServerDeps
  readonly logged: LogEntry[]
  readonly errors: LoggedError[]
  readonly inserted: InsertRequest[]
  readonly uploaded: Uploaded[]
  readonly delays: number[]
  readonly clock: { nowMs: number }
}

/** @param over the parts that a test replaces @param only the operations, by default all */
export function testServer(
  over: Partial<ServerDeps> = {},
  only?: readonly Operations[],
): TestServer {
  const seen = {
    logged: [] as LogEntry[],
    errors: [] as LoggedError[],
    inserted: [] as TestServer['inserted'],
    uploaded: [] as Uploaded[],
    delays: [] as number[],
    clock: { nowMs: NOW_MS },
  }
  let ids = 0
  const revoked = new Map<string, number>()
  const deps: ServerDeps = {
    settings: {
      version: '0.1.0',
      ...{ tokenTtlSeconds: 3600, keyRequestsPerMinute: 0, urlKeys: false },
      ...{ bodyBytesMax: 100_000, fileBytesMax: 100_000, isLoopback: true, metricsOpen: false },
    },
    health: async () => ({ database: 'ok', disk: 'ok' }),
    shownSettings: () => [],
    usage: async () => [],
    metrics: { page: async () => ({ contentType: 'text/plain', text: '' }) },
    ...{ jobs: NO_JOBS, insertInBackground: () => Promise.reject(new Error('no jobs')) },
    rechunk: () => Promise.reject(new Error('no jobs')),
    move: () => Promise.reject(new Error('no jobs')),
    ...{ catalogFor: () => deps.catalog, jobsFor: () => deps.jobs },
    ...{ activityFor: () => NO_ACTIVITY, sourcesFor: () => NO_SOURCES },
    mcp: { handle: () => Promise.reject(new Error('no protocol')) },
    backups: { create: () => Promise.reject(new Error('no backups')), list: async () => [] },
    serverState: () => ({
      statements: { running: 0, waiting: 0, parked: 0, abandoned: [] },
      restarts: { count: 0, last: null },
      disk: { free: null, reserve: 0, data: 0, log: 0, files: 0, full: false },
      memory: { rss: 0, data: 0, start: 0, limit: 0, readers: 0, interrupted: 0 },
      backups: { last: null, next: null, failed: null },
    }),
    running: NOTHING_NOTED,
    indexes: {
      possible: () => ({
        exact: { possible: true },
        ivf: { possible: true },
        hnsw: { possible: false, reason: 'The vss extension was not found' },
      }),
    },
    catalog: {
      catalog: fakeCatalog(),
      embedders: EMBEDDERS,
      rerankers: { providers: [], reranker: () => ({ rerank: async () => [] }) },
      chatProviders: ['builtin', 'openai'],
      ...{ checkAddress: async () => {}, checkServerAddress: async () => {} },
      ...{ reembeddings: NO_REEMBEDDINGS, storages: NO_STORAGES },
      dataSources: {
        createDataSource: async () => Promise.reject(new Error('not expected')),
        alterDataSource: async () => Promise.reject(new Error('not expected')),
        dropDataSource: async () => Promise.reject(new Error('not expected')),
      },
      sources: fakeSources({}),
      databaseUses: async () => [],
    },
    traces: NO_STORED_TRACES,
    conversations: {
      list: noDocument,
      get: noDocument,
      // biome-ignore lint/correctness/useYield: nothing is watched
      watch: async function* () {
        throw new Error('not expected')
      },
      remove: noDocument,
      removeFrom: noDocument,
    },
    schedulesFor: () => ({
      store: { list: () => [], runs: async () => [] },
      create: async () => Promise.reject(new Error('not expected')),
      drop: async () => Promise.reject(new Error('not expected')),
    }),
    views: { create: noDocument, alter: noDocument },
    exportRows: async () => Promise.reject(new Error('not expected')),
    sqlFunctions: async () => [],
    search: async () => ({ results: [], warnings: [], explanation: null }),
    ...NO_DOCUMENTS,
    transfers: { export: noDocument, import: noDocument, importInBackground: noDocument },
    query: async ({ db }) => ({ kind: 'table', rows: rowsOf(['a'], [[1]]), context: { db } }),
    insertFiles: async () => ({ files: [], failed: [] }),
    insert: async (request) => {
      seen.inserted.push(request)
      return { job: null, skippedRows: 0 }
    },
    preview: async () => ({ chunks: [], chunkCount: 0, tokensMax: null, warnings: [] }),
    chunkWarnings: async () => [],
    uploadFiles: async (request) => {
      const files = await Promise.all(request.files.map((file) => uploaded(request, file)))
      seen.uploaded.push(...files)
      return { files: files.map(uploadedFile), failed: [], skipped: 0, isList: false }
    },
    fileBytes: new FileContents({ directory: null, checkSpace: () => {} }),
    dropFile: async () => {},
    dropSessions: () => {},
    probeAgent: () => Promise.reject(new Error('not expected')),
    agentWarnings: () => [],
    agents: {
      ask: ({ question }) => answerEvents(question),
      complete: async ({ question }) => {
        return { ...answerOf(`About ${question}`), traceId: TRACE_ID }
      },
      runs: () => [],
      cancelRun: () => {},
    },
    ...{ keys: NO_KEYS, users: NO_USERS, audit: NO_AUDIT },
    revokedTokens: {
      revoke: async (id, expiresMs) => {
        revoked.set(id, expiresMs)
      },
      isRevoked: (id) => revoked.has(id),
    },
    signingKey: new Uint8Array(32).fill(7),
    log: (entry) => seen.logged.push(entry),
    logError: (error) => seen.errors.push(error),
    now: () => seen.clock.nowMs,
    newId: () => `id-${++ids}`,
    sleep: async (ms) => {
      seen.delays.push(ms)
    },
    ...over,
  }
  return { ...seen, deps, server: createServer(deps, only) }
}

/** The arguments with which the use case is called. */
type Uploaded = Readonly<Record<'name' | 'originalName' | 'text', string>>

async function uploaded(
  { name, fields }: UploadRequest,
  { path, sentName }: UploadRequest['files'][number],
): Promise<Uploaded> {
  const originalName = fields.get('original_file_name') ?? sentName ?? name ?? ''
  return { name: name ?? originalName, originalName, text: await Bun.file(path).text() }
}

function uploadedFile({ name, originalName, text }: Uploaded): UploadedFile {
  return {
    id: 9,
    name,
    originalName,
    format: 'csv',
    sizeBytes: text.length,
    columns: ['a'],
    rowCount: 1,
    createdAt: STAMP,
    ...PLAIN_FILE,
  }
}

export interface Sent {
  readonly json?: unknown
  readonly body?: BodyInit
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface Received {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The text as JSON, or undefined if it is not JSON. */
  readonly json: unknown
}

/** Sends one request, such as `POST /api/login`, and returns its whole answer. */
export async function send(server: Server, line: string, sent: Sent = {}): Promise<Received> {
  const response = await server.handle(requestOf(line, sent))
  const text = await response.text()
  const answer = { status: response.status, headers: response.headers, text }
  await holdAnswer(server.document, { line, body: sent.json }, answer)
  return { ...answer, json: parsedJson(text) }
}

export function requestOf(line: string, { json, body, headers = {}, signal }: Sent): Request {
  const [method = 'GET', path = '/'] = line.split(' ')
  const type = json === undefined ? {} : { 'content-type': 'application/json' }
  return new Request(`http://localhost${path}`, {
    method,
    headers: { ...type, ...headers },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    ...(body === undefined ? {} : { body }),
    ...(signal === undefined ? {} : { signal }),
  })
}

export function answerOf(content: string): Answer {
  return { content, traceId: '', ...UNCITED, usage: null, seconds: 0 }
}
