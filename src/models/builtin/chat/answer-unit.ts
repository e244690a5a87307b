/** What the built-in agent's two halves hand each other: one cuts passages into units, the other ranks them. */

/** A chunk as a search showed it. */
export interface Passage {
  readonly chunkId: string
  readonly text: string
  /** 0 where the search told none. */
  readonly relevance: number
  /** Empty where it is not known. */
  readonly documentId: string
  /** The headings of the document that the chunk stands under, outermost first; empty: none are known. */
  readonly heading: string
}

/** The least piece of a passage that can be quoted: a sentence, an item of a list, a row of a table, a piece of code. */
export interface AnswerUnit {
  readonly passage: Passage
  /** As it is read: white space within is one space, but in code. */
  readonly text: string
  /** Where it stands in the passage's text. */
  readonly start: number
  readonly end: number
  /** What it must be read with: its heading, the header of its table, the lead of its list. Empty: it stands alone. */
  readonly setting: string
  /** Fewer than three words, or the rest of a sentence that begins before the passage. */
  readonly isFragment: boolean
}

/** A unit that may answer the question. */
export interface RankedUnit extends AnswerUnit {
  /** Higher is better; comparable within one question only. */
  readonly score: number
}

/** The units of a question's passages by how well they answer it. */
export interface Ranking {
  /** The best first; the same words only once. */
  readonly units: readonly RankedUnit[]
  /** Whether anything here is about what was asked. */
  readonly isRelevant: boolean
}
