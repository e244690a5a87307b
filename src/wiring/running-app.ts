import { readFileSync } from 'node:fs'
import type { AgentPool } from '../agents/questions/agent-pool.ts'
import type { Peer } from '../api/http/access/rate-limits.ts'
import type { ListenAddress, Listener } from '../api/http/listen.ts'
import type { createServer } from '../api/http/server.ts'
import { listenPostgres, type PostgresListener } from '../api/postgres/listen-postgres.ts'
import type { PostgresParts, PostgresPort } from '../api/postgres/postgres-port.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import { BUILTIN_PROVIDER } from '../core/domain/model-ref.ts'
import { errorText, StartError, systemCodeOf } from '../core/errors.ts'
import { settlesWithin } from '../core/runtime/cancellation.ts'
import type { JobRunner } from '../ops/jobs/job-runner.ts'
import type { QueryDeps } from '../query/select/query-deps.ts'
import type { Store } from '../store/store.ts'
import { LATER } from './later.ts'
import type { Settings } from './settings/settings.ts'

export interface App {
  handle(request: Request, peer?: Peer): Promise<Response>
  document(): Promise<object>
  listen(address: ListenAddress): AppListener
  /** Loads vectors into memory and resumes what the last process left unfinished. */
  start(): void
  /** Ends background work and threads, then closes the store. */
  close(): Promise<void>
}

export interface AppListener extends Listener {
  /** null if the settings define no PostgreSQL port. */
  readonly postgresPort: number | null
}

const LATER_MS = 100

/** How long jobs may take to end by themselves. Others continue after the restart. */
const JOBS_GRACE_MS = 2_000
/** How long to wait until questions ended by the shutdown are stored. They stop within a second. */
const KEEPING_MS = 2_000

interface Closing {
  close(): unknown
}

interface RunningParts {
  readonly store: Store
  readonly jobs: JobRunner
  readonly agents: Pick<AgentPool, 'start' | 'close'>
  readonly questionsKept: () => Promise<unknown>
  readonly vectorCaches: Closing & { start(): void; settled(): Promise<unknown> }
  readonly reembedding: Closing & { start(): void }
  readonly syncSources: Closing & { start(): Promise<void> }
  readonly schedules: Closing & { start(): void }
  readonly backups: Closing & { start(): void }
  readonly metrics: Closing
  readonly maps: Closing
  readonly rowCaches: Closing
  readonly reader: Closing
  readonly builtin: Closing & { start(): void }
  readonly planner: Closing
  readonly sources: Closing
  readonly tracing: Closing
  readonly queryDeps: QueryDeps
}

/** Builds the app around its server: what it starts, and in which order its parts stop. */
export function appOf(
  server: ReturnType<typeof createServer>,
  settings: Settings,
  parts: RunningParts,
): App {
  const { store, jobs, agents, vectorCaches, reembedding, syncSources, schedules } = parts
  const preparing = new AbortController()
  return {
    handle: server.handle,
    document: server.document,
    listen: (address) => {
      const listener = listening('EIDER_PORT', address, () => server.listen(address))
      const postgres = openPostgresPort(server.postgres, settings)
      const stop = async (graceMs: number) => {
        const jobsMs = Math.min(graceMs, JOBS_GRACE_MS)
        await Promise.all([listener.stop(graceMs), postgres?.stop(graceMs), jobs.close(jobsMs)])
      }
      const handOver = async (graceMs: number) => {
        await postgres?.stop(0)
        const [handover] = await Promise.all([listener.handOver(graceMs), jobs.close(graceMs)])
        return handover
      }
      return { ...listener, stop, handOver, postgresPort: postgres?.port ?? null }
    },
    start() {
      // The model loads in its own process while this one loads vectors and code.
      if (store.catalog.snapshot().knowledgeBases.some(isSearchedHere)) parts.builtin.start()
      // Searches work immediately; they scan the database until the vectors are loaded.
      vectorCaches.start()
      store.extensions.start()
      // Waits for the vectors, because both would compete for the processor while searches are
      // slow.
      void vectorCaches.settled().then(() => store.keywordLanguages.start())
      void vectorCaches.settled().then(() => prepare(parts, preparing.signal))
      reembedding.start()
      jobs.open()
      void syncSources.start()
      schedules.start()
      parts.backups.start()
    },
    async close() {
      preparing.abort()
      parts.metrics.close()
      parts.backups.close()
      schedules.close()
      agents.close()
      await settlesWithin(parts.questionsKept(), KEEPING_MS)
      syncSources.close()
      await jobs.close()
      await Promise.all([reembedding.close(), parts.maps.close()])
      await Promise.all([parts.reader.close(), parts.builtin.close(), parts.planner.close()])
      await Promise.all([vectorCaches.close(), parts.rowCaches.close()])
      await parts.sources.close()
      await parts.tracing.close()
      await store.close()
    },
  }
}

/** Gets ready for requests of each kind: searches first, because they take longest. */
async function prepare(parts: RunningParts, signal: AbortSignal): Promise<void> {
  await warmUp(parts.queryDeps, signal)
  // Requests that have arrived meanwhile come first.
  await Bun.sleep(LATER_MS)
  if (signal.aborted) return
  const { sources, ...others } = LATER
  // The database drivers take 7 MB and 40 ms, so they are loaded only if there are data sources.
  if (parts.store.catalog.snapshot().dataSources.length > 0) void sources()
  parts.agents.start()
  await Promise.all(Object.values(others).map((load) => load()))
  // Returns memory left over from loading to the operating system.
  Bun.shrink()
}

/** Whether its texts are embedded by the built-in model and its vectors are stored here. */
function isSearchedHere({ embeddingModel, remote }: KnowledgeBase): boolean {
  return embeddingModel.provider === BUILTIN_PROVIDER && remote === undefined
}

/** The knowledge bases that were written last will probably be searched first. */
const KNOWLEDGE_BASES_MAX = 4

/**
 * Searches before any client does, so that the first one finds models, threads and plans ready.
 * Calls no other server. Failures are ignored, because a client's own search shows them.
 */
async function warmUp(deps: QueryDeps, signal: AbortSignal): Promise<void> {
  const { runSearch } = await LATER.search()
  // A scan of vectors on disk would take longer than it saves.
  const known = deps.catalog.snapshot().knowledgeBases.filter((kb) => {
    return kb.remote === undefined && deps.nearest.access(kb).kind === 'memory'
  })
  const recent = known.toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt))
  const order = { query: 'warm up', k: 1, neighbours: 0, explain: false, rerank: false }
  for (const kb of recent.slice(0, KNOWLEDGE_BASES_MAX)) {
    const isBuiltin = kb.embeddingModel.provider === BUILTIN_PROVIDER
    const vector = new Float32Array(kb.dimensions ?? 0).fill(1)
    const embedders = { ...deps.embedders, embedder: () => ({ embed: async () => [vector] }) }
    const own = isBuiltin ? deps : { ...deps, embedders }
    await runSearch(kb, order, own, signal).catch(() => {})
  }
}

/** @throws StartError if a certificate cannot be read or the port is in use */
function openPostgresPort(
  parts: Omit<PostgresParts, 'openScratch'>,
  settings: Settings,
): PostgresListener | null {
  const { host: hostname, pgPort: port } = settings
  if (port === undefined) return null
  let opened: Promise<PostgresPort> | undefined
  const openScratch = async (script: string) => {
    const { ScratchDatabase } = await import('../store/duckdb/scratch-database.ts')
    return ScratchDatabase.open(script, 'pgc')
  }
  const load = async () => {
    const module = await import('../api/postgres/postgres-port.ts')
    return new module.PostgresPort({ ...parts, openScratch })
  }
  return listening('EIDER_PG_PORT', { hostname, port }, () => {
    return listenPostgres({ hostname, port, tls: tlsOf(settings) }, async (peer, id) => {
      opened ??= load()
      return (await opened).partsFor(peer, id)
    })
  })
}

/** @param setting names the port @throws StartError */
function listening<T>(
  setting: string,
  { hostname, port }: Pick<ListenAddress, 'hostname' | 'port'>,
  listen: () => T,
): T {
  try {
    return listen()
  } catch (error) {
    if (error instanceof StartError) throw error
    const another = `Set ${setting} to use another port`
    const reason: Readonly<Record<string, string>> = {
      EADDRINUSE: `port ${port} is in use, perhaps by another Eider. ${another}`,
      EACCES: `permission for port ${port} is denied. ${another}`,
      EADDRNOTAVAIL: `this machine has no address ${hostname}. Set EIDER_HOST to one that it has`,
    }
    const detail = reason[systemCodeOf(error) ?? ''] ?? errorText(error)
    throw new StartError(`Cannot listen at ${hostname}:${port}: ${detail}`, error)
  }
}

function tlsOf({ pgTlsCert, pgTlsKey }: Settings) {
  if (pgTlsCert === undefined && pgTlsKey === undefined) return null
  if (pgTlsCert === undefined || pgTlsKey === undefined) {
    throw new StartError('EIDER_PG_TLS_CERT and EIDER_PG_TLS_KEY go together; set both')
  }
  try {
    return { cert: readFileSync(pgTlsCert, 'utf8'), key: readFileSync(pgTlsKey, 'utf8') }
  } catch (error) {
    throw new StartError(`The certificate of the PostgreSQL port: ${errorText(error)}`, error)
  }
}
