import type { Passage, Stretch, StretchPiece } from './answer-unit.ts'
import type { Span } from './sentence-spans.ts'

/** White space between two chunks that belongs to neither. */
const GAP_CHARS_MAX = 8

/** The best passage's stretch first. */
export function stretchesOf(passages: readonly Passage[]): readonly Stretch[] {
  const documents = new Map<string, Passage[]>()
  for (const passage of passages) {
    const { knowledgeBase, documentId, place, chunkId } = passage
    const key = JSON.stringify([knowledgeBase, documentId, place?.column ?? chunkId])
    const known = documents.get(key)
    if (known === undefined) documents.set(key, [passage])
    else if (known.every((one) => one.chunkId !== passage.chunkId)) known.push(passage)
  }
  return [...documents.values()].flatMap(stretchesOfDocument)
}

function stretchesOfDocument(passages: readonly Passage[]): readonly Stretch[] {
  const inOrder = passages.toSorted((a, b) => (a.place?.start ?? 0) - (b.place?.start ?? 0))
  const stretches: Stretch[] = []
  for (const passage of inOrder) {
    const last = stretches.at(-1)
    const longer = last === undefined ? null : joinedStretch(last, passage)
    if (longer === null) stretches.push(stretchOf(passage))
    else stretches[stretches.length - 1] = longer
  }
  return stretches
}

function stretchOf(passage: Passage): Stretch {
  return { text: passage.text, pieces: [{ passage, start: 0, end: passage.text.length }] }
}

function joinedStretch(stretch: Stretch, passage: Passage): Stretch | null {
  const from = stretch.pieces[0]?.passage.place?.start
  if (from === undefined || passage.place === null) return null
  const start = passage.place.start - from
  const gap = start - stretch.text.length
  if (gap > GAP_CHARS_MAX) return null
  // Chunks overlap: what both hold must be the same, or they are of two versions of the document.
  const overlap = stretch.text.slice(start)
  if (!passage.text.startsWith(overlap) && !overlap.startsWith(passage.text)) return null
  const rest = passage.text.slice(overlap.length)
  const text = stretch.text + '\n'.repeat(Math.max(0, gap)) + rest
  const piece = { passage, start, end: start + passage.text.length }
  return { text, pieces: [...stretch.pieces, piece] }
}

/** The piece that contains a part whole, the most relevant one; else the one with most of it. */
export function pieceOf({ pieces }: Stretch, span: Span): StretchPiece {
  const held = (piece: Span) => {
    return Math.min(piece.end, span.end) - Math.max(piece.start, span.start)
  }
  const [best] = pieces.toSorted((a, b) => {
    return held(b) - held(a) || b.passage.relevance - a.passage.relevance
  })
  if (best === undefined) throw new Error('A stretch has no pieces')
  return best
}
