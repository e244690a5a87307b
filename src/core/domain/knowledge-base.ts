import { AppError } from '../errors.ts'
import type { SearchDefaults } from './hybrid-search.ts'
import type { VectorIndexDefinition } from './index-definition.ts'
import type { Language } from './language.ts'
import type { ModelRef } from './model-ref.ts'
import { nameKey, type ProjectObject } from './names.ts'

/** Sizes in UTF-16 code units. `auto` follows each text's layout, or takes it as plain text. */
export interface Preprocessing {
  readonly type:
    | 'auto'
    | 'text_chunking'
    | 'markdown_chunking'
    | 'code_chunking'
    | 'sentence_chunking'
    | 'json_chunking'
    | 'contextual'
  readonly chunkSizeChars: number
  readonly chunkOverlapChars: number
  /** Set if the user chose the size; chunks may then exceed what the embedding model reads. */
  readonly isSizeChosen?: boolean
  /** For `text_chunking`, preferred first; if missing: paragraphs, lines, sentences, words. */
  readonly separators?: readonly string[]
  readonly json?: JsonChunking
  readonly sentences?: SentenceWindows
  readonly contextual?: ContextualChunking
  /** As sent by the client, for display in `params`. */
  readonly sent: Readonly<Record<string, unknown>> | null
}

export interface JsonChunking {
  /** Whether nested values become lines `a.b: value` instead of JSON. */
  readonly flattenNested: boolean
  readonly includeMetadata: boolean
  /** Whether each object becomes one chunk, instead of each of its fields. */
  readonly chunkByObject: boolean
  readonly excludeFields: readonly string[]
  /** Empty means all. */
  readonly includeFields: readonly string[]
  /** Empty means all top-level values that are not objects or lists. */
  readonly metadataFields: readonly string[]
  readonly extractAllPrimitives: boolean
  readonly nestedDelimiter: string
  /** The column named in chunk ids; null means the content column. */
  readonly contentColumn: string | null
}

export const DEFAULT_JSON_CHUNKING: JsonChunking = {
  flattenNested: true,
  includeMetadata: true,
  chunkByObject: true,
  excludeFields: [],
  includeFields: [],
  metadataFields: [],
  extractAllPrimitives: false,
  nestedDelimiter: '.',
  contentColumn: null,
}

/** How many sentences a chunk has, and how many the next chunk repeats. */
export interface SentenceWindows {
  readonly windowSize: number
  readonly windowOverlap: number
}

/** A chat model writes a sentence about each chunk. */
export interface ContextualChunking {
  /** null means the model from the settings. */
  readonly model: ModelRef | null
  readonly template: string | null
  /** The maximum number of model calls in one transaction. */
  readonly chunksMax: number
}

/** Fills in fields that data folders of older versions lack. */
export function completePreprocessing(stored: Preprocessing): Preprocessing {
  const { isSizeChosen, type, sent } = stored
  if (isSizeChosen !== undefined) return stored
  const config = sent?.[`${type}_config`]
  const hasSize = typeof config === 'object' && config !== null && 'chunk_size' in config
  const json = type === 'json_chunking' ? { json: DEFAULT_JSON_CHUNKING } : {}
  return { ...stored, ...json, type: sent === null ? 'auto' : type, isSizeChosen: hasSize }
}

/** A stored metadata column: `name` as inserted, `column` its column in the chunks table. */
export interface MetadataColumn {
  readonly name: string
  /** The type for comparisons in SQL, as `typeText` writes it; `metadata` keeps the original. */
  readonly type: string
  readonly column: string
  /** Set if the knowledge base's creator declared the type: values that do not fit are refused. */
  readonly isDeclared?: boolean
  /** How many values did not fit the type and are only in `metadata`. */
  readonly strayCount?: number
}

export type DeclaredColumn = Pick<MetadataColumn, 'name' | 'type'>

export interface KnowledgeBase extends ProjectObject {
  readonly vectorDatabase: string
  readonly vectorDatabaseTable: string
  readonly embeddingModel: ModelRef
  readonly rerankingModel: ModelRef | null
  /** null if the client set none: the default in docs/contract.md 5 applies. */
  readonly contentColumns: readonly string[] | null
  readonly metadataColumns: readonly string[] | null
  readonly idColumn: string | null
  readonly preprocessing: Preprocessing
  readonly search: SearchDefaults
  /** The language of the keyword index and of queries. */
  readonly language: Language
  /** The language for which the keyword index is being rebuilt; null if none. */
  readonly nextLanguage: Language | null
  /** Whether the keyword index has terms of an older version and is being rebuilt. */
  readonly hasOlderTerms: boolean
  /** false if no language was given and none has been detected yet. */
  readonly isLanguageKnown: boolean
  /** The client's other fields plus `warnings`, for `GET`. Searches use the fields above. */
  readonly params: Readonly<Record<string, unknown>>
  /** Pages skipped by the last crawl, and why. */
  readonly crawlWarnings: readonly string[]
  /** The number of dimensions of the stored vectors; null until known. */
  readonly dimensions: number | null
  /** The number of the vectors table; it increases with each change of the model. */
  readonly vectorsNumber: number
  /** The model whose vectors are being computed; null if the model is not changing. */
  readonly nextEmbeddingModel: ModelRef | null
  /** Metadata columns in order of first appearance. */
  readonly storedMetadata: readonly MetadataColumn[]
  /** null if no index type was chosen, so that Eider chooses. */
  readonly vectorIndex: VectorIndexDefinition | null
  /** Counts committed writes; derived copies with another number are stale. */
  readonly revision: number
  /** Set if the rows are stored in a connected PostgreSQL. */
  readonly remote?: RemoteStorage
  readonly updatedAt: string
}

/** A new knowledge base; `search` and `language` come from its `params`. */
export type KnowledgeBaseDraft = Omit<
  KnowledgeBase,
  | 'id'
  | 'search'
  | 'language'
  | 'nextLanguage'
  | 'hasOlderTerms'
  | 'isLanguageKnown'
  | 'projectName'
  | 'crawlWarnings'
  | 'storedMetadata'
  | 'vectorIndex'
  | 'vectorsNumber'
  | 'nextEmbeddingModel'
  | 'revision'
  | 'createdAt'
  | 'updatedAt'
> & { readonly declaredColumns?: readonly DeclaredColumn[] }

/** The model that takes over once it has embedded all chunks, and its dimensions if known. */
export interface ReembeddingTarget {
  readonly model: ModelRef
  readonly dimensions: number | null
}

/** What can change after creation; missing fields stay unchanged. */
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
    /** null cancels a pending change of the model and drops its vectors. */
    readonly reembedding: ReembeddingTarget | null
    readonly declaredColumns: readonly DeclaredColumn[]
  }
>

/** `metadata_columns` as sent: names, or names with types; null if not sent. */
export function sentMetadataColumns(
  kb: Pick<KnowledgeBase, 'metadataColumns' | 'storedMetadata'>,
): readonly (string | DeclaredColumn)[] | null {
  const types = new Map<string, string>()
  for (const { name, type, isDeclared } of kb.storedMetadata) {
    if (isDeclared === true) types.set(nameKey(name), type)
  }
  if (kb.metadataColumns === null) return null
  return kb.metadataColumns.map((name) => {
    const type = types.get(nameKey(name))
    return type === undefined ? name : { name, type }
  })
}

/** DuckDB 1.5.5 reads a long text again for up to 2,048 NULLs after it (duckdb/duckdb#24897). */
export const METADATA_CHARS_MAX = 100_000
export const METADATA_NAME_CHARS_MAX = 1000
export const METADATA_COLUMNS_MAX = 1000

/** Stored ones, pages that the last crawl skipped, and values that do not fit. */
function shownWarnings(kb: KnowledgeBase): readonly string[] {
  const { warnings } = kb.params
  const known = Array.isArray(warnings) ? warnings.map(String) : []
  const strays = kb.storedMetadata.flatMap(({ name, type, strayCount = 0 }) => {
    if (strayCount === 0) return []
    const values = strayCount === 1 ? '1 inserted value is' : `${strayCount} inserted values are`
    // Every value fits a text column, unless it is too long.
    const isText = type === 'VARCHAR' || type === 'JSON'
    const why = isText ? `longer than ${METADATA_CHARS_MAX} characters` : `not of its type ${type}`
    const hint = isText ? '' : '; declare VARCHAR to keep them as text'
    return [`Column ${name}: ${values} ${why}: null in the column and unchanged in metadata${hint}`]
  })
  const ofIndex = keywordWarningOf(kb)
  return [...known, ...kb.crawlWarnings, ...strays, ...(ofIndex === null ? [] : [ofIndex])]
}

/** The warning about the index that a keyword search returns; null if none. */
export function keywordWarningOf({ name, hasOlderTerms }: KnowledgeBase): string | null {
  if (!hasOlderTerms) return null
  const what = `The keyword index of ${name} is being rebuilt after an upgrade`
  return `${what}: until then, keywords may miss some chunks. Nothing needs to be done`
}

/** `params` as answers show them. */
export function shownParams(kb: KnowledgeBase): Readonly<Record<string, unknown>> {
  const warnings = shownWarnings(kb)
  const { language, nextLanguage, hasOlderTerms } = kb
  const isLearned = kb.isLanguageKnown && kb.params.language === undefined
  return {
    ...kb.params,
    ...(isLearned ? { language: nextLanguage ?? language } : {}),
    ...(nextLanguage === null && !hasOlderTerms
      ? {}
      : { keyword_index: { language, next_language: nextLanguage ?? language } }),
    ...(warnings.length === 0 ? {} : { warnings }),
  }
}

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

/** The most chunks a reranker scores in one search. */
export const RERANK_CANDIDATES_MAX = 1000

/**
 * Default of the option `candidates`. It does not depend on LIMIT: with more candidates a new one
 * could rank first, and the results for LIMIT n would no longer be the first n of a larger LIMIT.
 */
export const RERANK_CANDIDATES = 50

/** How many of a search's best chunks a reranker scores. */
export function rerankCandidateCount(model: ModelRef | null): number {
  const candidates = model?.options.candidates
  return typeof candidates === 'number' ? candidates : RERANK_CANDIDATES
}

/** Chunks that have no vector of the next embedding model yet. */
export interface MissingVectors {
  /** In key order, with the text to embed. */
  readonly chunks: readonly { readonly chunkKey: bigint; readonly content: string }[]
  /** How many vectors exist already, possibly including those of deleted chunks. */
  readonly doneCount: number
  readonly chunkCount: number
}

export interface NextVector {
  readonly chunkKey: bigint
  readonly vector: Float32Array
}

export type SwitchOutcome =
  | { readonly kind: 'switched' }
  /** Nothing was switched, because new chunks had arrived. */
  | { readonly kind: 'missing'; readonly count: number }
  /** No change of model is pending: it was cancelled, or the next model is already in use. */
  | { readonly kind: 'settled' }

export interface ReembeddingProgress {
  readonly doneCount: number
  /** null if not counted yet. */
  readonly chunkCount: number | null
  /** The error of the last attempt; another attempt follows. */
  readonly error: string | null
}

const EMBEDDING_ATTEMPTS_MAX = 3

/** A write was refused because the embedding model changed after its vectors were computed. */
export class SupersededVectors extends AppError {
  /** The knowledge base as it is now. */
  readonly knowledgeBase: KnowledgeBase

  constructor(knowledgeBase: KnowledgeBase) {
    const what = `The embedding model of ${knowledgeBase.name} has changed meanwhile`
    super('insert_failed', `${what}: nothing was stored, write again`)
    this.knowledgeBase = knowledgeBase
  }
}

/** Embeds and writes; if the embedding model changed in the meantime, does both again. */
export async function withModelInForce<T>(
  kb: KnowledgeBase,
  embedAndWrite: (kb: KnowledgeBase) => Promise<T>,
): Promise<T> {
  let inForce = kb
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await embedAndWrite(inForce)
    } catch (error) {
      if (!(error instanceof SupersededVectors) || attempt === EMBEDDING_ATTEMPTS_MAX) throw error
      inForce = error.knowledgeBase
    }
  }
}

/** An export is one Parquet file with a row per chunk; the key `eider` holds the definition. */

export const EXPORT_FORMAT = 1
export const EXPORT_NOTE_KEY = 'eider'

export const EXPORT_COLUMNS = [
  'document_id',
  'chunk_id',
  'chunk_content',
  'metadata',
  'vector',
  'context',
  'is_cut',
] as const

export const EXPORT_METADATA_PREFIX = 'metadata.'

export interface ExportedColumn {
  readonly name: string
  readonly type: string
}

/** The definition from an export file, validated. */
export interface ExportDefinition {
  /** The fields for recreating the knowledge base, without its name and secrets. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly embeddingModel: { readonly provider: string; readonly modelName: string }
  /** null if the knowledge base is empty. */
  readonly dimensions: number | null
  readonly chunkCount: number
  readonly columns: readonly ExportedColumn[]
}

/** `openai/text-embedding-3-small (1536 dimensions)` */
export function vectorsText(
  { provider, modelName }: Pick<KnowledgeBase['embeddingModel'], 'provider' | 'modelName'>,
  dimensions: number | null,
): string {
  const name = modelName === '' ? provider : `${provider}/${modelName}`
  return dimensions === null ? name : `${name} (${dimensions} dimensions)`
}

/** Where the rows of a knowledge base in a connected PostgreSQL are. */
export interface RemoteStorage {
  /** Identifies this server among those that share the remote tables. */
  readonly attachment: string
  /** Whether all rows are also stored locally. If not, searches run on PostgreSQL. */
  readonly isCopied: boolean
}
