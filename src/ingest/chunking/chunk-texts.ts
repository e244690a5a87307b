/**
 * Splits texts into spans and computes their contexts and terms. No I/O; linear in the length of
 * the texts. See `Chunker`.
 */

import type { Row, TermCounts, TextParts, TextSyntax } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { KnowledgeBase, Preprocessing } from '../../core/domain/knowledge-base.ts'
import type { Language } from '../../core/domain/language.ts'
import type { EmbedderReach, TokenCounter } from '../../core/domain/ports/model-ports.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import { analyzerFor } from '../../core/text/analyzer.ts'
import { chunkCode } from './chunk-code.ts'
import { chunkJson } from './chunk-json.ts'
import { ChunkContext, chunkMarkdown } from './chunk-markdown.ts'
import {
  BYTE_COUNTER,
  chunkSentences,
  chunkText,
  type SpanLimits,
  shifted,
  type TextPiece,
  type TextSpan,
} from './chunk-text.ts'

export interface ChunkableText {
  readonly text: string
  readonly title?: string | null
  /** Undefined if unknown. */
  readonly syntax?: TextSyntax
  /** Parts with boundaries that no Markdown chunk crosses. */
  readonly apart?: TextParts | null
}

export type ChunkingRules = Pick<KnowledgeBase, 'preprocessing' | 'language'> & {
  /** The input limits of the embedding model; null if unknown. */
  readonly reach: EmbedderReach | null
}

export interface ChunkedTexts {
  readonly chunkCounts: Int32Array
  /** Where each chunk starts, in UTF-16 code units of its text. */
  readonly starts: Int32Array
  readonly ends: Int32Array
  /** null unless a chunk's content differs from its part of the text, as for rewritten JSON. */
  readonly contents: readonly string[] | null
  /** Strings shared by many chunks. The first one is ''. */
  readonly strings: readonly string[]
  /** Per chunk: the text embedded before it, and its headings, separated by line feeds. */
  readonly contexts: Int32Array
  readonly headings: Int32Array
  /** The line of each chunk, counted from 1; 0 if lines are not counted. */
  readonly lines: Int32Array
  /** The metadata of each chunk, if any chunk has some. */
  readonly facts: readonly Row[] | null
  /** The number of embedded tokens per chunk; null if the model's tokenizer is unknown. */
  readonly tokenCounts: Int32Array | null
  /** 1 if the chunk is longer than the model's input. */
  readonly cut: Uint8Array
  /** Two numbers per chunk: how many terms it has, and how many distinct ones. */
  readonly termCounts: Int32Array
  readonly distinctCounts: Int32Array
  /** The distinct terms of all chunks, chunk by chunk. */
  readonly keys: BigInt64Array
  readonly frequencies: Int32Array
  readonly language: Language
  /** Texts that cannot be chunked. They have no chunks. */
  readonly failures: readonly ChunkingFailure[]
}

export interface ChunkingFailure {
  readonly textIndex: number
  readonly code: ErrorCode
  readonly message: string
}

/** Stops at a text with more chunks than one transaction may store. */
export function chunkTexts(
  texts: readonly ChunkableText[],
  rules: ChunkingRules,
  wordPieces: () => TokenCounter,
): ChunkedTexts {
  const analyzer = analyzerFor(rules.language)
  const counter = counterOf(rules, wordPieces)
  const chunkCounts = new Int32Array(texts.length)
  const found = new FoundChunks(counter, rules)
  const failures: ChunkingFailure[] = []
  for (const [textIndex, text] of texts.entries()) {
    const first = found.count
    try {
      for (const piece of piecesOfText(text, rules, counter)) {
        found.add(piece, analyzer.count([piece.context, piece.content]))
        if (found.count - first > INGEST_LIMITS.sourceChunksMax) break
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      failures.push({ textIndex, code: error.code, message: error.message })
      found.cutTo(first)
    }
    chunkCounts[textIndex] = found.count - first
  }
  const { language } = rules
  return {
    chunkCounts,
    language,
    ...found.all(rules.preprocessing.type === 'json_chunking'),
    failures,
  }
}

function counterOf({ reach }: ChunkingRules, wordPieces: () => TokenCounter): TokenCounter | null {
  if (reach === null) return null
  return reach.tokenizer === 'word_piece' ? wordPieces() : BYTE_COUNTER
}

/** A chunk with the text that is embedded before it. */
interface Piece extends TextSpan {
  readonly content: string
  readonly context: string
  readonly headings: readonly string[]
  readonly line: number
  readonly facts: Row | null
}

interface PieceLists {
  readonly starts: number[]
  readonly ends: number[]
  readonly contents: string[]
  readonly contexts: number[]
  readonly headings: number[]
  readonly lines: number[]
  readonly facts: Row[]
  readonly tokens: number[]
  readonly terms: TermCounts[]
}

class FoundChunks {
  readonly #counter: TokenCounter | null
  readonly #tokensMax: number
  readonly #strings = new Map<string, number>([['', 0]])
  readonly #pieces: PieceLists = {
    starts: [],
    ends: [],
    contents: [],
    contexts: [],
    headings: [],
    lines: [],
    facts: [],
    tokens: [],
    terms: [],
  }
  #hasFacts = false

  constructor(counter: TokenCounter | null, { reach }: ChunkingRules) {
    this.#counter = counter
    this.#tokensMax = reach === null ? 0 : reach.tokensMax - reach.frameTokens
  }

  get count(): number {
    return this.#pieces.starts.length
  }

  add(piece: Piece, terms: TermCounts): void {
    const { starts, ends, contents, contexts, headings, lines, facts, tokens } = this.#pieces
    starts.push(piece.startChar)
    ends.push(piece.endChar)
    contents.push(piece.content)
    contexts.push(this.#index(piece.context))
    headings.push(this.#index(piece.headings.join('\n')))
    lines.push(piece.line)
    facts.push(piece.facts ?? {})
    if (piece.facts !== null) this.#hasFacts = true
    const counter = this.#counter
    if (counter !== null) tokens.push(counter.count(piece.context) + counter.count(piece.content))
    this.#pieces.terms.push(terms)
  }

  cutTo(count: number): void {
    for (const list of Object.values(this.#pieces)) list.length = Math.min(list.length, count)
  }

  all(isRewritten: boolean): Omit<ChunkedTexts, 'chunkCounts' | 'language' | 'failures'> {
    const { starts, ends, contents, contexts, headings, lines, facts, tokens, terms } = this.#pieces
    return {
      starts: Int32Array.from(starts),
      ends: Int32Array.from(ends),
      contents: isRewritten ? contents : null,
      strings: [...this.#strings.keys()],
      contexts: Int32Array.from(contexts),
      headings: Int32Array.from(headings),
      lines: Int32Array.from(lines),
      facts: this.#hasFacts ? facts : null,
      tokenCounts: this.#counter === null ? null : Int32Array.from(tokens),
      cut: Uint8Array.from(starts, (_, index) => ((tokens[index] ?? 0) > this.#tokensMax ? 1 : 0)),
      ...joinedTerms(terms),
    }
  }

  #index(text: string): number {
    const known = this.#strings.get(text)
    if (known !== undefined) return known
    const index = this.#strings.size
    this.#strings.set(text, index)
    return index
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

function* piecesOfText(
  source: ChunkableText,
  { preprocessing, reach }: ChunkingRules,
  counter: TokenCounter | null,
): Generator<Piece> {
  const limits = limitsOf(preprocessing, reach, counter)
  if (preprocessing.json !== undefined) {
    yield* jsonPieces(source.text, preprocessing.json, limits)
    return
  }
  const { text } = source
  const context = new ChunkContext({ title: source.title ?? null }, limits)
  const countsLines = source.syntax === 'code' || source.syntax === 'text'
  let [line, counted] = [1, 0]
  for (const piece of textPieces(source, preprocessing, context)) {
    if (countsLines) {
      line += lineFeeds(text, counted, piece.startChar)
      counted = piece.startChar
    }
    const { startChar, endChar, headings } = piece
    const content = text.slice(startChar, endChar)
    const own = { content, context: context.of(piece), line: countsLines ? line : 0, facts: null }
    yield { startChar, endChar, headings, ...own }
  }
}

/** A chunk size set by the user applies to every model. */
function limitsOf(
  preprocessing: Preprocessing,
  reach: EmbedderReach | null,
  counter: TokenCounter | null,
): SpanLimits {
  const { chunkSizeChars, chunkOverlapChars, isSizeChosen, separators, type } = preprocessing
  const sizes = {
    chunkSizeChars,
    chunkOverlapChars,
    ...(separators === undefined ? {} : { separators }),
  }
  if (isSizeChosen || reach === null || counter === null) return { ...sizes, tokens: null }
  const tokensInAll = reach.tokensMax - reach.frameTokens
  const { tokensAtOnce = tokensInAll } = reach
  const tokensMax =
    type === 'contextual'
      ? Math.floor(tokensAtOnce * CONTEXTUAL_SHARE)
      : type === 'json_chunking'
        ? tokensAtOnce
        : tokensInAll
  return {
    ...sizes,
    tokens: { counter, tokensMax, tokensAtOnce: Math.min(tokensAtOnce, tokensMax) },
  }
}

/** The rest is left for the chat model's text, because the embedding model reads both together. */
const CONTEXTUAL_SHARE = 0.7

function* textPieces(
  { text, syntax, apart = null }: ChunkableText,
  { type, sentences }: Preprocessing,
  { limitsUnder }: ChunkContext,
): Generator<TextPiece> {
  const followsLayout = type === 'auto' || type === 'contextual'
  if (type === 'markdown_chunking' || (followsLayout && syntax === 'markdown')) {
    yield* chunkMarkdown(text, limitsUnder, apart)
  } else if (type === 'code_chunking' || (followsLayout && syntax === 'code')) {
    yield* chunkCode(text, limitsUnder)
  } else {
    const limits = limitsUnder([])
    const spans =
      sentences === undefined ? chunkText(text, limits) : chunkSentences(text, sentences, limits)
    for (const span of spans) yield { ...span, above: [], headings: [], repeated: '' }
  }
}

/** Splits an element that is too long for the model into several chunks with the same metadata. */
function* jsonPieces(
  text: string,
  options: NonNullable<Preprocessing['json']>,
  limits: SpanLimits,
): Generator<Piece> {
  const byTokens = { ...limits, chunkSizeChars: Number.MAX_SAFE_INTEGER, chunkOverlapChars: 0 }
  for (const { content, facts } of chunkJson(text, options)) {
    const whole = [{ startChar: 0, endChar: content.length }]
    const spans = limits.tokens === null ? whole : shifted(chunkText(content, byTokens), 0)
    for (const { startChar, endChar } of spans) {
      const own = { content: content.slice(startChar, endChar), context: '', line: 0 }
      yield { startChar, endChar, headings: [], facts, ...own }
    }
  }
}

/** Counts line feeds between two positions. The result is negative if spans overlap. */
function lineFeeds(text: string, from: number, to: number): number {
  let count = 0
  for (let at = text.indexOf('\n', Math.min(from, to)); at !== -1 && at < Math.max(from, to); ) {
    count += 1
    at = text.indexOf('\n', at + 1)
  }
  return from <= to ? count : -count
}
