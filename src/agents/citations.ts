import type { Citation } from '../domain/completion-event.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { AppError } from '../errors.ts'
import { type DataReader, selectChunks } from './data-reader.ts'
import { citationOf, type Passage, passagesOf } from './passages.ts'

/**
 * The citations of an answer. What the model's statements left open (which of two knowledge bases,
 * the text) is looked up; a chunk that cannot be found again is not cited.
 */
export async function citationsOf(
  cited: readonly Passage[],
  reader: DataReader,
  signal: AbortSignal,
): Promise<readonly Citation[]> {
  const open = cited.filter((passage) => citationOf(passage) === null)
  const found = await lookedUp(open, reader, signal)
  const citations = new Map<string, Citation>()
  for (const passage of cited) {
    const citation = citationOf(passage) ?? found.get(passage)
    if (citation === undefined) continue
    const key = JSON.stringify([citation.knowledge_base, citation.chunk_id])
    if (!citations.has(key)) citations.set(key, citation)
  }
  return [...citations.values()]
}

async function lookedUp(
  open: readonly Passage[],
  reader: DataReader,
  signal: AbortSignal,
): Promise<ReadonlyMap<Passage, Citation>> {
  const found = new Map<Passage, Citation>()
  for (const kb of new Set(open.flatMap((passage) => passage.origins))) {
    const wanted = open.filter((passage) => !found.has(passage) && passage.origins.includes(kb))
    const stored = await storedPassages(kb, wanted, { reader, signal })
    for (const passage of wanted) {
      const match = stored.find((one) => isSameChunk(one, passage))
      const citation = match && citationOf({ ...match, relevance: passage.relevance })
      if (citation) found.set(passage, citation)
    }
  }
  return found
}

/** The same id may stand in two knowledge bases: then the text tells them apart. */
function isSameChunk(stored: Passage, seen: Passage): boolean {
  return stored.chunkId === seen.chunkId && (seen.text === null || seen.text === stored.text)
}

async function storedPassages(
  kb: KnowledgeBase,
  wanted: readonly Passage[],
  { reader, signal }: { readonly reader: DataReader; readonly signal: AbortSignal },
): Promise<readonly Passage[]> {
  if (wanted.length === 0) return []
  const chunkIds = wanted.map((passage) => passage.chunkId)
  try {
    const { columns, rows } = await reader.read(selectChunks(kb, chunkIds), signal)
    return passagesOf({ columns, rows, origins: [kb] })
  } catch (error) {
    signal.throwIfAborted()
    // The knowledge base may be gone by now: its chunks are not cited, and the answer stands.
    if (error instanceof AppError) return []
    throw error
  }
}
