import { AGENT_LIMITS } from '../../core/domain/agents/agent-limits.ts'
import { type Citation, pageAt } from '../../core/domain/agents/completion-event.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { fullName } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { SLICE_MS, TimeSlice } from '../../core/runtime/serial-queue.ts'
import type { Span } from '../../core/text/words.ts'
import { type DataReader, selectChunks } from '../data/agent-data.ts'
import { findQuote, type TextWords, textWords } from './find-quote.ts'
import { type ChunkPlace, headingAt, passagesOf, type ShownPassage } from './shown-passages.ts'

/** In the order of mention, without chunks that the model did not see and quotes not found. */
export async function citationsOf(
  answer: string,
  seen: Iterable<ShownPassage>,
  reader: DataReader,
  signal: AbortSignal,
): Promise<readonly Citation[]> {
  const passages = Map.groupBy(seen, ({ chunkId }) => chunkId)
  const mentions = mentionsIn(answer, new Set(passages.keys()))
  const cited = [...new Set(mentions.map(({ chunkId }) => chunkId))].slice(
    0,
    AGENT_LIMITS.citationsMax,
  )
  const chunks = await citedChunks(
    cited.flatMap((chunkId) => passages.get(chunkId) ?? []),
    reader,
    signal,
  )
  const citations = new Map<string, Citation>()
  const slice = new TimeSlice(SLICE_MS)
  for (const mention of mentions) {
    await slice.yieldIfSpent(signal)
    for (const chunk of chunks.filter(({ chunkId }) => chunkId === mention.chunkId)) {
      const cite = citationOf(mention, chunk)
      if (cite !== null && !citations.has(cite.key)) citations.set(cite.key, cite.citation)
    }
  }
  return [...citations.values()].slice(0, AGENT_LIMITS.citationsMax)
}

interface CitedChunk {
  readonly chunkId: string
  readonly documentId: string
  readonly knowledgeBase: KnowledgeBase
  readonly text: TextWords
  readonly relevance: number | null
  readonly place: ChunkPlace
}

async function citedChunks(
  passages: readonly ShownPassage[],
  reader: DataReader,
  signal: AbortSignal,
): Promise<readonly CitedChunk[]> {
  const incomplete = passages.filter((passage) => wholeChunk(passage) === null)
  const stored = await lookUp(incomplete, reader, signal)
  const chunks = new Map<string, CitedChunk>()
  for (const passage of passages) {
    const match = wholeChunk(passage) ?? stored.get(passage)
    if (match === undefined) continue
    const key = JSON.stringify([match.knowledgeBase.id, match.chunkId])
    if (!chunks.has(key)) chunks.set(key, match)
  }
  return [...chunks.values()]
}

/** Returns null if the passage lacks its knowledge base, document, text or position. */
function wholeChunk(passage: ShownPassage): CitedChunk | null {
  const { documentId, text, chunkId, relevance, origins, place, isPlain } = passage
  const [knowledgeBase] = origins
  if (knowledgeBase === undefined || origins.length > 1 || !isPlain) return null
  if (documentId === null || text === null || place === null) return null
  if (!chunkId.startsWith(`${documentId}:`)) return null
  return { chunkId, documentId, knowledgeBase, text: textWords(text), relevance, place }
}

async function lookUp(
  incomplete: readonly ShownPassage[],
  reader: DataReader,
  signal: AbortSignal,
): Promise<ReadonlyMap<ShownPassage, CitedChunk>> {
  const kbs = [...new Set(incomplete.flatMap(({ origins }) => origins))]
  const wanted = kbs.map((kb) => {
    const own = incomplete.filter(({ origins }) => origins.includes(kb))
    return { kb, chunkIds: [...new Set(own.map(({ chunkId }) => chunkId))] }
  })
  const stored = await storedChunks(wanted, reader, signal)
  const found = new Map<ShownPassage, CitedChunk>()
  for (const passage of incomplete) {
    const own = stored.filter((candidate) => {
      return candidate.chunkId === passage.chunkId && passage.origins.includes(candidate.origin)
    })
    // Two knowledge bases may have a chunk with the same id, but the texts differ.
    const match = own.find(({ text }) => text === passage.text) ?? own[0]
    const isSame = match !== undefined && (own.length === 1 || isTextOf(passage, match.text))
    if (!isSame) continue
    const { chunkId, documentId, text, origin, place } = match
    const chunk = { chunkId, documentId, text: textWords(text), place }
    found.set(passage, { ...chunk, knowledgeBase: origin, relevance: passage.relevance })
  }
  return found
}

function isTextOf({ text }: ShownPassage, stored: string): boolean {
  return text === null || text === stored
}

interface StoredChunk {
  readonly chunkId: string
  readonly documentId: string
  readonly text: string
  readonly place: ChunkPlace
  readonly origin: KnowledgeBase
}

/** Reads with one statement; if that fails, one per knowledge base: one may have been dropped. */
async function storedChunks(
  wanted: readonly {
    readonly kb: KnowledgeBase
    readonly chunkIds: readonly string[]
  }[],
  reader: DataReader,
  signal: AbortSignal,
): Promise<readonly StoredChunk[]> {
  if (wanted.length === 0) return []
  const count = wanted.reduce((sum, { chunkIds }) => sum + chunkIds.length, 0)
  try {
    const { columns, rows } = await reader.read(selectChunks(wanted), signal, count)
    return wanted.flatMap(({ kb }, index) => {
      const own = rows.filter(([number]) => number === index)
      return passagesOf({ columns, rows: own }, [kb], true).flatMap((passage) => {
        const { chunkId, documentId, text, place } = passage
        if (documentId === null || text === null || place === null) return []
        return [{ chunkId, documentId, text, place, origin: kb }]
      })
    })
  } catch (error) {
    signal.throwIfAborted()
    // If the lookup fails, the citation is left out.
    if (!(error instanceof AppError)) throw error
    if (wanted.length === 1) return []
    const each = await Promise.all(wanted.map((one) => storedChunks([one], reader, signal)))
    return each.flat()
  }
}

/** A chunk named repeatedly for the same sentences, or without a quote, is cited once. */
function citationOf(
  { statement }: Mention,
  chunk: CitedChunk,
): { readonly key: string; readonly citation: Citation } | null {
  const found = findQuote(statement, chunk.text)
  if (found.kind === 'none') return null
  const { span } = found
  const { text } = chunk.text
  const offset = documentOffset(chunk)
  const { place, documentId, chunkId, relevance, knowledgeBase } = chunk
  const citation = {
    knowledge_base: fullName(knowledgeBase),
    document_id: documentId,
    chunk_id: chunkId,
    text: text.slice(span.start, span.end),
    start: offset === null ? null : offset + span.start,
    end: offset === null ? null : offset + span.end,
    page: place.pages === null ? null : pageAt(place.pages, span.start),
    heading: headingAt(span.start, text, place.heading),
    relevance,
  }
  return {
    citation,
    key: citationKey(knowledgeBase, chunkId, found.kind === 'quoted' ? span : null),
  }
}

function citationKey(kb: KnowledgeBase, chunkId: string, span: Span | null): string {
  return JSON.stringify([kb.id, chunkId, span?.start ?? null])
}

/** Where the chunk starts in its column; null if its text has changed. */
function documentOffset({ chunkId, text }: CitedChunk): number | null {
  const [, start, end] = /:(\d+)to(\d+)$/.exec(chunkId) ?? []
  if (start === undefined || Number(end) - Number(start) !== text.text.length) return null
  return Number(start)
}

interface Mention {
  readonly chunkId: string
  /** The text since the previous mention. */
  readonly statement: string
}

/** The end of every chunk id: `…:1of3:0to950`. */
const ID_END = /(?<!\d)\d+of\d+:\d+to\d+/g

/** How many ids are examined in one answer, at most. */
const ENDINGS_MAX = 2_000
const MENTIONS_MAX = 200

const STATEMENT_CHARS_MAX = 3_000
/** How far before an id to look for white space, brackets and a label. */
const BEFORE_CHARS = 40

/** Matches brackets, quotation marks, and separators between ids. */
const OPENED = /[[(（【〔［{<‹«"'`“„,;|/^]$/u
/** Matches `chunk_id: …`, `source=…`, with or without brackets. */
const LABELLED =
  /(?:chunk[ _-]?ids?|chunks?|ids?|sources?|quellen?|refs?|references?|citations?|see)["'`]?\s*[:=：]$/iu
const AND = /(?:\]|\)|】|to\d+)\s*(?:and|und|et|y|&)$/iu
const CLOSED = /^\s{0,3}[\])）】〕］}>›»"'`”“,;|/\\†]/u
const ENDED = /^(?:\s|$|[.,;])/u

/** @param seen the chunks the model saw; only they can be mentioned */
export function mentionsIn(answer: string, seen: ReadonlySet<string>): readonly Mention[] {
  const lengthsByEnd = new Map<string, Set<number>>()
  for (const chunkId of seen) {
    const ending = /\d+of\d+:\d+to\d+$/.exec(chunkId)?.[0] ?? ''
    lengthsByEnd.set(ending, (lengthsByEnd.get(ending) ?? new Set()).add(chunkId.length))
  }
  const places: { chunkId: string; start: number; end: number }[] = []
  let looked = 0
  for (const { 0: ending, index } of answer.matchAll(ID_END)) {
    looked += 1
    if (looked > ENDINGS_MAX || places.length >= MENTIONS_MAX) break
    const end = index + ending.length
    // The longest match, because a shorter id may be the end of a longer one.
    const chunkId = [...(lengthsByEnd.get(ending) ?? [])]
      .map((length) => answer.slice(Math.max(0, end - length), end))
      .filter((id) => seen.has(id) && isNamedAt(answer, end - id.length, end))
      .reduce((longest, id) => (id.length > longest.length ? id : longest), '')
    if (chunkId !== '') places.push({ chunkId, start: end - chunkId.length, end })
  }
  return places.map((place, index) => {
    return { chunkId: place.chunkId, statement: statementBefore(index, places, answer) }
  })
}

function isNamedAt(answer: string, start: number, end: number): boolean {
  const before = answer.slice(Math.max(0, start - BEFORE_CHARS), start).trimEnd()
  const after = answer.slice(end, end + 4)
  if (LABELLED.test(before)) return CLOSED.test(after) || ENDED.test(after)
  if (AND.test(before)) return CLOSED.test(after) || ENDED.test(after)
  return OPENED.test(before) && CLOSED.test(after)
}

/**
 * Consecutive mentions share a statement. One at a sentence's start belongs to the text after it.
 */
function statementBefore(
  index: number,
  places: readonly { readonly start: number; readonly end: number }[],
  answer: string,
): string {
  const place = places[index] ?? { start: 0, end: 0 }
  let from = places[index - 1]?.end ?? 0
  for (let earlier = index - 1; earlier >= 0; earlier -= 1) {
    const next = places[earlier + 1]?.start ?? 0
    if (hasWords(answer.slice(from, next), 1)) break
    from = places[earlier - 1]?.end ?? 0
  }
  const before = answer.slice(Math.max(from, place.start - STATEMENT_CHARS_MAX), place.start)
  if (hasWords(before, 3)) return before
  const until = places[index + 1]?.start ?? answer.length
  const after = answer.slice(place.end, Math.min(until, place.end + STATEMENT_CHARS_MAX))
  return `${before} ${after.split(/\n\s*\n/)[0] ?? ''}`
}

function hasWords(text: string, count: number): boolean {
  const words = text.match(
    /\p{L}[\p{L}\p{M}]+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Thai}]/gu,
  )
  const spoken = (words ?? []).filter(
    (word) => !/^(?:chunk|id|ids|and|und|source|sources)$/i.test(word),
  )
  return spoken.length >= count
}
