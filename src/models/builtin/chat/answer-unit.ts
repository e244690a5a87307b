/** The interface between the built-in agent's halves: one cuts passages into units, the other ranks them. */
import type { ChunkPages } from '../../../core/domain/agents/completion-event.ts'
import type { Answerability } from '../../../core/domain/ports/model-ports.ts'
import type { Span } from '../../../core/text/words.ts'

/** A chunk as a search showed it. */
export interface Passage {
  /** Its knowledge base: two may contain chunks with the same id. */
  readonly knowledgeBase?: string
  readonly chunkId: string
  readonly text: string
  /** 0 if the search gave none. */
  readonly relevance: number
  /** Cosine of its vector and the question's; missing: not compared. */
  readonly cosine?: number
  /** Empty if unknown. */
  readonly documentId: string
  /** The document's headings above the chunk, outermost first; empty: none are known. */
  readonly heading: string
  readonly pages: ChunkPages | null
  /** Its position in the document; null if unknown, or if the text was cut. */
  readonly place: ChunkPlace | null
}

export interface ChunkPlace extends Span {
  readonly column: string
  /** From 1, of `total` chunks of that column. */
  readonly number: number
  readonly total: number
}

/** Consecutive chunks of one document as one text, so that what a cut separated is read together. */
export interface Stretch {
  readonly text: string
  /** In document order. */
  readonly pieces: readonly StretchPiece[]
}

/** The position of a chunk in the stretch. */
export interface StretchPiece extends Span {
  readonly passage: Passage
}

/** The smallest quotable part of a passage: a sentence, a list item, a table row, a piece of code. */
export interface AnswerUnit {
  readonly passage: Passage
  /** As written in the passage. */
  readonly text: string
  /** Its position in the passage's text. */
  readonly start: number
  readonly end: number
  /** Its necessary context: its heading, the header of its table, the lead of its list. Empty: it needs none. */
  readonly setting: string
  /** Fewer than three words, or the rest of a sentence that starts before the passage. */
  readonly isFragment: boolean
  /** Its position in the joined text, for quoting it. */
  readonly site: UnitSite
}

export interface UnitSite {
  readonly stretch: Stretch
  /** The unit in the stretch. */
  readonly span: Span
  readonly kind: 'sentence' | 'item' | 'list' | 'row' | 'code'
  /** Quoted before it: the sentence that introduces it, the header of its table, the name of its option. */
  readonly lead: Span | null
  /** How far a quote may extend: the unit's paragraph or item. */
  readonly from: number
  readonly until: number
  /** The innermost heading above it; empty: none is known. */
  readonly heading: string
}

/** A unit that may answer the question. */
export interface RankedUnit extends AnswerUnit {
  /** Higher is better; comparable within one question only. */
  readonly score: number
  /** Whether it, or the unit next to it, holds a word of the question. */
  readonly hasWords: boolean
}

/** The units of a question's passages by how well they answer it, and whether the best one does. */
export interface Ranking extends Answerability {
  /** The best first; the same words only once. */
  readonly units: readonly RankedUnit[]
}
