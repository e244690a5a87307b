import { AppError } from '../errors.ts'
import type { SearchDefaults } from './hybrid-search.ts'
import type { VectorIndexDefinition } from './index-definition.ts'
import type { Language } from './language.ts'
import type { ModelRef } from './model-ref.ts'
import { nameKey } from './names.ts'

/**
 * How documents are chunked. Sizes in characters (UTF-16 code units). `auto`: by the layout of each text, plain text if
 * unknown.
 */
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
  /** The size was chosen: chunks may be longer than the embedding model reads. */
  readonly isSizeChosen?: boolean
  /** For `text_chunking`, best first; missing: paragraphs, lines, sentences and words. */
  readonly separators?: readonly string[]
  /** Of `json_chunking`. */
  readonly json?: JsonChunking
  /** Of `sentence_chunking`. */
  readonly sentences?: SentenceWindows
  /** Of `contextual`. */
  readonly contextual?: ContextualChunking
  /** As sent by the caller; `params` shows it. */
  readonly sent: Readonly<Record<string, unknown>> | null
}

export interface JsonChunking {
  /** Nested values as lines `a.b: value`; otherwise as JSON. */
  readonly flattenNested: boolean
  readonly includeMetadata: boolean
  /** An object is one chunk; otherwise each of its fields. */
  readonly chunkByObject: boolean
  readonly excludeFields: readonly string[]
  /** Empty: all. */
  readonly includeFields: readonly string[]
  /** Empty: the top-level values that are not objects or lists. */
  readonly metadataFields: readonly string[]
  readonly extractAllPrimitives: boolean
  readonly nestedDelimiter: string
  /** The column that chunk ids name; null: that of the content. */
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

/** Sentences of a chunk, and how many of them the next chunk repeats. */
export interface SentenceWindows {
  readonly windowSize: number
  readonly windowOverlap: number
}

/** A chat model writes what each chunk is about. */
export interface ContextualChunking {
  /** null: that of the settings. */
  readonly model: ModelRef | null
  readonly template: string | null
  /** Calls of the model that one transaction may make. */
  readonly chunksMax: number
}

/** Older data folders lack some fields. */
export function completePreprocessing(stored: Preprocessing): Preprocessing {
  const { isSizeChosen, type, sent } = stored
  if (isSizeChosen !== undefined) return stored
  const config = sent?.[`${type}_config`]
  const hasSize = typeof config === 'object' && config !== null && 'chunk_size' in config
  const json = type === 'json_chunking' ? { json: DEFAULT_JSON_CHUNKING } : {}
  return { ...stored, ...json, type: sent === null ? 'auto' : type, isSizeChosen: hasSize }
}

/** A stored metadata column: `name` as first inserted, `column` the physical column of the chunks table. */
export interface MetadataColumn {
  readonly name: string
  /** Its type for comparing in SQL, as `typeText` writes it. The original value stays in `metadata`. */
  readonly type: string
  readonly column: string
  /** Set if the knowledge base's creator chose the type: a value that does not fit is refused. */
  readonly isDeclared?: boolean
  /** The count of values that did not fit the type: they are in `metadata` only. */
  readonly strayCount?: number
}

/** A metadata column whose type was chosen. */
export type DeclaredColumn = Pick<MetadataColumn, 'name' | 'type'>

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
  /** Defaults for searches. */
  readonly search: SearchDefaults
  /** The language of the keyword index, and so of searches. */
  readonly language: Language
  /** The language of the running rebuild of the keyword index; null: none. */
  readonly nextLanguage: Language | null
  /** The keyword index has terms of an earlier version, and is being rebuilt. */
  readonly hasOlderTerms: boolean
  /** false: no language was given, and the texts have not shown it yet. */
  readonly isLanguageKnown: boolean
  /** The caller's other fields, plus `warnings`, as `GET` shows them. Searches read the fields above. */
  readonly params: Readonly<Record<string, unknown>>
  /** The pages that the last crawl left out, and why. */
  readonly crawlWarnings: readonly string[]
  /** Length of the stored vectors; null until the first one is known. */
  readonly dimensions: number | null
  /** The number of the vectors table: it grows with each change of the embedding model. */
  readonly vectorsNumber: number
  /** The model whose vectors are being computed; null: the model stays. */
  readonly nextEmbeddingModel: ModelRef | null
  /** The metadata columns seen so far, in order of first appearance. */
  readonly storedMetadata: readonly MetadataColumn[]
  /** null: no type of index was chosen, so Eider chooses. */
  readonly vectorIndex: VectorIndexDefinition | null
  /** Counts the committed writes; a derived copy with another number is stale. */
  readonly revision: number
  /** Set where a connected PostgreSQL holds its rows. */
  readonly remote?: RemoteStorage
  readonly createdAt: string
  readonly updatedAt: string
}

/** A new knowledge base; `search` and `language` follow from its `params`. */
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
> & {
  /** The metadata columns with declared types. */
  readonly declaredColumns?: readonly DeclaredColumn[]
}

/** The model that re-embeds all chunks and then takes over, and the length of its vectors if known. */
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
    /** null: the model stays, and the new vectors are dropped. */
    readonly reembedding: ReembeddingTarget | null
    readonly declaredColumns: readonly DeclaredColumn[]
  }
>

/** `metadata_columns` as sent: names, or names with types; null: not set by the caller. */
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

/** What its `params` warn of: what was sent with it, what the last crawl left out, and values that did not fit the type of their column. */
function shownWarnings(kb: KnowledgeBase): readonly string[] {
  const { warnings } = kb.params
  const known = Array.isArray(warnings) ? warnings.map(String) : []
  const strays = kb.storedMetadata.flatMap(({ name, type, strayCount = 0 }) => {
    if (strayCount === 0) return []
    const values = strayCount === 1 ? '1 value that came is' : `${strayCount} values that came are`
    const where = 'null in the column and as they came in metadata; declare VARCHAR to have text'
    return [`Column ${name}: ${values} not of its type ${type}: ${where}`]
  })
  const ofIndex = keywordWarningOf(kb)
  return [...known, ...kb.crawlWarnings, ...strays, ...(ofIndex === null ? [] : [ofIndex])]
}

/** The warning of a keyword search about its index; null: none. */
export function keywordWarningOf({ name, hasOlderTerms }: KnowledgeBase): string | null {
  if (!hasOlderTerms) return null
  const what = `The keyword index of ${name} is being brought up to date after an upgrade`
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

/** The maximum number of chunks for a reranker in one search. */
export const RERANK_CANDIDATES_MAX = 1000

/**
 * Default of the option `candidates`. The same for each LIMIT, because LIMIT n must be the start of LIMIT m: a candidate
 * that only a larger number admits could come first.
 */
export const RERANK_CANDIDATES = 50

/** How many of a search's best chunks a reranker scores. */
export function rerankCandidateCount(model: ModelRef | null): number {
  const candidates = model?.options.candidates
  return typeof candidates === 'number' ? candidates : RERANK_CANDIDATES
}

/** Chunks still without a vector of the next embedding model. */
export interface MissingVectors {
  /** In key order, with the text to embed for each. */
  readonly chunks: readonly { readonly chunkKey: bigint; readonly content: string }[]
  /** Vectors that already exist, perhaps also of deleted chunks. */
  readonly doneCount: number
  /** The number of all chunks. */
  readonly chunkCount: number
}

export interface NextVector {
  readonly chunkKey: bigint
  readonly vector: Float32Array
}

export type SwitchOutcome =
  | { readonly kind: 'switched' }
  /** New chunks arrived: nothing has changed. */
  | { readonly kind: 'missing'; readonly count: number }
  /** The next model is gone. */
  | { readonly kind: 'settled' }

/** The progress of a change of the embedding model. */
export interface ReembeddingProgress {
  readonly doneCount: number
  /** null: not counted yet. */
  readonly chunkCount: number | null
  /** The error of the last attempt; the next one follows. */
  readonly error: string | null
}

const EMBEDDING_ATTEMPTS_MAX = 3

/** A write was refused, as another embedding model has taken over since its vectors were made. */
export class SupersededVectors extends AppError {
  /** Its current state. */
  readonly knowledgeBase: KnowledgeBase

  constructor(knowledgeBase: KnowledgeBase) {
    const what = `Another embedding model has taken over ${knowledgeBase.name} meanwhile`
    super('insert_failed', `${what}: nothing was stored, write again`)
    this.knowledgeBase = knowledgeBase
  }
}

/** Embeds and writes; a second time if another model has taken over in between. */
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

/** A knowledge base as a file: one Parquet file, its rows the chunks, its definition under the key `eider`. */

export const EXPORT_FORMAT = 1
export const EXPORT_NOTE_KEY = 'eider'

/** The columns that every such file has, in this order. Those of metadata follow, each under its name after a prefix. */
export const EXPORT_COLUMNS = [
  'document_id',
  'chunk_id',
  'chunk_content',
  'metadata',
  'vector',
  'context',
  'is_cut',
] as const

/** The prefix of columns with typed metadata. */
export const EXPORT_METADATA_PREFIX = 'metadata.'

/** A metadata column of a file. */
export interface ExportedColumn {
  readonly name: string
  /** As `typeText` writes it. */
  readonly type: string
}

/** The description in an export file, checked. */
export interface ExportDefinition {
  /** The fields with which such a knowledge base is created, without its name and without secrets. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly embeddingModel: { readonly provider: string; readonly modelName: string }
  /** null: it holds no chunk. */
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

/** For a knowledge base whose rows a connected PostgreSQL holds. */
export interface RemoteStorage {
  /** Its name among those that use the tables there. */
  readonly attachment: string
  /** Whether all rows are here, too; false: only those that were needed, and searches run there. */
  readonly isCopied: boolean
}
