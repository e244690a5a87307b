/**
 * Splits documents into chunks and computes their terms. This is most of the work of an insert, so
 * it runs in a worker thread, which exchanges only strings and number arrays.
 */

import { startsName } from '../../core/domain/agents/completion-event.ts'
import type {
  Chunk,
  ChunkSource,
  Document,
  DocumentText,
  EmbeddedChunk,
  Row,
  TermCounts,
  TextParts,
} from '../../core/domain/document.ts'
import type { KnowledgeBase, Preprocessing } from '../../core/domain/knowledge-base.ts'
import type { EmbedderReach, EmbedderRegistry } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { HEADING_JOINT } from './chunk-markdown.ts'
import type { TextSpan } from './chunk-text.ts'
import type { ChunkableText, ChunkedTexts, ChunkingFailure, ChunkingRules } from './chunk-texts.ts'

/** A document with its chunks, not embedded yet. */
export interface ChunkedDocument {
  readonly document: Document
  readonly chunks: readonly Omit<EmbeddedChunk, 'vector'>[]
}

export interface Chunker {
  /** @throws AppError `insert_failed` if it takes too long, `too_busy`, `shutting_down` */
  chunk(
    texts: readonly ChunkableText[],
    rules: ChunkingRules,
    signal: AbortSignal,
  ): Promise<ChunkedTexts>
}

/** The knowledge base settings for chunking documents. */
export interface ChunkingTarget {
  readonly kb: Pick<KnowledgeBase, 'preprocessing' | 'language'>
  readonly reach: EmbedderReach | null
  readonly chunker: Chunker
}

/** Or the error why a document has none, such as `insert_failed` for invalid JSON. */
export async function chunkDocuments(
  documents: readonly Document[],
  { kb, reach, chunker }: ChunkingTarget,
  signal: AbortSignal,
): Promise<readonly (ChunkedDocument | AppError)[]> {
  const texts = documents.flatMap((document) => document.texts.map(chunkableText))
  const { preprocessing, language } = kb
  const chunked = await chunker.chunk(texts, { preprocessing, language, reach }, signal)
  return chunkedDocuments(documents, chunked, preprocessing)
}

/** Leaves out the starts of pages, because chunks may cross pages. */
export function chunkableText({ text, layout }: DocumentText): ChunkableText {
  if (layout === undefined) return { text }
  const { title, syntax, parts } = layout
  return { text, title, syntax, apart: parts !== null && isApart(parts) ? parts : null }
}

/** @param chunked the result for all texts of the documents, in order */
export function chunkedDocuments(
  documents: readonly Document[],
  chunked: ChunkedTexts,
  preprocessing: Preprocessing,
): readonly (ChunkedDocument | AppError)[] {
  const failures = new Map(chunked.failures.map((failure) => [failure.textIndex, failure]))
  let textIndex = 0
  // Both positions count across all texts.
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
        const place = { chunkIndex, chunkCount, chunkPosition }
        chunks.push({ chunk: chunkOf(document, text, { chunked, preprocessing, place }), terms })
        chunkPosition += 1
        termPosition += terms.keys.length
      }
      textIndex += 1
    }
    if (failure !== undefined) return new AppError(failure.code, failure.message)
    return { document, chunks }
  })
}

function chunkSource({ type }: Preprocessing, { layout }: DocumentText): ChunkSource {
  if (type === 'json_chunking') return 'JSONChunkingPreprocessor'
  if (type === 'contextual') return 'ContextualPreprocessor'
  const isMarkdown = type === 'auto' ? layout?.syntax === 'markdown' : type === 'markdown_chunking'
  return isMarkdown ? 'MarkdownChunkingPreprocessor' : 'TextChunkingPreprocessor'
}

function termsOf(
  { keys, frequencies, termCounts, distinctCounts, language }: ChunkedTexts,
  chunkPosition: number,
  termPosition: number,
): TermCounts {
  const end = termPosition + (distinctCounts[chunkPosition] ?? 0)
  return {
    keys: keys.subarray(termPosition, end),
    frequencies: frequencies.subarray(termPosition, end),
    termCount: termCounts[chunkPosition] ?? 0,
    language,
  }
}

interface ChunkPlace {
  readonly chunkIndex: number
  readonly chunkCount: number
  readonly chunkPosition: number
}

function chunkOf(
  { id, metadata }: Document,
  documentText: DocumentText,
  given: {
    readonly chunked: ChunkedTexts
    readonly preprocessing: Preprocessing
    readonly place: ChunkPlace
  },
): Chunk {
  const { chunked, preprocessing, place } = given
  const { column, text } = documentText
  const { chunkIndex, chunkCount, chunkPosition } = place
  const { contents, tokenCounts } = chunked
  const startChar = chunked.starts[chunkPosition] ?? 0
  const endChar = chunked.ends[chunkPosition] ?? 0
  const context = chunked.strings[chunked.contexts[chunkPosition] ?? 0] ?? ''
  const facts = chunkFacts(documentText, { chunked, chunkPosition, startChar, endChar }, metadata)
  const shownColumn = preprocessing.json?.contentColumn ?? column
  const chunk: { -readonly [Key in keyof Chunk]: Chunk[Key] } = {
    documentId: id,
    chunkId: `${id}:${shownColumn}:${chunkIndex + 1}of${chunkCount}:${startChar}to${endChar}`,
    contentColumn: column,
    content: contents === null ? text.slice(startChar, endChar) : (contents[chunkPosition] ?? ''),
    startChar,
    endChar,
    chunkIndex,
    source: chunkSource(preprocessing, documentText),
  }
  if (context !== '') chunk.context = context
  if (facts !== null) chunk.facts = facts
  if (tokenCounts !== null) chunk.tokenCount = tokenCounts[chunkPosition] ?? 0
  if (chunked.cut[chunkPosition] === 1) chunk.isCut = true
  if (chunkIndex > 0) return chunk
  const { layout } = documentText
  if (layout !== undefined) chunk.layout = layout
  const between = contents === null ? textBetween(documentText, chunked, place) : null
  if (between !== null) chunk.between = between
  return chunk
}

/** Returns the text outside of chunks, mostly white space. Null if it is not worth storing. */
function textBetween(
  { text, layout }: DocumentText,
  { starts, ends }: ChunkedTexts,
  { chunkCount, chunkPosition }: ChunkPlace,
): string | null {
  const own = Array.from({ length: chunkCount }, (_, index) => chunkPosition + index)
  const pieces: string[] = []
  let end = 0
  for (const at of own.toSorted((a, b) => (starts[a] ?? 0) - (starts[b] ?? 0))) {
    const start = starts[at] ?? 0
    if (start > end) pieces.push(text.slice(end, start))
    end = Math.max(end, ends[at] ?? 0)
  }
  // Most rows are a single chunk, whose trailing white space is not worth storing.
  if (pieces.length === 0 && layout === undefined) return null
  pieces.push(text.slice(end))
  const between = pieces.join('')
  return between === '' ? null : between
}

/** null if there is none. A document's own field of the same name wins. */
function chunkFacts(
  { layout }: DocumentText,
  place: {
    readonly chunked: ChunkedTexts
    readonly chunkPosition: number
    readonly startChar: number
    readonly endChar: number
  },
  metadata: Row,
): Row | null {
  const { chunked, chunkPosition, startChar, endChar } = place
  const heading = chunked.strings[chunked.headings[chunkPosition] ?? 0] ?? ''
  const line = chunked.lines[chunkPosition] ?? 0
  const parts = layout?.parts ?? null
  const known = chunked.facts?.[chunkPosition]
  // Fast path: most chunks have no such metadata.
  if (heading === '' && line === 0 && parts === null && known === undefined) return null
  const facts: Row = {
    ...(heading === '' ? {} : { heading: heading.replaceAll('\n', HEADING_JOINT) }),
    ...(parts === null ? {} : chunkedParts(parts, { startChar, endChar })),
    ...(line === 0 || parts !== null ? {} : { line }),
    ...known,
  }
  const own = new Set(Object.keys(metadata).map((name) => name.toLowerCase()))
  const kept = Object.entries(facts).filter(([name]) => !own.has(name.toLowerCase()))
  return kept.length === 0 ? null : Object.fromEntries(kept)
}

/** Slides and chapters are chunked separately, while text may cross pages and cells. */
function isApart({ unit }: TextParts): boolean {
  return unit === 'slide' || unit === 'chapter'
}

/** For example `{ page: 1, page_end: 2, page_starts: [812] }`, with offsets in the chunk. */
function chunkedParts(parts: TextParts, { startChar, endChar }: TextSpan): Row {
  const { unit, starts } = parts
  const first = partAt(parts, startChar)
  if (first === 0) return {}
  const last = partAt(parts, endChar - 1)
  const within = starts.slice(first, last).map((start) => start - startChar)
  return {
    [unit]: first,
    [`${unit}_end`]: last,
    ...(last > first && { [startsName(unit)]: within }),
  }
}

function partAt({ starts }: TextParts, at: number): number {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) <= at) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the texts that are longer than the embedding model's input. */
export async function cutTexts(
  texts: readonly string[],
  given: {
    readonly kb: KnowledgeBase
    readonly embedders: Pick<EmbedderRegistry, 'embedder'>
    readonly chunker: Chunker
  },
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { kb, embedders, chunker } = given
  const { reach = null } = embedders.embedder(kb.embeddingModel)
  if (reach === null || texts.length === 0) return new Set()
  const rules = { preprocessing: WHOLE, language: kb.language, reach }
  const whole = texts.map((text) => ({ text }))
  const chunked = await chunker.chunk(whole, rules, signal)
  const cut = new Set<string>()
  let chunkPosition = 0
  for (const [index, text] of texts.entries()) {
    if (chunked.cut[chunkPosition] === 1) cut.add(text)
    chunkPosition += chunked.chunkCounts[index] ?? 0
  }
  return cut
}

/** Makes each text one chunk, to count its tokens. */
const WHOLE: Preprocessing = {
  type: 'text_chunking',
  chunkSizeChars: Number.MAX_SAFE_INTEGER,
  chunkOverlapChars: 0,
  isSizeChosen: true,
  sent: null,
}
