import type { CatalogDeps } from '../catalog/catalog-deps.ts'
import type {
  AgentAnswers,
  ChatModels,
  ChunkStore,
  FileStore,
  NearestChunks,
  RerankerRegistry,
  RunLimits,
  SqlEngine,
  TableStore,
  VectorIndexStates,
} from '../domain/ports.ts'
import type { TextCutter } from '../ingest/chunking/chunker.ts'
import type { PlanCache } from './select/plan-cache.ts'
import type { StageTimer } from './select/stage-timer.ts'
import type { Variables } from './variables.ts'

/** What running SQL needs. */
export interface QueryDeps extends CatalogDeps {
  readonly engine: SqlEngine
  readonly nearest: NearestChunks
  readonly indexes: VectorIndexStates
  readonly agents: AgentAnswers
  readonly chatModels: ChatModels
  readonly chunks: ChunkStore
  readonly tables: TableStore
  readonly files: Pick<FileStore, 'importSelect' | 'dropFile'>
  /** Cuts the texts of rows that are inserted or changed. */
  readonly cutter: TextCutter
  readonly plans: PlanCache
  readonly variables: Variables
  readonly queryMs: number
  /** For reading the rows, where the reader works on them as they come; unset: `queryMs` covers the reading too. */
  readonly readingMs?: number
  /** A monotonic clock in milliseconds, for differences. */
  readonly nowMs: () => number
}

/** What is passed along while one SELECT is bound and run. */
export interface RunContext {
  readonly deps: QueryDeps
  readonly signal: AbortSignal
  readonly timer: StageTimer
}

export function runLimits({ queryMs: timeoutMs, readingMs }: QueryDeps): RunLimits {
  return readingMs === undefined ? { timeoutMs } : { timeoutMs, readingMs }
}

/** The same dependencies, but no agent and no reranker is called: for a plan that is only looked at. */
export function withoutModelCalls(deps: QueryDeps): QueryDeps {
  return {
    ...deps,
    agents: { ask: async () => ({ content: '', traceId: '', citations: [] }) },
    rerankers: NO_RERANKERS,
  }
}

export const NO_RERANKERS: RerankerRegistry = {
  providers: [],
  reranker: () => ({ rerank: async (_text, passages) => passages.map(() => 0) }),
}
