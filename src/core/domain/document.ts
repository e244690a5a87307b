import { isDeepStrictEqual } from 'node:util'
import type { Language } from './language.ts'
import { nameKey, quote } from './names.ts'

/** The preprocessor that cut a chunk, by the name that existing clients know. */
export type ChunkSource =
  | 'TextChunkingPreprocessor'
  | 'JSONChunkingPreprocessor'
  | 'ContextualPreprocessor'
  | 'MarkdownChunkingPreprocessor'

/** A span of a document's column; the unit of embedding and retrieval. */
export interface Chunk {
  readonly documentId: string
  /** `<document id>:<column>:<n>of<total>:<start>to<end>`, n from 1. */
  readonly chunkId: string
  readonly contentColumn: string
  /** Code units into the column's text: `content === text.slice(startChar, endChar)`. */
  readonly content: string
  readonly startChar: number
  readonly endChar: number
  readonly chunkIndex: number
  readonly source: ChunkSource
  /** The text embedded before the content: title, headings, its table's header, a model's sentence. */
  readonly context?: string
  /** Facts about this chunk only, such as `heading`, `page` and `line`. */
  readonly facts?: Row
  /** Tokens of the embedded text; missing: unknown. */
  readonly tokenCount?: number
  /** The embedding model does not read it whole. */
  readonly isCut?: boolean
  /** On the first chunk of a text: the text's layout, if known. */
  readonly layout?: TextLayout
  /** On the first chunk of a text: text outside its chunks, in order. */
  readonly between?: string
}

/** The embedded text of a chunk. */
export function embeddedText({ context, content }: Pick<Chunk, 'context' | 'content'>): string {
  return context === undefined || context === '' ? content : `${context}\n${content}`
}

/** A text in the keyword index: its distinct terms, and how often each occurs. */
export interface TermCounts {
  /** A term as the first 64 bits of its hash, see `termKey`. */
  readonly keys: BigInt64Array
  /** The frequency of the term at the same index. */
  readonly frequencies: Int32Array
  /** The text's length in terms. */
  readonly termCount: number
  /** The language they were made with. */
  readonly language: Language
}

/** A vector that is already known: just computed, or that of a stored chunk with the same text. */
export type ChunkVector =
  | { readonly kind: 'new'; readonly vector: Float32Array }
  | { readonly kind: 'stored'; readonly chunkKey: bigint }

export interface EmbeddedChunk {
  readonly chunk: Chunk
  readonly terms: TermCounts
  readonly vector: ChunkVector
}

/** A document with all its chunks, which replaces everything stored under its id. */
export interface EmbeddedDocument {
  readonly document: Document
  readonly chunks: readonly EmbeddedChunk[]
}

/** A stored chunk whose vector a new chunk with equal text may reuse. */
export interface StoredChunkText {
  readonly chunkKey: bigint
  readonly documentId: string
  readonly content: string
  /** The text embedded before it. */
  readonly context: string
}

/** Changes to one stored chunk; missing parts stay. `chunk_id` and offsets always stay. */
export interface ChunkChange {
  readonly chunkKey: bigint
  readonly content?: {
    readonly text: string
    readonly vector: Float32Array
    /** The text embedded before it; missing: none. */
    readonly context?: string
    readonly isCut?: boolean
  }
  /** Metadata values that override the stored ones. */
  readonly metadata?: Row
}

/** The changes to one stored document; fields not named stay. */
export interface DocumentChange {
  readonly documentId: string
  /** Content columns whose chunks go. */
  readonly columns: readonly string[]
  /** The new chunks. */
  readonly chunks: readonly EmbeddedChunk[]
  /** Metadata values that override the stored ones in all chunks of the document. */
  readonly metadata: Row
  /** A null removes the key; unset: it is stored as null. */
  readonly nullRemoves?: boolean
  /**
   * The keys of all chunks it must still have, all with equal metadata; otherwise nothing changes. Unset: no condition.
   */
  readonly readKeys?: readonly bigint[]
}

/** Keys of `metadata` that every chunk has; a metadata column with such a name is not shown there. */
export const STANDARD_METADATA_KEYS: ReadonlySet<string> = new Set([
  'chunk_index',
  'content_column',
  'start_char',
  'end_char',
  'original_doc_id',
  'original_row_index',
  'source',
])

/** The document's own metadata: a chunk's metadata without the standard keys. */
export function ownMetadata(metadata: Row): Row {
  if (!isOfChunk(metadata)) return metadata
  const isPart = partTest(metadata)
  return Object.fromEntries(Object.entries(metadata).filter(([key], index) => !isPart(key, index)))
}

/** The chunk's part of its metadata: the standard keys, and facts about this chunk only. */
export function chunkPart(metadata: Row): Row {
  const isPart = partTest(metadata)
  return Object.fromEntries(Object.entries(metadata).filter(([key], index) => isPart(key, index)))
}

/** Fields of the chunk alone come before the last standard key, fields of its document after it. */
const LAST_STANDARD_KEY = 'source'

/** An object puts keys such as `2023` first, wherever they were written: their position says nothing. */
function partTest(metadata: Row): (key: string, index: number) => boolean {
  const last = Object.keys(metadata).indexOf(LAST_STANDARD_KEY)
  // Only fields of JSON are known of a chunk alone under such a name.
  const isMadeOfJson = metadata.source === ('JSONChunkingPreprocessor' satisfies ChunkSource)
  return (key, index) => {
    if (STANDARD_METADATA_KEYS.has(key)) return true
    return index < last && (isMadeOfJson || !isIndex(key))
  }
}

const LARGEST_INDEX = 2 ** 32 - 2

function isIndex(key: string): boolean {
  return /^(0|[1-9]\d{0,9})$/.test(key) && Number(key) <= LARGEST_INDEX
}

/** Facts about this chunk only in its metadata, such as `page`. */
export function chunkFacts(metadata: Row): Row {
  const entries = Object.entries(chunkPart(metadata))
  return Object.fromEntries(entries.filter(([key]) => !STANDARD_METADATA_KEYS.has(key)))
}

/** Whether these are the metadata of one document, all alike. null counts as missing. */
export function areAlike(owns: readonly Row[]): boolean {
  const [first, ...others] = owns.map(withoutEmpty)
  return others.every((own) => isDeepStrictEqual(own, first))
}

function withoutEmpty(own: Row): Row {
  return Object.fromEntries(Object.entries(own).filter(([, value]) => value !== null))
}

function isOfChunk(metadata: Row): boolean {
  return [...STANDARD_METADATA_KEYS].every((key) => Object.hasOwn(metadata, key))
}

/** The row without the keys that the change sets to null. */
export function withoutNulled(row: Row, changed: Row): Row {
  const nulled = new Set(
    Object.entries(changed).flatMap(([name, value]) => (value === null ? [nameKey(name)] : [])),
  )
  return Object.fromEntries(Object.entries(row).filter(([name]) => !nulled.has(nameKey(name))))
}

/** Merges values into a row. Names ignore case; the existing spelling stays. */
export function mergedMetadata(stored: Row, changed: Row): Row {
  const changes = new Map(Object.entries(changed).map((entry) => [nameKey(entry[0]), entry]))
  const merged: [string, CellValue][] = []
  const taken = new Set<string>()
  for (const [name, value] of Object.entries(stored)) {
    const key = nameKey(name)
    const change = changes.get(key)
    if (change === undefined) merged.push([name, value])
    else if (!taken.has(key)) merged.push([name, change[1]])
    taken.add(key)
  }
  for (const [key, change] of changes) if (!taken.has(key)) merged.push(change)
  return Object.fromEntries(merged)
}

/** The DuckDB schema of a project's tables. Callers' names never become table names. */
export function projectSchema(projectId: number): string {
  return `project_${projectId}`
}

/** The schema of uploaded files' rows, and the tables of a file in it. */
export const FILES_SCHEMA = 'uploaded'

/** @param index of a sheet; 0: the first, or the only table */
export function fileTable(fileId: number, index = 0): string {
  return index === 0 ? `file_${fileId}` : `file_${fileId}_${index + 1}`
}

/** The parts of a knowledge base's table names. */
export interface TableIds {
  readonly projectId: number
  readonly id: number
  /** Vectors of another model are in a table with another number. */
  readonly vectorsNumber: number
  /** Set for the keyword index being built, next to the one that searches read. */
  readonly isNextKeywordIndex?: boolean
}

/** The same knowledge base with the tables of its next keyword index. */
export function withNextKeywords({ projectId, id, vectorsNumber }: TableIds): TableIds {
  return { projectId, id, vectorsNumber, isNextKeywordIndex: true }
}

/** The tables as they will be once the vectors of the next model are complete. */
export function withNextVectors({ projectId, id, vectorsNumber }: TableIds): TableIds {
  return { projectId, id, vectorsNumber: vectorsNumber + 1 }
}

/** Quoted full names of a knowledge base's tables, joined by `chunk_key`. */
interface ChunkTables {
  /** `chunk_key, document_id, chunk_id, chunk_content, metadata`, then the typed metadata columns. */
  readonly chunks: string
  /** `chunk_key, vector FLOAT[dimensions]`: missing until the number of dimensions is known. */
  readonly vectors: string
  /**
   * `term, chunk_key, frequency, term_count`: how often a term occurs among the terms of a chunk. Sorted by term, so that
   * few blocks hold a term's rows.
   */
  readonly postings: string
  /** The same for chunks added since the postings were last sorted, in insertion order. */
  readonly recentPostings: string
  /** `chunk_key, term_count`: one row for each chunk. */
  readonly termCounts: string
  /**
   * `chunk_key, context, is_cut, layout`: the text embedded before a chunk, whether the chunk exceeds what the embedding
   * model reads, and on the first chunk of a text its layout. Only for chunks with any of these.
   */
  readonly contexts: string
}

export function chunkTables(ids: TableIds): ChunkTables {
  const schema = quote(projectSchema(ids.projectId))
  const table = (part: ChunkTablePart) => `${schema}.${quote(chunkTableName(ids, part))}`
  return {
    chunks: table('chunks'),
    vectors: table('vectors'),
    postings: table('postings'),
    recentPostings: table('recent_postings'),
    termCounts: table('term_counts'),
    contexts: table('contexts'),
  }
}

type ChunkTablePart =
  | 'chunks'
  | 'vectors'
  | 'postings'
  | 'recent_postings'
  | 'term_counts'
  | 'contexts'

const KEYWORD_PARTS: ReadonlySet<ChunkTablePart> = new Set([
  'postings',
  'recent_postings',
  'term_counts',
])

export function chunkTableName(
  { id, vectorsNumber, isNextKeywordIndex }: Omit<TableIds, 'projectId'>,
  part: ChunkTablePart,
): string {
  const next = isNextKeywordIndex === true && KEYWORD_PARTS.has(part) ? 'next_' : ''
  const number = part === 'vectors' && vectorsNumber > 0 ? `_${vectorsNumber}` : ''
  return `${knowledgeBaseTablePrefix({ id })}${next}${part}${number}`
}

/** The prefix of all tables of a knowledge base. */
export function knowledgeBaseTablePrefix({ id }: Pick<TableIds, 'id'>): string {
  return `kb_${id}_`
}

/** The table in a project's schema that holds the rows of a `ProjectTable`. */
export function projectTable(tableId: number): string {
  return `table_${tableId}`
}

/** A value in a row: anything JSON can express. */
export type RowValue =
  | null
  | boolean
  | number
  | string
  | readonly RowValue[]
  | { readonly [key: string]: RowValue }

/**
 * A value of a type that JSON does not have, exactly as its source holds it: only the store looks into `exact`. As JSON it
 * is what an answer shows.
 */
export class TypedValue {
  /** As `typeText` writes it. */
  readonly type: string
  readonly shown: RowValue
  readonly exact: unknown

  constructor(type: string, shown: RowValue, exact: unknown) {
    this.type = type
    this.shown = shown
    this.exact = exact
  }

  toJSON(): RowValue {
    return this.shown
  }
}

/** A value of a row: a JSON value, or one with a type. */
export type CellValue = RowValue | TypedValue

/** The value as JSON says it. */
export function shownValue(value: CellValue): RowValue {
  return value instanceof TypedValue ? value.shown : value
}

/** A row from a source: column name → value. */
export type Row = Readonly<Record<string, CellValue>>

/** One text of a document: a content column and what it holds. */
export interface DocumentText {
  readonly column: string
  readonly text: string
  /** Missing: a row without a known layout. */
  readonly layout?: TextLayout
}

/** The layout of a text, if known. Chunking follows it. */
export interface TextLayout {
  readonly title: string | null
  readonly syntax: TextSyntax
  readonly parts: TextParts | null
}

export type TextSyntax = 'text' | 'markdown' | 'code'

/** Pages, slides or chapters of a text. */
export interface TextParts {
  readonly unit: 'page' | 'slide' | 'chapter' | 'cell'
  /** The start of each in the text, in code units, ascending; its number is its index plus 1. */
  readonly starts: readonly number[]
}

/** One inserted row, file or page, ready to be cut into chunks. */
export interface Document {
  readonly id: string
  /** Position of the row in its insert, from 0. */
  readonly rowIndex: number
  readonly texts: readonly DocumentText[]
  readonly metadata: Row
}

/** Longer strings in one cell are refused: a chunk id would have to count a million chunks. */
export const CELL_CHARS_MAX = 100_000_000
