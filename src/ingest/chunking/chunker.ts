/**
 * Documents → chunks with their terms. Chunking texts and counting their terms is most of the work of an insert, so it is
 * done where the text is not in anybody's way: what crosses to that thread and back are strings and arrays of numbers.
 */
import { type Analyzers, countTerms } from '../../analysis/analyzer.ts'
import type { Chunk, ChunkSource, EmbeddedChunk, TermCounts } from '../../domain/chunk.ts'
import type { Document, DocumentText } from '../../domain/document.ts'
import type { KnowledgeBase, Preprocessing } from '../../domain/knowledge-base.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import { chunkJson } from './chunk-json.ts'
import { chunkMarkdown, chunkText } from './chunk-text.ts'

/** A document with its chunks, which are not embedded yet. */
export interface ChunkedDocument {
  readonly document: Document
  readonly chunks: readonly Omit<EmbeddedChunk, 'vector'>[]
}

/** How texts become chunks. */
export type ChunkingRules = Pick<KnowledgeBase, 'preprocessing' | 'language'>

/** The chunks of some texts, in their order. */
export interface ChunkedTexts {
  /** Of each text. */
  readonly chunkCounts: Int32Array
  /** Of each chunk, in code units into its text. */
  readonly starts: Int32Array
  readonly ends: Int32Array
  /** Of each chunk, where it is not a part of its text: JSON is rewritten. */
  readonly contents: readonly string[] | null
  /** Of each chunk: how many terms it has, and how many of these are distinct. */
  readonly termCounts: Int32Array
  readonly distinctCounts: Int32Array
  /** The distinct terms of all chunks, one chunk after the other. */
  readonly keys: BigInt64Array
  readonly frequencies: Int32Array
  /** Texts that cannot be chunked: they have no chunks. */
  readonly failures: readonly ChunkingFailure[]
}

interface ChunkingFailure {
  readonly textIndex: number
  readonly code: ErrorCode
  readonly message: string
}

export interface Chunker {
  /** @throws AppError `insert_failed` where it takes too long, `too_busy`, `shutting_down` */
  chunk(texts: readonly string[], rules: ChunkingRules, signal: AbortSignal): Promise<ChunkedTexts>
}

/** The chunks of each document, or why it has none: `insert_failed` for content that is not JSON where it must be. */
export async function chunkDocuments(
  documents: readonly Document[],
  { kb, chunker }: { readonly kb: KnowledgeBase; readonly chunker: Chunker },
  signal: AbortSignal,
): Promise<readonly (ChunkedDocument | AppError)[]> {
  const texts = documents.flatMap((document) => document.texts.map(({ text }) => text))
  const { preprocessing, language } = kb
  const chunked = await chunker.chunk(texts, { preprocessing, language }, signal)
  return chunkedDocuments(documents, chunked, preprocessing)
}

/** @param chunked of all texts of the documents, in their order */
export function chunkedDocuments(
  documents: readonly Document[],
  chunked: ChunkedTexts,
  preprocessing: Preprocessing,
): readonly (ChunkedDocument | AppError)[] {
  const failures = new Map(chunked.failures.map((failure) => [failure.textIndex, failure]))
  const source = SOURCES[preprocessing.type]
  let textIndex = 0
  // Both over the chunks of all texts.
  let chunkPosition = 0
  let termPosition = 0
  return documents.map((document) => {
    const chunks: Omit<EmbeddedChunk, 'vector'>[] = []
    let failure: ChunkingFailure | undefined
    for (const text of document.texts) {
      failure ??= failures.get(textIndex)
      const chunkCount = chunked.chunkCounts[textIndex] ?? 0
      for (let chunkIndex = 0; chunkIndex < chunkCount; chunkIndex += 1) {
        const terms = termsOf(chunked, chunkPosition, termPosition)
        const place = { chunkIndex, chunkCount, chunkPosition, source }
        chunks.push({ chunk: chunkOf(document, text, chunked, place), terms })
        chunkPosition += 1
        termPosition += terms.keys.length
      }
      textIndex += 1
    }
    if (failure !== undefined) return new AppError(failure.code, failure.message)
    return { document, chunks }
  })
}

const SOURCES: Readonly<Record<Preprocessing['type'], ChunkSource>> = {
  text_chunking: 'TextChunkingPreprocessor',
  markdown_chunking: 'MarkdownChunkingPreprocessor',
  json_chunking: 'JSONChunkingPreprocessor',
}

function termsOf(
  { keys, frequencies, termCounts, distinctCounts }: ChunkedTexts,
  chunkPosition: number,
  termPosition: number,
): TermCounts {
  const end = termPosition + (distinctCounts[chunkPosition] ?? 0)
  return {
    keys: keys.subarray(termPosition, end),
    frequencies: frequencies.subarray(termPosition, end),
    termCount: termCounts[chunkPosition] ?? 0,
  }
}

function chunkOf(
  { id }: Document,
  { column, text }: DocumentText,
  { starts, ends, contents }: ChunkedTexts,
  place: {
    /** Among the chunks of its text. */
    readonly chunkIndex: number
    readonly chunkCount: number
    /** Among the chunks of all texts. */
    readonly chunkPosition: number
    readonly source: ChunkSource
  },
): Chunk {
  const { chunkIndex, chunkCount, chunkPosition, source } = place
  const startChar = starts[chunkPosition] ?? 0
  const endChar = ends[chunkPosition] ?? 0
  return {
    documentId: id,
    chunkId: `${id}:${column}:${chunkIndex + 1}of${chunkCount}:${startChar}to${endChar}`,
    contentColumn: column,
    content: contents === null ? text.slice(startChar, endChar) : (contents[chunkPosition] ?? ''),
    startChar,
    endChar,
    chunkIndex,
    source,
  }
}

/**
 * Cuts each text into chunks and counts their terms. Pure, and takes as long as the texts are: see `Chunker`. It stops
 * cutting a text that has more chunks than may be stored at once.
 */
export function chunkTexts(
  texts: readonly string[],
  { preprocessing, language }: ChunkingRules,
  analyzers: Analyzers,
): ChunkedTexts {
  const analyzer = analyzers.get(language)
  const chunkCounts = new Int32Array(texts.length)
  const starts: number[] = []
  const ends: number[] = []
  const contents: string[] = []
  const terms: TermCounts[] = []
  const failures: ChunkingFailure[] = []
  for (const [textIndex, text] of texts.entries()) {
    const first = starts.length
    try {
      for (const { startChar, endChar, content } of piecesOf(text, preprocessing)) {
        starts.push(startChar)
        ends.push(endChar)
        contents.push(content)
        terms.push(countTerms(analyzer.terms(content)))
        if (starts.length - first > INGEST_LIMITS.sourceChunksMax) break
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      failures.push({ textIndex, code: error.code, message: error.message })
      for (const list of [starts, ends, contents, terms]) list.length = first
    }
    chunkCounts[textIndex] = starts.length - first
  }
  return {
    chunkCounts,
    starts: Int32Array.from(starts),
    ends: Int32Array.from(ends),
    contents: preprocessing.type === 'json_chunking' ? contents : null,
    ...joinedTerms(terms),
    failures,
  }
}

function joinedTerms(terms: readonly TermCounts[]) {
  const keyCount = terms.reduce((sum, { keys }) => sum + keys.length, 0)
  const keys = new BigInt64Array(keyCount)
  const frequencies = new Int32Array(keyCount)
  let start = 0
  for (const chunk of terms) {
    keys.set(chunk.keys, start)
    frequencies.set(chunk.frequencies, start)
    start += chunk.keys.length
  }
  return {
    termCounts: Int32Array.from(terms, ({ termCount }) => termCount),
    distinctCounts: Int32Array.from(terms, (chunk) => chunk.keys.length),
    keys,
    frequencies,
  }
}

function* piecesOf(text: string, preprocessing: Preprocessing) {
  if (preprocessing.type === 'json_chunking') {
    for (const content of chunkJson(text)) yield { content, startChar: 0, endChar: content.length }
    return
  }
  const spansOf = preprocessing.type === 'markdown_chunking' ? chunkMarkdown : chunkText
  for (const { startChar, endChar } of spansOf(text, preprocessing)) {
    yield { content: text.slice(startChar, endChar), startChar, endChar }
  }
}
