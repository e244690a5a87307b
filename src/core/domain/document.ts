import { isDeepStrictEqual } from 'node:util'
import type { Language } from './language.ts'
import { nameKey, quote } from './names.ts'

/** The preprocessor that made a chunk, under the name existing clients expect. */
export type ChunkSource =
  | 'TextChunkingPreprocessor'
  | 'JSONChunkingPreprocessor'
  | 'ContextualPreprocessor'
  | 'MarkdownChunkingPreprocessor'

/** A span of a document's column; the unit of embedding and retrieval. */
export interface Chunk {
  readonly documentId: string
  /** `<document id>:<column>:<n>of<total>:<start>to<end>`; n starts at 1. */
  readonly chunkId: string
  readonly contentColumn: string
  /** Offsets are code units of the column's text: `content === text.slice(startChar, endChar)`. */
  readonly content: string
  readonly startChar: number
  readonly endChar: number
  readonly chunkIndex: number
  readonly source: ChunkSource
  /** Title, headings, the table's header, or a sentence from a model. */
  readonly context?: string
  /** Metadata of this chunk only, such as `heading`, `page` and `line`. */
  readonly facts?: Row
  /** Token count of the embedded text; missing if unknown. */
  readonly tokenCount?: number
  /** Whether the chunk is longer than the embedding model can read. */
  readonly isCut?: boolean
  /** On a text's first chunk: the text's layout, if known. */
  readonly layout?: TextLayout
  /** On a text's first chunk: the text between its chunks, in order. */
  readonly between?: string
}

export function embeddedText({ context, content }: Pick<Chunk, 'context' | 'content'>): string {
  return context === undefined || context === '' ? content : `${context}\n${content}`
}

/** The terms of a text for the keyword index, and how often each occurs. */
export interface TermCounts {
  /** The first 64 bits of each term's hash, see `termKey`. */
  readonly keys: BigInt64Array
  /** The frequency of the term at the same index. */
  readonly frequencies: Int32Array
  /** The length of the text in terms. */
  readonly termCount: number
  /** The language whose rules produced the terms. */
  readonly language: Language
}

/** A chunk's vector: just computed, or reused from a stored chunk with the same text. */
export type ChunkVector =
  | { readonly kind: 'new'; readonly vector: Float32Array }
  | { readonly kind: 'stored'; readonly chunkKey: bigint }

export interface EmbeddedChunk {
  readonly chunk: Chunk
  readonly terms: TermCounts
  readonly vector: ChunkVector
}

/** A document with all its chunks, replacing everything stored under its id. */
export interface EmbeddedDocument {
  readonly document: Document
  readonly chunks: readonly EmbeddedChunk[]
}

/** A stored chunk; a new chunk with the same text may reuse its vector. */
export interface StoredChunkText {
  readonly chunkKey: bigint
  readonly documentId: string
  readonly content: string
  /** The text put in front of the content when it is embedded. */
  readonly context: string
}

/** Changes to one stored chunk; missing fields stay. `chunk_id` and offsets never change. */
export interface ChunkChange {
  readonly chunkKey: bigint
  readonly content?: {
    readonly text: string
    readonly vector: Float32Array
    /** The text embedded before the content, if any. */
    readonly context?: string
    readonly isCut?: boolean
  }
  /** Overrides the stored metadata values. */
  readonly metadata?: Row
}

export interface DocumentChange {
  readonly documentId: string
  /** Content columns whose chunks are removed. */
  readonly columns: readonly string[]
  readonly chunks: readonly EmbeddedChunk[]
  /** Overrides the stored metadata values in all chunks of the document. */
  readonly metadata: Row
  /** Whether a null removes the key instead of being stored as null. */
  readonly nullRemoves?: boolean
  /** If set, nothing changes unless these are still all chunks, all with the same metadata. */
  readonly readKeys?: readonly bigint[]
}

/** A metadata column with such a name is not shown in `metadata`. */
export const STANDARD_METADATA_KEYS: ReadonlySet<string> = new Set([
  'chunk_index',
  'content_column',
  'start_char',
  'end_char',
  'original_doc_id',
  'original_row_index',
  'source',
])

/** The document's metadata: a chunk's metadata without the standard keys. */
export function ownMetadata(metadata: Row): Row {
  if (!isOfChunk(metadata)) return metadata
  const isPart = partTest(metadata)
  return Object.fromEntries(Object.entries(metadata).filter(([key], index) => !isPart(key, index)))
}

/** The part of the metadata that belongs to this chunk: standard keys and its own keys. */
export function chunkPart(metadata: Row): Row {
  const isPart = partTest(metadata)
  return Object.fromEntries(Object.entries(metadata).filter(([key], index) => isPart(key, index)))
}

/** In stored metadata, the chunk's own keys precede this one; the document's keys follow it. */
const LAST_STANDARD_KEY = 'source'

/** JavaScript moves keys such as `2023` to the front, so their position is meaningless. */
function partTest(metadata: Row): (key: string, index: number) => boolean {
  const last = Object.keys(metadata).indexOf(LAST_STANDARD_KEY)
  // Only chunks of JSON can have such a key of their own.
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

/** The metadata of this chunk only, such as `page`. */
export function chunkFacts(metadata: Row): Row {
  const entries = Object.entries(chunkPart(metadata))
  return Object.fromEntries(entries.filter(([key]) => !STANDARD_METADATA_KEYS.has(key)))
}

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

/** Merges values into a row. Names ignore case; the existing spelling is kept. */
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

/** By id, because user-chosen names never become table names. */
export function projectSchema(projectId: number): string {
  return `project_${projectId}`
}

/** The schema that holds the rows of uploaded files. */
export const FILES_SCHEMA = 'uploaded'

/** @param index the sheet's index; 0 is the first sheet or the only table */
export function fileTable(fileId: number, index = 0): string {
  return index === 0 ? `file_${fileId}` : `file_${fileId}_${index + 1}`
}

/** What a knowledge base's table names are made of. */
export interface TableIds {
  readonly projectId: number
  readonly id: number
  /** Increases with each new embedding model, so that its vectors get their own table. */
  readonly vectorsNumber: number
  /** Set for the keyword index being built while searches still read the old one. */
  readonly isNextKeywordIndex?: boolean
}

/** The same knowledge base, pointing to the keyword index being built. */
export function withNextKeywords({ projectId, id, vectorsNumber }: TableIds): TableIds {
  return { projectId, id, vectorsNumber, isNextKeywordIndex: true }
}

/** The same knowledge base, pointing to the vectors of the next model. */
export function withNextVectors({ projectId, id, vectorsNumber }: TableIds): TableIds {
  return { projectId, id, vectorsNumber: vectorsNumber + 1 }
}

/** Quoted, qualified names of a knowledge base's tables, which are joined on `chunk_key`. */
interface ChunkTables {
  /** `chunk_key, document_id, chunk_id, chunk_content, metadata`, then the typed metadata columns. */
  readonly chunks: string
  /** `chunk_key, vector FLOAT[dimensions]`. Missing until the number of dimensions is known. */
  readonly vectors: string
  /** Sorted by term, so that the rows of one are in few blocks. */
  readonly postings: string
  /** The same for chunks added since the last sort, in insertion order. */
  readonly recentPostings: string
  /** `chunk_key, term_count`: one row per chunk. */
  readonly termCounts: string
  /**
   * `chunk_key, context, is_cut, layout`: the text embedded before a chunk, whether the chunk is
   * longer than the embedding model can read, and, on a text's first chunk, its layout. Only chunks
   * with any of these have a row.
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

/** The prefix of all table names of a knowledge base. */
export function knowledgeBaseTablePrefix({ id }: Pick<TableIds, 'id'>): string {
  return `kb_${id}_`
}

/** The table that holds the rows of a `ProjectTable`, in its project's schema. */
export function projectTable(tableId: number): string {
  return `table_${tableId}`
}

/** Any JSON value. */
export type RowValue =
  | null
  | boolean
  | number
  | string
  | readonly RowValue[]
  | { readonly [key: string]: RowValue }

/** Exactly as in the source. Only the store reads `exact`; JSON has the answer's form. */
export class TypedValue {
  /** In the notation of `typeText`. */
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

/** A cell's value: JSON, or a typed value. */
export type CellValue = RowValue | TypedValue

export function shownValue(value: CellValue): RowValue {
  return value instanceof TypedValue ? value.shown : value
}

export type Row = Readonly<Record<string, CellValue>>

/** A content column and its text. */
export interface DocumentText {
  readonly column: string
  readonly text: string
  /** Missing if the layout is unknown. */
  readonly layout?: TextLayout
}

/** The layout of a text, which chunking follows. */
export interface TextLayout {
  readonly title: string | null
  readonly syntax: TextSyntax
  readonly parts: TextParts | null
}

export type TextSyntax = 'text' | 'markdown' | 'code'

/** The pages, slides or chapters of a text. */
export interface TextParts {
  readonly unit: 'page' | 'slide' | 'chapter' | 'cell'
  /** In code units, ascending. A part's number is its index plus 1. */
  readonly starts: readonly number[]
}

/** One inserted row, file or page, ready to be chunked. */
export interface Document {
  readonly id: string
  /** The row's position in its insert, from 0. */
  readonly rowIndex: number
  readonly texts: readonly DocumentText[]
  readonly metadata: Row
}

/** Longer strings are refused, because they would become about a million chunks. */
export const CELL_CHARS_MAX = 100_000_000
