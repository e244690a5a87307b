import type { ServerDeps, UseCases } from '../api/http/request/route-context.ts'
import type { LogEntry, LoggedError } from '../api/http/request/running-requests.ts'
import { isHere } from '../core/domain/access/catalog-snapshot.ts'
import type { FinishedRun } from '../core/domain/agents/completion-event.ts'
import { JOB_STATES, type Job } from '../core/domain/flow/job.ts'
import type { SearchMode } from '../core/domain/hybrid-search.ts'
import type { VectorIndexState } from '../core/domain/index-definition.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import { nameKey } from '../core/domain/names.ts'
import type { RunSink } from '../core/domain/ports/conversation-ports.ts'
import type { StoredDocuments } from '../core/domain/ports/document-ports.ts'
import type { EmbedderRegistry } from '../core/domain/ports/model-ports.ts'
import type {
  NearestChunks,
  NearestFound,
  NearestSearch,
  VectorIndexStates,
} from '../core/domain/ports/search-ports.ts'
import {
  BEFORE_STATEMENT,
  type KnowledgeBaseUsage,
  type StoredSize,
  type VectorCopy,
} from '../core/domain/server-state.ts'
import { ERRORS, hasCode, toAppError } from '../core/errors.ts'
import { settlesWithin } from '../core/runtime/cancellation.ts'
import type { JobLogEntry } from '../ops/jobs/job-runs.ts'
import type { Measurements } from '../ops/telemetry/measurements.ts'
import type { MetricsPage, Sources } from '../ops/telemetry/metrics-page.ts'
import type { VectorCaches } from '../retrieval/vector-caches.ts'
import type { Store } from '../store/store.ts'

/** Adds metrics to the other parts by wrapping them, so that they need no counting code. */

export interface AppLog {
  request(entry: LogEntry): void
  failure(error: LoggedError): void
  /** Logs a job at its start, every ten seconds, and at its end. */
  job?(entry: JobLogEntry): void
}

const METHODS: ReadonlySet<string> = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
])

/** The same log, which also counts its lines. */
export function countingLog(log: AppLog, measurements: Measurements): AppLog {
  return {
    failure: (error) => log.failure(error),
    request: (entry) => {
      countRequest(measurements, entry)
      log.request(entry)
    },
    job: (entry) => {
      const { kind, state } = entry.job
      if (entry.event === 'over') measurements.jobs.add(1, kind, state)
      log.job?.(entry)
    },
  }
}

function countRequest(
  measurements: Measurements,
  { method: sent, route, status, ms }: LogEntry,
): void {
  const method = METHODS.has(sent) ? sent : 'other'
  measurements.requests.add(1, method, route, `${Math.floor(status / 100)}xx`)
  measurements.requestDurations.add(ms, method, route)
  if (status >= 400) measurements.requestErrors.add(1, String(status))
}

const COUNTED_STATEMENTS: ReadonlySet<string> = new Set([
  ...['select', 'insert', 'update', 'delete', 'create', 'alter', 'drop', 'show', 'describe'],
  ...['explain', 'evaluate', 'use', 'set', 'vacuum'],
])

const FIRST_WORD = new RegExp(`${BEFORE_STATEMENT}([a-z]+)`, 'i')

export function kindOfStatement(sql: string): string {
  const word = FIRST_WORD.exec(sql.slice(0, 2_000))?.[1]?.toLowerCase() ?? ''
  if (word === 'with' || word === 'from' || word === 'values') return 'select'
  if (word === 'desc') return 'describe'
  return COUNTED_STATEMENTS.has(word) ? word : 'other'
}

/** Statements are measured until their first rows; clients may read the rest at any time. */
export function countedStatements<Uses extends Pick<UseCases, 'query' | 'exportRows'>>(
  uses: Uses,
  measurements: Measurements,
): Uses {
  const counted = async <T>(sql: string, work: () => Promise<T>): Promise<T> => {
    const kind = kindOfStatement(sql)
    const startMs = performance.now()
    try {
      const result = await work()
      measurements.statements.add(1, kind, 'ok')
      return result
    } catch (error) {
      const { code } = toAppError(error)
      measurements.statements.add(1, kind, outcomeOf(code))
      measurements.statementFailures.add(1, code)
      throw error
    } finally {
      measurements.statementDurations.add(performance.now() - startMs, kind)
    }
  }
  return {
    ...uses,
    query: (request, principal, signal) => {
      return counted(request.sql, () => uses.query(request, principal, signal))
    },
    exportRows: (request, principal, signal) => {
      return counted(request.sql, () => uses.exportRows(request, principal, signal))
    },
  }
}

/** `refused` means that the statement was at fault; `failed`, that the server was. */
function outcomeOf(code: keyof typeof ERRORS): string {
  if (code === 'cancelled' || code === 'timeout') return code
  return ERRORS[code].status < 500 ? 'refused' : 'failed'
}

/** Counts searches by how the nearest vectors are found: exact, index, or scan in the database. */
export function countedSearches(
  caches: Pick<VectorCaches, 'nearest' | 'access' | 'reportOf'>,
  remote: NearestChunks,
  measurements: Measurements,
): NearestChunks {
  const searchesOf = (kb: KnowledgeBase) => (isHere(kb) ? caches : remote)
  return {
    access: (kb, isPrefiltered) => searchesOf(kb).access(kb, isPrefiltered),
    nearest: async (search, signal) => {
      const found = await searchesOf(search.knowledgeBase).nearest(search, signal)
      measurements.searches.add(1, searchKind(search), accessOf(search, found, caches))
      return found
    },
  }
}

/** If the vectors have no weight, only keywords may be searched. */
function searchKind({ keywordSearch }: NearestSearch): SearchMode {
  if (keywordSearch === undefined) return 'vector'
  return keywordSearch.enoughCount === null ? 'hybrid' : 'keyword'
}

function accessOf(
  { knowledgeBase, prefilter }: NearestSearch,
  found: NearestFound | null,
  caches: { reportOf(kb: KnowledgeBase): Pick<VectorIndexState, 'state'> | null },
): string {
  if (found === null) return 'scan'
  const type = knowledgeBase.vectorIndex?.type ?? 'exact'
  if (type === 'exact' || prefilter !== null) return 'exact'
  return caches.reportOf(knowledgeBase)?.state === 'ready' ? type : 'exact'
}

export function countedEmbeddings(
  registry: EmbedderRegistry,
  measurements: Measurements,
): EmbedderRegistry {
  const { embeddings, embeddingTexts, embeddingDurations } = measurements
  return {
    providers: registry.providers,
    probe: (ref, timeoutMs) => registry.probe(ref, timeoutMs),
    embedder: (ref, withinMs) => {
      const { provider } = ref
      const embedder = registry.embedder(ref, withinMs)
      const embed: typeof embedder.embed = async (texts, signal, onEmbedded) => {
        const startMs = performance.now()
        let outcome = 'failed'
        try {
          const vectors = await embedder.embed(texts, signal, onEmbedded)
          outcome = 'ok'
          embeddingTexts.add(texts.length, provider)
          return vectors
        } finally {
          embeddings.add(1, provider, signal.aborted ? 'cancelled' : outcome)
          embeddingDurations.add(performance.now() - startMs, provider)
        }
      }
      return embedder.reach === undefined ? { embed } : { reach: embedder.reach, embed }
    },
  }
}

export function countedRuns(measurements: Measurements): RunSink {
  return {
    keep: (run: FinishedRun) => {
      const { provider, purpose, outcome, errorCode, usage, cost, startedAtMs, endedAtMs } = run
      measurements.questions.add(1, provider, purpose, outcome)
      measurements.questionDurations.add(endedAtMs - startedAtMs, provider)
      if (errorCode !== null) measurements.questionFailures.add(1, errorCode)
      measurements.toolCalls.add(run.steps.length, provider)
      if (usage !== null) {
        measurements.tokens.add(usage.inputTokens, provider, 'input')
        measurements.tokens.add(usage.outputTokens, provider, 'output')
        measurements.tokens.add(usage.cachedTokens, provider, 'cached')
      }
      if (cost !== null) measurements.cost.add(cost, provider)
    },
  }
}

interface MetricParts {
  readonly measurements: Measurements
  readonly version: string
  readonly store: Pick<Store, 'catalog' | 'jobs' | 'backups' | 'engine'>
  readonly caches: {
    readonly vectors: { readonly memoryBytes: number }
    readonly rows: { readonly memoryBytes: number }
  }
  readonly serverState: ServerDeps['serverState']
  readonly questions: UseCases['agents']['runs']
}

/** The Prometheus client is loaded, and the event loop monitored, from the first request on. */
export function metricsOf(parts: MetricParts): ServerDeps['metrics'] & { close(): void } {
  let page: Promise<MetricsPage> | undefined
  return {
    page: async (accept) => {
      page ??= import('../ops/telemetry/metrics-page.ts').then((module) => {
        return new module.MetricsPage(parts.measurements, sourcesOf(parts))
      })
      return (await page).text(accept)
    },
    close: () => void page?.then((opened) => opened.close()),
  }
}

function sourcesOf({ store, caches, serverState, questions, version }: MetricParts): Sources {
  return {
    version,
    state: serverState,
    memory: async () => ({
      vector_cache: caches.vectors.memoryBytes,
      row_cache: caches.rows.memoryBytes,
      duckdb: await store.engine.memoryUsed(),
    }),
    objects: () => {
      const { projects, knowledgeBases, agents, files, views, dataSources } =
        store.catalog.snapshot()
      return {
        projects: projects.length,
        knowledge_bases: knowledgeBases.length,
        agents: agents.length,
        files: files.length,
        views: views.length,
        data_sources: dataSources.length,
      }
    },
    jobs: () => jobsUnderWay(store.jobs.list()),
    questions: () => {
      const runs = questions()
      const waiting = runs.filter(({ state }) => state === 'waiting').length
      return { running: runs.length - waiting, waiting }
    },
    backupBytes: async () => {
      const backups = await store.backups.list()
      return backups.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    },
  }
}

function jobsUnderWay(jobs: readonly Pick<Job, 'state'>[]): Readonly<Record<string, number>> {
  const counts = Object.fromEntries(JOB_STATES.map((state) => [state, 0]))
  for (const { state } of jobs) counts[state] = (counts[state] ?? 0) + 1
  return { queued: counts.queued ?? 0, running: counts.running ?? 0 }
}

const ANSWER_MS = 2_000
/** A request within this time gets the previous result. */
const FRESH_MS = 1_000

/** Checks the server's health, one check at a time. */
export function healthOf(given: {
  /** Runs a trivial query, separately from those of callers. */
  readonly askDatabase: () => Promise<unknown>
  readonly isDiskFull: () => boolean
  readonly nowMs: () => number
  /** A database that takes longer than this counts as unhealthy. */
  readonly answerMs?: number
}): ServerDeps['health'] {
  const { askDatabase, isDiskFull, nowMs, answerMs = ANSWER_MS } = given
  let asked: Promise<unknown> | null = null
  let answered: { readonly atMs: number; readonly isAlive: boolean } | null = null
  const ask = () => {
    asked ??= askDatabase()
      .then(
        () => true,
        () => false,
      )
      .then((isAlive) => {
        answered = { atMs: nowMs(), isAlive }
        asked = null
        return isAlive
      })
    return asked
  }
  const isAlive = async () => {
    if (answered !== null && nowMs() - answered.atMs < FRESH_MS) return answered.isAlive
    const asking = ask()
    return (await settlesWithin(asking, answerMs)) && (await asking)
  }
  return async () => ({
    database: (await isAlive()) ? 'ok' : 'not answering',
    disk: isDiskFull() ? 'full' : 'ok',
  })
}

/** Reads one entry after another, to not block the server. Entries that disappear are skipped. */
export function diskUsage(given: {
  readonly documents: Pick<StoredDocuments, 'counts'>
  readonly sizes: { reader(): Promise<(kb: KnowledgeBase) => Promise<StoredSize | null>> }
  readonly vectors: { copyOf(kb: KnowledgeBase): VectorCopy }
  readonly rows: { bytesOf(kb: KnowledgeBase): number }
  readonly indexes: Pick<VectorIndexStates, 'states'>
}) {
  const { documents, sizes, vectors, rows, indexes } = given
  return async (
    knowledgeBases: readonly KnowledgeBase[],
    given: { readonly signal: AbortSignal; readonly isDiskWanted: boolean },
  ): Promise<readonly KnowledgeBaseUsage[]> => {
    const { signal, isDiskWanted } = given
    const used: KnowledgeBaseUsage[] = []
    const sizeOf = isDiskWanted ? await sizes.reader() : null
    const states = new Map(
      indexes.states().map((one) => [knowledgeBaseKey(one.project, one.knowledgeBase), one]),
    )
    for (const kb of knowledgeBases) {
      signal.throwIfAborted()
      const index = states.get(knowledgeBaseKey(kb.projectName, kb.name))
      const counts = await unlessGone(documents.counts(kb))
      if (counts === null || index === undefined) continue
      const disk = sizeOf === null ? null : await sizeOf(kb)
      if (isDiskWanted && disk === null) continue
      const { projectName: project, name: knowledgeBase, dimensions } = kb
      used.push({
        ...{ project, knowledgeBase, dimensions, disk, index },
        ...{ documentCount: counts.documents, chunkCount: counts.chunks },
        vectors: vectors.copyOf(kb),
        rowBytes: rows.bytesOf(kb),
      })
    }
    return used
  }
}

async function unlessGone<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read
  } catch (error) {
    if (hasCode(error, 'knowledge_base_not_found')) return null
    throw error
  }
}

function knowledgeBaseKey(project: string, name: string): string {
  return JSON.stringify([nameKey(project), nameKey(name)])
}
