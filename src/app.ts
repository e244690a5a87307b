/** Connects the use cases with the outside. The program and the tests use this same function. */

import type { ServerDeps } from './api/http/request/route-context.ts'
import { createServer } from './api/http/server.ts'
import type { Principal, Rights } from './core/domain/access/principal.ts'
import { VisibleCatalogs } from './core/domain/access/visible-catalog.ts'
import { CHAT_PROVIDERS } from './core/domain/model-ref.ts'
import {
  type DataSources,
  NOTHING_NOTED,
  type RunningWork,
} from './core/domain/ports/engine-ports.ts'
import type { EmbedderRegistry, RerankerRegistry } from './core/domain/ports/model-ports.ts'
import { hasCode } from './core/errors.ts'
import {
  addressPolicy,
  checkNamedAddress,
  type Guard,
  internet,
} from './core/runtime/address-policy.ts'
import { sleep } from './core/runtime/cancellation.ts'
import { Reembedding } from './ingest/pipeline/reembed.ts'
import { DocumentReader, documentReaderOptions } from './ingest/readers/document-reader.ts'
import { InsertLog } from './ingest/sources/insert-request.ts'
import { BuiltinEmbedder, builtinEmbedderOptions } from './models/builtin/builtin-embedder.ts'
import { builtinTokenCounter } from './models/builtin/word-piece-counter.ts'
import { checkModelAddress } from './models/endpoint.ts'
import { embedderRegistry } from './models/registries/embedder-registry.ts'
import { rerankerRegistry } from './models/registries/reranker-registry.ts'
import { Measurements } from './ops/telemetry/measurements.ts'
import { adoptDefinition } from './query/definitions/define-knowledge-base.ts'
import { depsFor } from './query/run/statement-scopes.ts'
import { PlanCache } from './query/select/plan-cache.ts'
import type { Planner, PlannerOptions } from './query/select/planner.ts'
import { KnownPhrases, type QueryDeps } from './query/select/query-deps.ts'
import { SharedPlans } from './query/select/shared-plans.ts'
import { NO_VARIABLES } from './query/sessions.ts'
import { MapFileUpkeep } from './retrieval/map/map-files.ts'
import { openRetrieval } from './retrieval/open-retrieval.ts'
import { databaseDistance } from './retrieval/vectors/quantized-rows.ts'

import { relationsNamed } from './sql/lexer/database-names.ts'
import { BackupSchedule } from './store/backup/backups.ts'
import { memoryBytesOf } from './store/duckdb/memory-watchdog.ts'

import { remoteSearches } from './store/postgres/remote-search.ts'
import type { Store } from './store/store.ts'
import { auditedInserts, auditedQueries } from './wiring/access-parts.ts'
import {
  agentAnswers,
  agentPool,
  askedAgents,
  chatDefaultsOf,
  chatModelsOf,
  foreignToolsOf,
  mcpDoorOf,
  networkRulesOf,
  ocrModelOf,
  serviceKeysOf,
} from './wiring/agent-parts.ts'
import {
  insertDepsOf,
  jobRunnerOf,
  schedulerOf,
  shownActivity,
  sourceKeeperOf,
} from './wiring/job-parts.ts'
import { LATER } from './wiring/later.ts'
import {
  type AppLog,
  countedEmbeddings,
  countedRuns,
  countedSearches,
  countedStatements,
  countingLog,
  diskUsage,
  healthOf,
  metricsOf,
} from './wiring/metric-parts.ts'
import { type App, type AppListener, appOf } from './wiring/running-app.ts'
import { environmentOfReaders, isLoopback, type Settings } from './wiring/settings/settings.ts'
import { shownSettings } from './wiring/settings/settings-help.ts'
import { databaseUses, dataSourcesOf, liveTables, sourceFilesOf } from './wiring/source-parts.ts'
import { runTracingOf } from './wiring/trace-parts.ts'
import { mapUsesOf, useCases } from './wiring/use-cases.ts'

export type { App, AppListener, AppLog }

interface AppOptions {
  readonly settings: Settings
  readonly store: Store
  readonly version: string
  readonly log?: AppLog
  readonly running?: RunningWork
  /** Replaces the real embedding models in tests. */
  readonly embedders?: EmbedderRegistry
  /** Replaces the real rerankers in tests. */
  readonly rerankers?: RerankerRegistry
  /** Replaces the real databases behind data sources in tests. */
  readonly sources?: DataSources
}

/** With more vectors than this, only compressed codes are kept in memory, a fifth of the bytes. */
const WHOLE_VECTORS_MAX = 250_000

/** The time limit for planning a statement. The largest takes a third of it on an idle machine. */
const PLANNING_MS = 3_000

const SILENT: AppLog = { request: () => {}, failure: () => {} }

export function createApp(options: AppOptions): App {
  const { settings, store, running = NOTHING_NOTED } = options
  const measurements = new Measurements()
  const log = countingLog(options.log ?? SILENT, measurements)
  const { openaiApiKey, openaiBaseUrl } = settings
  const nowMs = () => performance.now()
  const builtin = new BuiltinEmbedder(builtinEmbedderOptions(environmentOfReaders()))
  const guard: Guard = { policy: addressPolicy(networkRulesOf(settings)), network: internet }
  const serviceKeys = serviceKeysOf(settings)
  const endpoints = { openaiApiKey, openaiBaseUrl, serviceKeys, guard }
  const embedders = countedEmbeddings(
    options.embedders ?? embedderRegistry({ builtin, ...endpoints }),
    measurements,
  )
  const { vectorCaches, rowCaches, indexStates, ports } = openRetrieval(
    store,
    {
      bytesMax: memoryBytesOf(settings.vectorMemory),
      wholeVectorsMax: WHOLE_VECTORS_MAX,
      rowBytesMax: memoryBytesOf(settings.rowMemory),
      onTaking: (bytes) => store.ceiling.raise(bytes),
    },
    new MapFileUpkeep(store.mapFiles, store.catalog.snapshot()),
  )
  const reembedding = new Reembedding({
    store: store.reembeddingStore,
    embedders,
    snapshot: () => store.catalog.snapshot(),
    sleep,
    onFailure: (error) => log.failure({ requestId: 'reembedding', error }),
  })
  const wordPieces = builtinTokenCounter()
  const chatModels = chatModelsOf(settings, embedders)
  const reader = new DocumentReader({
    ...documentReaderOptions({
      folder: store.uploadsFolder,
      memoryBytes: memoryBytesOf(settings.readingMemory),
      environment: environmentOfReaders(),
    }),
    wordPieces,
    ocr: ocrModelOf(settings, chatModels),
  })
  const planner = plannerOf({
    engine: store.engine,
    workerUrl: new URL('./wiring/threads/planner-entry.ts', import.meta.url).href,
    planningMs: Math.min(PLANNING_MS, settings.queryMs),
  })
  const jobs = jobRunnerOf({ settings, store, log })
  const inserts = new InsertLog(Date.now)
  const schedules = schedulerOf({
    settings,
    store: store.schedules,
    jobs,
    log,
    queryDeps: () => queryDeps,
  })
  const snapshot = () => store.catalog.snapshot()
  const files = sourceFilesOf(settings)
  const opened = dataSourcesOf({ guard, staging: store.staging, files })
  const sources = options.sources ?? opened
  store.copies.connect(opened, (kb, text) => adoptDefinition(kb, text, store))
  const syncSources = sourceKeeperOf({
    ...{ settings, store, log, jobs, reader },
    insertDeps: () => insertDeps,
  })
  const remote = remoteSearches((...asked) => store.copies.remoteOf(...asked), databaseDistance)
  const queryDeps: QueryDeps = {
    keeping: syncSources,
    catalog: store.catalog,
    activity: shownActivity(store, inserts),
    inserts,
    jobs,
    dataSources: store.dataSourceCatalog,
    sources,
    databaseUses: databaseUses(snapshot, store),
    schedules,
    live: liveTables(sources, (rights) => depsWithin(rights), {
      ...{ traces: store.traces, audit: store.audit },
    }),
    embedders,
    rerankers: options.rerankers ?? rerankerRegistry({ ...endpoints, nowMs }),
    judgeAnswerability: async (question, passages) => {
      return (await LATER.answerability()).answerabilityOf(question, passages)
    },
    chatProviders: CHAT_PROVIDERS,
    checkAddress: (ref) => checkModelAddress(ref, chatDefaultsOf(settings), guard),
    checkServerAddress: (url) => checkNamedAddress(url, guard),
    reembeddings: reembedding,
    storages: store.copies,
    moves: store.moves,
    engine: store.engine,
    ...ports,
    nearest: countedSearches(vectorCaches, remote, measurements),
    chunks: store.chunks,
    documents: store.documents,
    transfers: store.transfers,
    tables: store.tables,
    files: store.files,
    storage: store.upkeep,
    agents: agentAnswers(
      () => agents,
      settings,
      () => queryDeps,
    ),
    agentHasModel: (model) => agents.expect(model),
    chatModels,
    chunker: reader,
    plans: new PlanCache(),
    phrases: new KnownPhrases(),
    sharedPlans: new SharedPlans(),
    variables: NO_VARIABLES,
    planner,
    queryMs: settings.queryMs,
    insertWaitMs: 0,
    statementBytesMax: settings.statementBytesMax,
    nowMs,
  }
  const maps = mapUsesOf(store, queryDeps, (error) => log.failure({ requestId: 'map', error }))
  const rightsParts = { visible: new VisibleCatalogs(relationsNamed), jobStore: store.jobs }
  const depsOf = (author: Principal | null, rights: Rights | null) => {
    return depsFor(queryDeps, author, rights, rightsParts)
  }
  const depsWithin = (rights: Rights | null) => depsOf(null, rights)
  const tracing = runTracingOf({
    ...{ settings, store, log, version: options.version },
    counter: countedRuns(measurements),
  })
  const agents = agentPool(settings, depsWithin, running, {
    traces: tracing.traces,
    foreignTools: foreignToolsOf(guard, nowMs),
  })
  const insertDeps = insertDepsOf(options, depsWithin, reader)
  const schedule = new BackupSchedule(store.backups, {
    pattern: settings.backupSchedule,
    onFailure: (error) => log.failure({ requestId: 'backup', error }),
  })
  const serverState = () => ({
    statements: store.engine.statementCounts(),
    restarts: running.restarts(),
    disk: { ...store.upkeep.diskState(), files: store.contents.sizeBytes },
    memory: { ...store.engine.memoryState(), readers: memoryBytesOf(settings.readingMemory) },
    backups: schedule.state(),
  })
  const metrics = metricsOf({
    ...{ measurements, store, serverState, version: options.version },
    caches: { vectors: vectorCaches, rows: rowCaches },
    questions: () => agents.runs(),
  })
  const plainUses = useCases(depsOf, insertDeps, {
    ...{ settings, reader, jobs, importFiles: store.importFiles },
    ...{ wordPieces, jobStore: store.jobs },
  })
  const uses = { ...plainUses, query: auditedQueries(plainUses.query, store.audit) }
  // A stop ends running requests, which is not their failure.
  const logError: ServerDeps['logError'] = (failed) => {
    if (!hasCode(failed.error, 'shutting_down')) log.failure(failed)
  }
  const { settled: questionsKept, ...asked } = askedAgents(agents, store, settings, log)
  const served = {
    ...countedStatements(uses, measurements),
    ...asked,
    logError,
  }
  const { version } = options
  const insert = auditedInserts(served.insert, store.audit)
  const mcp = mcpDoorOf({ ...served, insert }, { documents: store.documents, running, version })
  const server = createServer({
    ...served,
    mcp,
    maps,
    backups: store.backups,
    traces: store.traces,
    fileBytes: store.contents,
    serverState,
    usage: diskUsage({
      documents: store.documents,
      ...{ sizes: store.sizes, vectors: vectorCaches, rows: rowCaches, indexes: indexStates },
    }),
    health: healthOf({
      askDatabase: () => store.engine.memoryUsed(),
      isDiskFull: () => store.upkeep.diskState().full,
      nowMs,
    }),
    metrics,
    running,
    shownSettings: () => shownSettings(settings),
    settings: serverSettings(settings, version),
    revokedTokens: store.revokedTokens,
    ...{ keys: store.keys, users: store.users, audit: store.audit },
    signingKey: store.secrets.signingKey(),
    log: (entry) => log.request(entry),
    now: () => Date.now(),
    newId: () => crypto.randomUUID(),
    sleep,
  })
  return appOf(server, settings, {
    ...{ store, jobs, mcp, agents, questionsKept, maps, metrics, tracing },
    ...{ vectorCaches, rowCaches, reembedding, syncSources, sources },
    ...{ schedules, backups: schedule, reader, builtin, planner },
    queryDeps,
  })
}

function serverSettings(settings: Settings, version: string): ServerDeps['settings'] {
  const { username, password, tokenTtlSeconds, keyRequestsPerMinute, urlKeys } = settings
  const { bodyBytesMax, fileBytesMax, metricsOpen } = settings
  return {
    ...{ version, username, password, tokenTtlSeconds, keyRequestsPerMinute, urlKeys },
    ...{ bodyBytesMax, fileBytesMax, metricsOpen },
    isLoopback: isLoopback(settings.host),
  }
}

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
