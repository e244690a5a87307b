import type { Citation } from '../domain/completion-event.ts'
import { nameKey } from '../domain/identifier.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { ResultValue } from '../domain/query-result.ts'
import { AGENT_LIMITS } from './agent-limits.ts'

/** A chunk as the model was shown it. */
export interface Passage {
  readonly chunkId: string
  /** null: the statement did not select it. */
  readonly documentId: string | null
  readonly text: string | null
  readonly relevance: number | null
  /** Where it may come from: those that its statement names. */
  readonly origins: readonly KnowledgeBase[]
}

interface SeenRows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ResultValue[])[]
  readonly origins: readonly KnowledgeBase[]
}

/** The chunks in some rows: those with a column `chunk_id`. */
export function passagesOf({ columns, rows, origins }: SeenRows): readonly Passage[] {
  const indexOf = (name: string) => columns.findIndex((column) => nameKey(column) === name)
  const at = {
    chunkId: indexOf('chunk_id'),
    documentId: indexOf('id'),
    text: indexOf('chunk_content'),
    relevance: indexOf('relevance'),
  }
  return rows.flatMap((row) => {
    const chunkId = row[at.chunkId]
    if (typeof chunkId !== 'string') return []
    const relevance = row[at.relevance]
    const passage = {
      chunkId,
      documentId: textOrNull(row[at.documentId]),
      text: textOrNull(row[at.text]),
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
export function merged(known: Passage | undefined, next: Passage): Passage {
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
export function citedPassages(answer: string, seen: Iterable<Passage>): readonly Passage[] {
  const cited = [...seen].map((passage) => ({
    passage,
    position: mentionOf(passage.chunkId, answer),
  }))
  return cited
    .filter(({ position }) => position !== -1)
    .sort((one, other) => one.position - other.position)
    .slice(0, AGENT_LIMITS.citationsMax)
    .map(({ passage }) => passage)
}

/**
 * Places of one chunk id in an answer that are looked at: of a mention in earnest one of the first
 * is one.
 */
const PLACES_MAX = 100
/** White space between an id and its bracket or comma. */
const NEARBY_CHARS = 4

/** `[id]`, or one of several: `[id, other]`. -1: nowhere. */
function mentionOf(chunkId: string, answer: string): number {
  if (chunkId === '') return -1
  let at = answer.indexOf(chunkId)
  for (let places = 0; at !== -1 && places < PLACES_MAX; places += 1) {
    const before = answer.slice(Math.max(0, at - NEARBY_CHARS), at).trimEnd()
    const end = at + chunkId.length
    const after = answer.slice(end, end + NEARBY_CHARS).trimStart()
    if (/[[,;]$/.test(before) && /^[\],;]/.test(after)) return at
    at = answer.indexOf(chunkId, at + 1)
  }
  return -1
}

/** A citation as far as the passage alone tells it; null where its origin or a text is missing. */
export function citationOf(passage: Passage): Citation | null {
  const { documentId, text, chunkId, relevance, origins } = passage
  const [origin] = origins
  if (origin === undefined || origins.length > 1) return null
  if (documentId === null || text === null) return null
  return {
    knowledge_base: `${origin.projectName}.${origin.name}`,
    document_id: documentId,
    chunk_id: chunkId,
    text,
    relevance,
  }
}
