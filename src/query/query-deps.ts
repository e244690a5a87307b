import type { CatalogDeps } from '../catalog/catalog-deps.ts'
import type {
  AgentAnswers,
  ChatModels,
  ChunkStore,
  FileStore,
  NearestChunks,
  SqlEngine,
  TableStore,
  VectorIndexStates,
} from '../domain/ports.ts'
import type { TextCutter } from '../ingest/chunking/chunker.ts'
import type { PlanCache } from './select/plan-cache.ts'
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
  /** For reading the rows, where they are worked on while they come; else `queryMs` counts for all. */
  readonly readingMs?: number
}
