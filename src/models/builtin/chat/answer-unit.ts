/**
 * Types shared by the two halves of the built-in chat model: one splits passages into units, the
 * other ranks them.
 */
import type { ChunkPages } from '../../../core/domain/agents/completion-event.ts'
import type { Answerability, FoundPassage } from '../../../core/domain/ports/model-ports.ts'
import type { Span } from '../../../core/text/words.ts'

/** A chunk as a search returned it. The relevance is 0 and other facts are empty if unknown. */
export interface Passage extends FoundPassage {
  /** Two knowledge bases may have chunks with the same id. */
  readonly knowledgeBase?: string
  readonly chunkId: string
  readonly pages: ChunkPages | null
  /** The chunk's position in the document; null if unknown or if the text was truncated. */
  readonly place: ChunkPlace | null
}

export interface ChunkPlace extends Span {
  readonly column: string
  /** The chunk's number, from 1 to `total`, in that column. */
  readonly number: number
  readonly total: number
}

export interface Stretch {
  readonly text: string
  /** In document order. */
  readonly pieces: readonly StretchPiece[]
}

export interface StretchPiece extends Span {
  readonly passage: Passage
}

/** The smallest quotable part: a sentence, a list item, a table row, a piece of code. */
export interface AnswerUnit {
  readonly passage: Passage
  readonly text: string
  /** The offset in the passage's text. */
  readonly start: number
  readonly end: number
  /** Its heading, its table's header, its list's introduction; empty if none. */
  readonly setting: string
  /** Whether it has fewer than three words or is the rest of a sentence that began earlier. */
  readonly isFragment: boolean
  /** Where the unit is in the joined text, for quoting it. */
  readonly site: UnitSite
}

export interface UnitSite {
  readonly stretch: Stretch
  readonly span: Span
  readonly kind: 'sentence' | 'item' | 'list' | 'row' | 'code'
  /** Quoted before the unit: an introduction, a table's header, or an option's name. */
  readonly lead: Span | null
  /** How far a quote may extend: the unit's paragraph or item. */
  readonly from: number
  readonly until: number
  /** The innermost heading above the unit; empty if unknown. */
  readonly heading: string
}

export interface RankedUnit extends AnswerUnit {
  /** Higher is better. Comparable only within one question. */
  readonly score: number
  /** Whether the unit or a neighbour contains a word of the question, or explains its option. */
  readonly hasWords: boolean
}

/** The ranked units of a question's passages, and whether the best one answers the question. */
export interface Ranking extends Answerability {
  /** Best first, without duplicates. */
  readonly units: readonly RankedUnit[]
  /** Names in the question that no passage mentions. */
  readonly unknownNames: readonly string[]
}
