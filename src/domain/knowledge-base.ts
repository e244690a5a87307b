import type { SearchDefaults } from './hybrid-search.ts'
import type { VectorIndexDefinition } from './index-definition.ts'
import type { Language } from './language.ts'
import type { ModelRef } from './model-ref.ts'

/** How documents are cut into chunks. Sizes in characters (UTF-16 code units). */
export interface Preprocessing {
  readonly type: 'text_chunking' | 'markdown_chunking' | 'json_chunking'
  readonly chunkSizeChars: number
  readonly chunkOverlapChars: number
  /** As the caller sent it; `params` shows it again. */
  readonly sent: Readonly<Record<string, unknown>> | null
}

/** The type under which a metadata column can be compared in SQL. The original value stays in `metadata`. */
export type MetadataType =
  | 'BOOLEAN'
  | 'BIGINT'
  | 'DOUBLE'
  | 'VARCHAR'
  | 'DATE'
  | 'TIMESTAMP'
  | 'JSON'

/** A metadata column as it is stored: `name` as first inserted, `column` the physical column of the chunks table. */
export interface MetadataColumn {
  readonly name: string
  readonly type: MetadataType
  readonly column: string
}

export interface KnowledgeBase {
  readonly id: number
  readonly name: string
  readonly projectId: number
  readonly projectName: string
  readonly vectorDatabase: string
  readonly vectorDatabaseTable: string
  readonly embeddingModel: ModelRef
  readonly rerankingModel: ModelRef | null
  /** null: not set by the caller, the default of docs/contract.md 5 applies. */
  readonly contentColumns: readonly string[] | null
  readonly metadataColumns: readonly string[] | null
  readonly idColumn: string | null
  readonly preprocessing: Preprocessing
  /** For searches that do not say otherwise. */
  readonly search: SearchDefaults
  /** Of the text: the keyword index is made for it, so that it never changes. */
  readonly language: Language
  /** What the caller sent beyond the columns and models, plus `warnings`, as `GET` shows it. Searches read the fields above. */
  readonly params: Readonly<Record<string, unknown>>
  /** Length of the stored vectors; null until the first one is known. */
  readonly dimensions: number | null
  /** Of the vectors table: it grows by one whenever another embedding model takes over. */
  readonly vectorsNumber: number
  /** The model whose vectors are being made; null: the model stays. */
  readonly nextEmbeddingModel: ModelRef | null
  /** Metadata columns seen so far, in the order of their first appearance. */
  readonly storedMetadata: readonly MetadataColumn[]
  /** null: no type of index was chosen, so Eider chooses. */
  readonly vectorIndex: VectorIndexDefinition | null
  /** Counts the committed writes; a derived copy with another number is stale. */
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
}

/** A new knowledge base; `search` and `language` follow from its `params`. */
export type KnowledgeBaseDraft = Omit<
  KnowledgeBase,
  | 'id'
  | 'search'
  | 'language'
  | 'projectName'
  | 'storedMetadata'
  | 'vectorIndex'
  | 'vectorsNumber'
  | 'nextEmbeddingModel'
  | 'revision'
  | 'createdAt'
  | 'updatedAt'
>

/** The model that re-embeds all chunks and then takes over, and the length of its vectors where it is known. */
export interface ReembeddingTarget {
  readonly model: ModelRef
  readonly dimensions: number | null
}

/** What may change after creation; a missing field stays. */
export type KnowledgeBaseChanges = Partial<
  Pick<
    KnowledgeBase,
    | 'embeddingModel'
    | 'rerankingModel'
    | 'contentColumns'
    | 'metadataColumns'
    | 'idColumn'
    | 'preprocessing'
    | 'params'
    | 'vectorIndex'
  > & {
    /** null: the model stays, and the vectors made so far are dropped. */
    readonly reembedding: ReembeddingTarget | null
  }
>

export const DEFAULT_CONTENT_COLUMNS: readonly string[] = ['content']
export const DEFAULT_CHUNK_SIZE_CHARS = 1000
export const DEFAULT_CHUNK_OVERLAP_CHARS = 200

/** The columns of `SELECT * FROM <knowledge base>`, in this order. */
export const KNOWLEDGE_BASE_COLUMNS = [
  'id',
  'chunk_id',
  'chunk_content',
  'metadata',
  'relevance',
  'distance',
] as const

/** Chunks that a reranker may be asked about for one search; a LIMIT above it is not reranked. */
export const RERANK_CANDIDATES_MAX = 1000
