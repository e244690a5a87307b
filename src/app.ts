/** Joins use cases to edges. The program and the tests call exactly this. */

import { AgentPool } from './agents/agent-pool.ts'
import {
  BUILTIN_EMBEDDING_MODEL,
  BUILTIN_PROVIDER,
  type ChatDefaults,
  type ModelRef,
  type NetworkRules,
} from './domain/model-ref.ts'
import type {
  ChatModels,
  Embedder,
  EmbedderRegistry,
  RerankerRegistry,
} from './domain/ports/model-ports.ts'
import { NOTHING_NOTED, type RunningWork } from './domain/ports/running-ports.ts'
import type { UseCases } from './http/route-context.ts'
import type { LogEntry, LoggedError } from './http/running-requests.ts'
import { createServer, type Listener } from './http/server.ts'
import { guardedFetch } from './ingest/crawl/guarded-fetch.ts'
import { INGEST_LIMITS } from './ingest/ingest-limits.ts'
import type { InsertDeps } from './ingest/insert-request.ts'
import { DocumentReader, documentReaderOptions } from './ingest/readers/document-reader.ts'
import { Reembedding } from './ingest/reembed.ts'
import type { UploadDeps } from './ingest/upload-file.ts'
import { BuiltinEmbedder } from './models/builtin/builtin-embedder.ts'
import { builtinTokenCounter } from './models/builtin/word-piece-counter.ts'
import { CHAT_PROVIDERS } from './models/chat-providers.ts'
import { embedderRegistry } from './models/embedder-registry.ts'
import { checkModelAddress } from './models/endpoint.ts'
import { rerankerRegistry } from './models/reranker-registry.ts'
import { addressPolicy } from './network/address-policy.ts'
import { type Guard, internet } from './network/pinned-fetch.ts'
import type { QueryDeps } from './query/query-deps.ts'
import type { QueryRequest } from './query/run-query.ts'
import { KnownPhrases } from './query/select/known-phrases.ts'
import { PlanCache } from './query/select/plan-cache.ts'
import type { Planner, PlannerOptions } from './query/select/planner.ts'
import { SharedPlans } from './query/select/shared-plans.ts'
import { Sessions } from './query/sessions.ts'
import { NO_VARIABLES, UNKNOWN_VARIABLES } from './query/variables.ts'
import { openRetrieval } from './retrieval/open-retrieval.ts'
import { sleep } from './runtime/cancellation.ts'
import { Turns } from './runtime/scheduling.ts'
import { environmentOfReaders, isLoopback, type Settings } from './settings.ts'
import { BackupSchedule } from './store/backup/backup-schedule.ts'
import { memoryBytesOf } from './store/duckdb/memory-size.ts'
import type { Store } from './store/store.ts'

export interface AppLog {
  request(entry: LogEntry): void
  failure(error: LoggedError): void
}

export interface AppOptions {
  readonly settings: Settings
  /** The app closes it. */
  readonly store: Store
  readonly version: string
  readonly log?: AppLog
  /** Where it is noted what runs. */
  readonly running?: RunningWork
  /** Replaces the real embedding models. */
  readonly embedders?: EmbedderRegistry
  /** Replaces the real rerankers. */
  readonly rerankers?: RerankerRegistry
}

export interface App {
  handle(request: Request): Promise<Response>
  listen(address: { readonly hostname: string; readonly port: number }): Listener
  /** Loads vectors into memory, and resumes what the last process did not finish. */
  start(): void
  /** Ends background work and threads, then closes the store. */
  close(): Promise<void>
}

/** Of one knowledge base: with more vectors, memory holds only their codes, a fifth of the bytes. */
const WHOLE_VECTORS_MAX = 250_000

/** For planning one large statement: the largest takes a third of it on a quiet machine. */
const PLANNING_MS = 3_000

/** Threads that wait for questions: some 10 MB each. */
const SPARE_AGENTS = 2

/** The rows of an insert's query are read while others are embedded, which may take long. */
const INSERT_READING_MS = 24 * 3_600_000

/** What the first answer after a start does not need: loaded with the first request that does, or a moment later. */
const LATER = {
  query: () => import('./query/run-query.ts'),
  search: () => import('./query/search/run-search.ts'),
  select: () => import('./query/select/run-select.ts'),
  planner: () => import('./query/select/planner.ts'),
  views: () => import('./query/views.ts'),
  insert: () => import('./ingest/insert.ts'),
  preview: () => import('./ingest/preview.ts'),
  chunkWarnings: () => import('./ingest/chunk-warnings.ts'),
  uploads: () => import('./ingest/upload-files.ts'),
}

const LATER_MS = 100

const SILENT: AppLog = { request: () => {}, failure: () => {} }

export function createApp(options: AppOptions): App {
  const { settings, store, log = SILENT, running = NOTHING_NOTED } = options
  const { openaiApiKey, openaiBaseUrl } = settings
  const nowMs = () => performance.now()
  const builtin = new BuiltinEmbedder()
  const guard: Guard = { policy: addressPolicy(networkRulesOf(settings)), network: internet }
  const endpoints = { openaiApiKey, openaiBaseUrl, guard }
  const embedders = options.embedders ?? embedderRegistry({ builtin, ...endpoints })
  const { vectorCaches, rowCaches, ports } = openRetrieval(store, {
    bytesMax: memoryBytesOf(settings.vectorMemory),
    wholeVectorsMax: WHOLE_VECTORS_MAX,
    rowBytesMax: memoryBytesOf(settings.rowMemory),
  })
  store.engine.setReserved(() => vectorCaches.memoryBytes + rowCaches.memoryBytes)
  const reembedding = new Reembedding({
    store: store.reembeddingStore,
    embedders,
    snapshot: () => store.catalog.snapshot(),
    sleep,
    onFailure: (error) => log.failure({ requestId: 'reembedding', error }),
  })
  const reader = new DocumentReader({
    ...documentReaderOptions({
      folder: store.uploadsFolder,
      memoryBytes: memoryBytesOf(settings.readingMemory),
      environment: environmentOfReaders(),
    }),
    wordPieces: builtinTokenCounter(),
  })
  const planner = plannerOf({
    engine: store.engine,
    workerUrl: new URL('./workers/planner-entry.ts', import.meta.url).href,
    planningMs: Math.min(PLANNING_MS, settings.queryMs),
  })
  const queryDeps: QueryDeps = {
    catalog: store.catalog,
    embedders,
    rerankers: options.rerankers ?? rerankerRegistry({ ...endpoints, nowMs }),
    chatProviders: CHAT_PROVIDERS,
    checkAddress: (ref) => checkModelAddress(ref, chatDefaultsOf(settings), guard),
    reembeddings: reembedding,
    engine: store.engine,
    ...ports,
    chunks: store.chunks,
    tables: store.tables,
    files: store.files,
    storage: store.upkeep,
    agents: {
      ask: (agent, question, signal) =>
        agents.complete({ agent, question, history: [], deltas: false }, signal),
    },
    chatModels: chatModelsOf(settings, embedders),
    chunker: reader,
    plans: new PlanCache(),
    turns: new Turns(),
    phrases: new KnownPhrases(),
    sharedPlans: new SharedPlans(),
    variables: NO_VARIABLES,
    planner,
    queryMs: settings.queryMs,
    statementBytesMax: settings.statementBytesMax,
    nowMs,
  }
  const agents = agentPool(settings, queryDeps, running)
  const schedule = new BackupSchedule(store.backups, {
    pattern: settings.backupSchedule,
    onFailure: (error) => log.failure({ requestId: 'backup', error }),
  })
  const server = createServer({
    ...useCases(queryDeps, insertDepsOf(options, queryDeps, reader), { agents, reader }),
    backups: store.backups,
    fileBytes: store.contents,
    serverState: () => ({
      statements: store.engine.statementCounts(),
      restarts: running.restarts(),
      disk: { ...store.upkeep.diskState(), files: store.contents.sizeBytes },
      memory: store.engine.memoryState(),
      backups: schedule.state(),
    }),
    running,
    settings: {
      version: options.version,
      username: settings.username,
      password: settings.password,
      tokenTtlSeconds: settings.tokenTtlSeconds,
      bodyBytesMax: settings.bodyBytesMax,
      fileBytesMax: settings.fileBytesMax,
      isLoopback: isLoopback(settings.host),
    },
    revokedTokens: store.revokedTokens,
    signingKey: store.secrets.signingKey(),
    log: (entry) => log.request(entry),
    logError: (error) => log.failure(error),
    now: () => Date.now(),
    newId: () => crypto.randomUUID(),
    sleep,
  })
  let loading: ReturnType<typeof setTimeout> | undefined
  return {
    handle: server.handle,
    listen: server.listen,
    start() {
      loading = setTimeout(() => {
        for (const load of Object.values(LATER)) void load()
        agents.start()
      }, LATER_MS)
      // Searches are answered at once, by scans until their vectors are loaded.
      vectorCaches.start()
      store.extensions.start()
      // Afterwards: until then each search waits for its vectors, and both would take the same processor.
      void vectorCaches.settled().then(() => store.keywordLanguages.start())
      reembedding.start()
      schedule.start()
    },
    async close() {
      clearTimeout(loading)
      schedule.close()
      agents.close()
      await reembedding.close()
      await Promise.all([reader.close(), builtin.close(), planner.close()])
      await Promise.all([vectorCaches.close(), rowCaches.close()])
      await store.close()
    },
  }
}

/** Plans as soon as somebody asks. */
function plannerOf(options: PlannerOptions): Pick<Planner, 'plan' | 'close'> {
  let planner: Promise<Planner> | undefined
  return {
    async plan(...request) {
      planner ??= LATER.planner().then((module) => new module.Planner(options))
      return (await planner).plan(...request)
    },
    close: async () => (await planner)?.close(),
  }
}

/** What each route calls, with what that needs. */
function useCases(
  queryDeps: QueryDeps,
  insertDeps: InsertDeps & UploadDeps,
  { agents, reader }: { readonly agents: AgentPool; readonly reader: DocumentReader },
): Omit<UseCases, 'backups' | 'fileBytes'> {
  const sessions = new Sessions()
  const inTurns = (): InsertDeps & UploadDeps => {
    const own = reader.forRequest()
    return { ...insertDeps, reader: own, chunker: own }
  }
  const viewDeps = { ...queryDeps, variables: UNKNOWN_VARIABLES }
  const inSession = ({ session }: QueryRequest): QueryDeps => {
    const variables = sessions.variablesOf(session ?? null)
    return { ...queryDeps, variables, chunker: reader.forRequest() }
  }
  return {
    catalog: queryDeps,
    indexes: queryDeps.indexes,
    query: async (request, signal) => {
      const { runQuery } = await LATER.query()
      return runQuery(request, inSession(request), signal)
    },
    exportRows: async (request, signal) => {
      const { exportRows } = await LATER.query()
      return exportRows(request, inSession(request), signal)
    },
    dropSessions: (login) => sessions.drop(login),
    search: async (kb, order, signal) => {
      return (await LATER.search()).runSearch(kb, order, queryDeps, signal)
    },
    views: {
      create: async (view, signal) => (await LATER.views()).createView(view, viewDeps, signal),
      alter: async (view, sql, signal) => {
        const { alterView } = await LATER.views()
        return alterView(view, { sql, database: view.projectName }, viewDeps, signal)
      },
    },
    insert: async (request, signal) => (await LATER.insert()).insert(request, inTurns(), signal),
    preview: async (request, signal) => (await LATER.preview()).preview(request, inTurns(), signal),
    chunkWarnings: async (kb) => (await LATER.chunkWarnings()).chunkWarnings(kb, queryDeps),
    uploadFiles: async (request, signal) => {
      return (await LATER.uploads()).uploadFiles(request, inTurns(), signal)
    },
    dropFile: (file) => queryDeps.files.dropFile(file),
    agents,
  }
}

function downloadsOf({ settings, version }: AppOptions) {
  return guardedFetch({
    policy: addressPolicy({ setting: 'EIDER_CRAWL_ALLOW', entries: settings.crawlAllow }),
    userAgent: `Eider/${version} (+crawler)`,
    network: internet,
    pageMs: INGEST_LIMITS.pageMs,
  })
}

function insertDepsOf(
  options: AppOptions,
  queryDeps: QueryDeps,
  reader: DocumentReader,
): InsertDeps & UploadDeps {
  const { settings, store } = options
  const downloads = downloadsOf(options)
  return {
    snapshot: () => store.catalog.snapshot(),
    chunks: store.chunks,
    embedders: queryDeps.embedders,
    chatModels: queryDeps.chatModels,
    files: store.files,
    select: async (sql, database, signal) => {
      return (await LATER.select()).runSelect(
        { sql, database, params: {} },
        { ...queryDeps, readingMs: INSERT_READING_MS },
        signal,
      )
    },
    pages: downloads,
    downloads,
    reader,
    chunker: reader,
    crawlPagesMax: settings.crawlPagesMax,
    keepCrawlWarnings: (kb, warnings) => store.catalog.keepCrawlWarnings(kb, warnings),
  }
}

function agentPool(settings: Settings, queryDeps: QueryDeps, running: RunningWork): AgentPool {
  return new AgentPool(
    {
      agentsMax: settings.agentsMax,
      agentQuestionsMax: settings.agentQuestionsMax,
      agentQueueMax: settings.agentQueueMax,
      agentTimeoutSeconds: settings.agentTimeoutSeconds,
      agentStepsMax: settings.agentStepsMax,
      observationBytesMax: settings.observationBytesMax,
      defaultModel: defaultChatModel(settings),
      chatDefaults: chatDefaultsOf(settings),
      sparesMax: SPARE_AGENTS,
      workerUrl: new URL('./workers/agent-entry.ts', import.meta.url).href,
    },
    {
      catalog: queryDeps.catalog,
      select: async (sql, { project, allowed }, signal) => {
        running.refuseSuspect(sql)
        const entry = running.begin('an agent')
        entry.statement(sql)
        try {
          const { runSelect } = await LATER.select()
          const request = { sql, database: project, params: {}, allowed, isShown: true }
          // Its first rows are read by then.
          return await runSelect(request, queryDeps, signal)
        } finally {
          entry.end()
        }
      },
      embed: builtinEmbed(queryDeps.embedders),
      chatProviders: queryDeps.chatProviders,
      newTraceId: () => crypto.randomUUID(),
    },
  )
}

/** null: agents and the server have the built-in one. */
function defaultChatModel({ chatProvider, chatModel }: Settings): ModelRef | null {
  if (chatProvider === BUILTIN_PROVIDER) return null
  return { provider: chatProvider, modelName: chatModel ?? '', options: {} }
}

function chatModelsOf(settings: Settings, embedders: EmbedderRegistry): ChatModels {
  return {
    defaultModel: defaultChatModel(settings),
    async chatModel(ref) {
      const { chatModelOf } = await import('./models/chat-registry.ts')
      return chatModelOf(ref, chatDefaultsOf(settings), { embed: builtinEmbed(embedders) })
    },
  }
}

function builtinEmbed(embedders: EmbedderRegistry): Embedder['embed'] {
  const ref = { provider: BUILTIN_PROVIDER, modelName: BUILTIN_EMBEDDING_MODEL, options: {} }
  return (texts, signal) => embedders.embedder(ref).embed(texts, signal)
}

function chatDefaultsOf(settings: Settings): ChatDefaults {
  const { openaiApiKey, openaiBaseUrl, anthropicApiKey, anthropicBaseUrl } = settings
  const network = networkRulesOf(settings)
  return { openaiApiKey, openaiBaseUrl, anthropicApiKey, anthropicBaseUrl, network }
}

/** Who alone can reach this server, without a login, may reach from it what the machine reaches. */
function networkRulesOf({ networkAllow, host, username }: Settings): NetworkRules {
  const isOpen = isLoopback(host) && username === undefined
  return { setting: 'EIDER_NETWORK_ALLOW', entries: networkAllow, isOpen }
}
