import type { Citation } from '../../domain/agents/completion-event.ts'
import { nameKey } from '../../domain/identifier.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { ResultValue } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import { AGENT_LIMITS } from '../agent-limits.ts'
import { type DataReader, selectChunks } from '../data/data-reader.ts'
import type { FirstRows } from '../data/observation.ts'

/** A chunk as the model was shown it. */
export interface ShownPassage {
  readonly chunkId: string
  /** null: the statement did not select it. */
  readonly documentId: string | null
  readonly text: string | null
  readonly relevance: number | null
  /** Where it may come from: those that its statement names. */
  readonly origins: readonly KnowledgeBase[]
}

/** The chunks in some rows: those with a column `chunk_id`. */
export function passagesOf(
  { columns, rows }: Pick<FirstRows, 'columns' | 'rows'>,
  origins: readonly KnowledgeBase[],
): readonly ShownPassage[] {
  const indexOf = (name: string) => columns.findIndex((column) => nameKey(column) === name)
  const columnIndexes = {
    chunkId: indexOf('chunk_id'),
    documentId: indexOf('id'),
    text: indexOf('chunk_content'),
    relevance: indexOf('relevance'),
  }
  return rows.flatMap((row) => {
    const chunkId = row[columnIndexes.chunkId]
    if (typeof chunkId !== 'string') return []
    const relevance = row[columnIndexes.relevance]
    const passage = {
      chunkId,
      documentId: textOrNull(row[columnIndexes.documentId]),
      text: textOrNull(row[columnIndexes.text]),
      relevance: typeof relevance === 'number' ? relevance : null,
      origins,
    }
    return [passage]
  })
}

function textOrNull(value: ResultValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}

/**
 * What is known of a chunk from two results of the same origins; the later wins where both know
 * something.
 */
export function mergedPassage(known: ShownPassage | undefined, next: ShownPassage): ShownPassage {
  if (known === undefined) return next
  return {
    chunkId: next.chunkId,
    documentId: next.documentId ?? known.documentId,
    text: next.text ?? known.text,
    relevance: next.relevance ?? known.relevance,
    origins: next.origins,
  }
}

/**
 * The passages whose chunk ids stand in the answer in square brackets, in the order of their first
 * mention.
 */
export function citedPassages(
  answer: string,
  seen: Iterable<ShownPassage>,
): readonly ShownPassage[] {
  const cited = [...seen].map((passage) => ({
    passage,
    index: mentionIndex(passage.chunkId, answer),
  }))
  return cited
    .filter(({ index }) => index !== -1)
    .sort((first, second) => first.index - second.index)
    .slice(0, AGENT_LIMITS.citationsMax)
    .map(({ passage }) => passage)
}

/** Occurrences of one chunk id that are looked at: an answer that cites it does so in one of the first. */
const OCCURRENCES_MAX = 100
/** White space between an id and its bracket or comma. */
const NEARBY_CHARS = 4

/** Where an id stands in brackets: `[id]`, or one of several: `[id, other]`. -1: nowhere. */
function mentionIndex(chunkId: string, answer: string): number {
  if (chunkId === '') return -1
  let start = answer.indexOf(chunkId)
  for (let count = 0; start !== -1 && count < OCCURRENCES_MAX; count += 1) {
    const before = answer.slice(Math.max(0, start - NEARBY_CHARS), start).trimEnd()
    const end = start + chunkId.length
    const after = answer.slice(end, end + NEARBY_CHARS).trimStart()
    if (/[[,;]$/.test(before) && /^[\],;]/.test(after)) return start
    start = answer.indexOf(chunkId, start + 1)
  }
  return -1
}

/**
 * The citations of an answer. What the model's statements did not select (which of two knowledge
 * bases, the text) is looked up; a chunk that cannot be found again is not cited.
 */
export async function citationsOf(
  cited: readonly ShownPassage[],
  reader: DataReader,
  signal: AbortSignal,
): Promise<readonly Citation[]> {
  const incomplete = cited.filter((passage) => citationOf(passage) === null)
  const lookedUp = await lookUp(incomplete, reader, signal)
  const citations = new Map<string, Citation>()
  for (const passage of cited) {
    const citation = citationOf(passage) ?? lookedUp.get(passage)
    if (citation === undefined) continue
    const key = JSON.stringify([citation.knowledge_base, citation.chunk_id])
    if (!citations.has(key)) citations.set(key, citation)
  }
  return [...citations.values()]
}

async function lookUp(
  incomplete: readonly ShownPassage[],
  reader: DataReader,
  signal: AbortSignal,
): Promise<ReadonlyMap<ShownPassage, Citation>> {
  const citations = new Map<ShownPassage, Citation>()
  for (const kb of new Set(incomplete.flatMap((passage) => passage.origins))) {
    const missing = incomplete.filter(
      (passage) => !citations.has(passage) && passage.origins.includes(kb),
    )
    const stored = await storedPassages(kb, missing, reader, signal)
    for (const passage of missing) {
      const match = stored.find((candidate) => isSameChunk(candidate, passage))
      const citation = match && citationOf({ ...match, relevance: passage.relevance })
      if (citation) citations.set(passage, citation)
    }
  }
  return citations
}

/** The same id may stand in two knowledge bases: then the text tells them apart. */
function isSameChunk(stored: ShownPassage, seen: ShownPassage): boolean {
  return stored.chunkId === seen.chunkId && (seen.text === null || seen.text === stored.text)
}

async function storedPassages(
  kb: KnowledgeBase,
  wanted: readonly ShownPassage[],
  reader: DataReader,
  signal: AbortSignal,
): Promise<readonly ShownPassage[]> {
  if (wanted.length === 0) return []
  const chunkIds = wanted.map((passage) => passage.chunkId)
  try {
    return passagesOf(await reader.read(selectChunks(kb, chunkIds), signal), [kb])
  } catch (error) {
    signal.throwIfAborted()
    // The knowledge base may be gone by now: its chunks are not cited, and the answer stands.
    if (error instanceof AppError) return []
    throw error
  }
}

/** null where the passage alone does not tell its origin, its document or its text. */
function citationOf(passage: ShownPassage): Citation | null {
  const { documentId, text, chunkId, relevance, origins } = passage
  const [origin] = origins
  if (origin === undefined || origins.length > 1) return null
  if (documentId === null || text === null) return null
  return {
    knowledge_base: `${origin.projectName}.${origin.name}`,
    document_id: documentId,
    chunk_id: chunkId,
    text,
    start: null,
    end: null,
    page: null,
    heading: null,
    relevance,
  }
}
