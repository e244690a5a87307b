/** A knowledge base as a file: one Parquet file, its rows the chunks, its definition under the key `eider`. */
import type { KnowledgeBase } from '../knowledge-base.ts'

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

/** Of the names of columns that hold typed metadata. */
export const EXPORT_METADATA_PREFIX = 'metadata.'

/** A metadata column of a file. */
export interface ExportedColumn {
  readonly name: string
  /** As `typeText` writes it. */
  readonly type: string
}

/** What a file says of itself, checked. */
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
