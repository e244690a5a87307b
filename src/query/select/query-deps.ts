import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { Rights } from '../../core/domain/access/principal.ts'
import type { Activity } from '../../core/domain/flow/job.ts'
import type { KnowledgeBaseFiles, StoredDocuments } from '../../core/domain/ports/document-ports.ts'
import type { DataSources, RunLimits, SqlEngine } from '../../core/domain/ports/engine-ports.ts'
import type { Jobs, Schedules, SourceKeeping } from '../../core/domain/ports/job-ports.ts'
import type {
  AgentAnswer,
  AgentAnswers,
  ChatModels,
  JudgeAnswerability,
  RerankerRegistry,
} from '../../core/domain/ports/model-ports.ts'
import type {
  ChunkRows,
  CommittedStates,
  KnownChunks,
  NearestChunks,
  VectorIndexStates,
} from '../../core/domain/ports/search-ports.ts'
import type { KnowledgeBaseMoves } from '../../core/domain/ports/storage-ports.ts'
import type {
  ChunkStore,
  FileStore,
  StorageUpkeep,
  TableStore,
} from '../../core/domain/ports/store-ports.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import type { Chunker } from '../../ingest/chunking/chunker.ts'
import type { InsertLog } from '../../ingest/sources/insert-request.ts'
import type { Options } from '../../sql/dialect/statement-reader.ts'
import type { DatabaseDeps } from '../definitions/define-database.ts'
import type { LiveTables } from '../information-schema/schema-table.ts'
import type { ParameterValues, VariableScope } from '../sessions.ts'
import type { PlanCache } from './plan-cache.ts'
import type { Planner } from './planner.ts'
import type { SharedPlans } from './shared-plans.ts'

export interface QueryDeps extends DatabaseDeps {
  readonly engine: SqlEngine
  readonly nearest: NearestChunks
  readonly rows: ChunkRows
  readonly known: KnownChunks
  readonly commits: CommittedStates
  readonly moves: KnowledgeBaseMoves
  readonly indexes: VectorIndexStates
  readonly agents: AgentAnswers
  readonly judgeAnswerability: JudgeAnswerability
  readonly chatModels: ChatModels
  readonly chunks: ChunkStore
  readonly activity: ShownActivity
  readonly jobs: Jobs
  readonly inserts: InsertLog
  readonly documents: StoredDocuments
  readonly transfers: KnowledgeBaseFiles
  readonly tables: TableStore
  readonly files: Pick<FileStore, 'importSelect' | 'dropFile'>
  readonly storage: StorageUpkeep
  readonly sources: DataSources
  readonly keeping: SourceKeeping
  /** Chunks the texts of inserted or changed rows. */
  readonly chunker: Chunker
  readonly plans: PlanCache
  readonly phrases: KnownPhrases
  /** Plans of statements that differ only in their values. */
  readonly sharedPlans: SharedPlans
  /** The information_schema tables that are not derived from the catalog. */
  readonly live: LiveTables
  readonly schedules: Schedules
  /** The caller's rights; unset if everything may be read. The catalog is limited accordingly. */
  readonly rights?: Rights
  readonly variables: VariableScope
  readonly planner: Pick<Planner, 'plan'>
  readonly queryMs: number
  /** How long to wait for an insert before it becomes a job; 0 means until it ends. */
  readonly insertWaitMs: number
  /** The part of `queryMs` that was spent on planning, embedding and fetching remote rows. */
  readonly spentMs?: number
  /** The longest statement text, in UTF-8 bytes. */
  readonly statementBytesMax: number
  /** If the reader processes rows as they arrive. Unset: part of `queryMs`. */
  readonly readingMs?: number
  /** A monotonic clock in milliseconds, for time differences. */
  readonly nowMs: () => number
}

/** Running work, for the information_schema tables that show it. */
export interface ShownActivity {
  now(): Activity
  /** Returns the same snapshot as long as nothing changes. */
  shownIn(snapshot: CatalogSnapshot): CatalogSnapshot
}

/** The context in which one SELECT is bound and run. */
export interface RunContext {
  readonly deps: QueryDeps
  readonly signal: AbortSignal
  readonly timer: StageTimer
  readonly params: ParameterValues
  /** The options for agents after `USING`. */
  readonly options: Options | null
  /** Whether values in their JSON form are enough. */
  readonly isShown: boolean
}

export function runLimits({
  queryMs: timeoutMs,
  spentMs = 0,
  readingMs,
}: Pick<QueryDeps, 'queryMs' | 'spentMs' | 'readingMs'>): RunLimits {
  const limits = { timeoutMs, spentMs, setting: 'EIDER_QUERY_MS' }
  return readingMs === undefined ? limits : { ...limits, readingMs }
}

/** Counts the time since then as a part of `queryMs`. */
export function spentSince(startMs: number, deps: QueryDeps): QueryDeps {
  return { ...deps, spentMs: (deps.spentMs ?? 0) + deps.nowMs() - startMs }
}

/** Returns dependencies without agents and rerankers, for plans that are only inspected. */
export function withoutModelCalls(deps: QueryDeps): QueryDeps {
  return {
    ...deps,
    agents: { ...deps.agents, ask: async () => NO_ANSWER },
    rerankers: NO_RERANKERS,
  }
}

const NO_ANSWER: AgentAnswer = {
  content: '',
  traceId: '',
  citations: [],
  warnings: [],
  usage: null,
  cost: null,
  seconds: 0,
}

export const NO_RERANKERS: RerankerRegistry = {
  providers: [],
  reranker: () => ({ rerank: async (_text, passages) => passages.map(() => 0) }),
}

/** How long the stages of a SELECT took, in milliseconds. */
export interface StageTimes {
  /** Planning, unless the plan was cached. */
  plan: number
  embed: number
  /** Finding the nearest chunks and keyword hits in memory. */
  candidates: number
  rerank: number
  /** The database's part: reading rows, and scanning if memory cannot answer. */
  rows: number
}

/** Adds up the times of a SELECT's stages, which may overlap. */
export class StageTimer {
  readonly times: StageTimes = { plan: 0, embed: 0, candidates: 0, rerank: 0, rows: 0 }
  readonly #nowMs: () => number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  async time<T>(stage: keyof StageTimes, work: () => Promise<T>): Promise<T> {
    const startMs = this.#nowMs()
    try {
      return await work()
    } finally {
      this.times[stage] += this.#nowMs() - startMs
    }
  }
}

const KNOWN_BYTES_MAX = 16 * 1024 ** 2

export interface Verdict {
  readonly isHeld: boolean
  readonly charCount: number
}

export interface Holders {
  readonly keys: readonly bigint[]
  readonly chunkCount: number
}

/** Caches results for the most recently searched phrases. */
export class KnownPhrases extends LruMap<
  string,
  {
    readonly holders: Holders
    /** The state for which the results were found. */
    readonly stateNumber: number
    /** By chunk key, for each text that was read. The text of a key never changes. */
    readonly verdicts: ReadonlyMap<bigint, Verdict>
    readonly bytes: number
  }
> {
  constructor() {
    super({ sizeMax: KNOWN_BYTES_MAX, sizeOf: ({ bytes }) => bytes })
  }
}
