/**
 * Documents → chunks with their terms. Cutting texts and counting their terms is most of the work of an insert, so it is
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

/** A document that is cut and not embedded yet. */
export interface ChunkedDocument {
  readonly document: Document
  readonly chunks: readonly Omit<EmbeddedChunk, 'vector'>[]
}

/** How texts become chunks. */
export type CutRules = Pick<KnowledgeBase, 'preprocessing' | 'language'>

/** The chunks of some texts, in their order. */
export interface CutTexts {
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
  /** Texts that cannot be cut: they have no chunks. */
  readonly failures: readonly CutFailure[]
}

interface CutFailure {
  readonly textIndex: number
  readonly code: ErrorCode
  readonly message: string
}

export interface TextCutter {
  /** @throws AppError `insert_failed` where it takes too long, `too_busy`, `shutting_down` */
  cut(texts: readonly string[], rules: CutRules, signal: AbortSignal): Promise<CutTexts>
}

/** The chunks of each document, or why it has none: `insert_failed` for content that is not JSON where it must be. */
export async function chunkDocuments(
  documents: readonly Document[],
  { kb, cutter }: { readonly kb: KnowledgeBase; readonly cutter: TextCutter },
  signal: AbortSignal,
): Promise<readonly (ChunkedDocument | AppError)[]> {
  const texts = documents.flatMap((document) => document.texts.map(({ text }) => text))
  const { preprocessing, language } = kb
  const cut = await cutter.cut(texts, { preprocessing, language }, signal)
  return chunkedDocuments(documents, cut, preprocessing)
}

/** @param cut of all texts of the documents, in their order */
export function chunkedDocuments(
  documents: readonly Document[],
  cut: CutTexts,
  preprocessing: Preprocessing,
): readonly (ChunkedDocument | AppError)[] {
  const failures = new Map(cut.failures.map((failure) => [failure.textIndex, failure]))
  const source = SOURCES[preprocessing.type]
  let textIndex = 0
  let chunkIndex = 0
  let termIndex = 0
  return documents.map((document) => {
    const chunks: Omit<EmbeddedChunk, 'vector'>[] = []
    let failure: CutFailure | undefined
    for (const text of document.texts) {
      failure ??= failures.get(textIndex)
      const count = cut.chunkCounts[textIndex] ?? 0
      for (let index = 0; index < count; index += 1) {
        const terms = termsOf(cut, chunkIndex, termIndex)
        const place = { index, count, chunkIndex, source }
        chunks.push({ chunk: chunkOf(document, text, cut, place), terms })
        chunkIndex += 1
        termIndex += terms.keys.length
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

function termsOf(cut: CutTexts, chunkIndex: number, termIndex: number): TermCounts {
  const end = termIndex + (cut.distinctCounts[chunkIndex] ?? 0)
  return {
    keys: cut.keys.subarray(termIndex, end),
    frequencies: cut.frequencies.subarray(termIndex, end),
    termCount: cut.termCounts[chunkIndex] ?? 0,
  }
}

function chunkOf(
  { id }: Document,
  { column, text }: DocumentText,
  { starts, ends, contents }: CutTexts,
  place: {
    /** Among the chunks of its text. */
    readonly index: number
    readonly count: number
    /** Among all chunks. */
    readonly chunkIndex: number
    readonly source: ChunkSource
  },
): Chunk {
  const { index, count, chunkIndex, source } = place
  const startChar = starts[chunkIndex] ?? 0
  const endChar = ends[chunkIndex] ?? 0
  return {
    documentId: id,
    chunkId: `${id}:${column}:${index + 1}of${count}:${startChar}to${endChar}`,
    contentColumn: column,
    content: contents === null ? text.slice(startChar, endChar) : (contents[chunkIndex] ?? ''),
    startChar,
    endChar,
    chunkIndex: index,
    source,
  }
}

/**
 * Cuts each text and counts the terms of its chunks. Pure, and as long as the texts are: see `TextCutter`. A text is cut
 * no further once there are more chunks than may be stored at once.
 */
export function cutTexts(
  texts: readonly string[],
  { preprocessing, language }: CutRules,
  analyzers: Analyzers,
): CutTexts {
  const analyzer = analyzers.get(language)
  const chunkCounts = new Int32Array(texts.length)
  const starts: number[] = []
  const ends: number[] = []
  const contents: string[] = []
  const terms: TermCounts[] = []
  const failures: CutFailure[] = []
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
  const cut = preprocessing.type === 'markdown_chunking' ? chunkMarkdown : chunkText
  for (const { startChar, endChar } of cut(text, preprocessing)) {
    yield { content: text.slice(startChar, endChar), startChar, endChar }
  }
}
