/**
 * The start of a word's stem, as a term of its own: words of one family meet that stemmers keep apart (`restaurieren` and
 * `Restauration`, `schloss` and `schlossen`), and compounds with the word that they begin with.
 */

/** Of a stem: a shorter one is its own start. */
const STEM_LETTERS_MIN = 5
const START_LETTERS = 4
/** No word has it. */
const START_MARK = '^'

/** Alphabets, whose letters stand one after the other. */
const CASED_LETTERS =
  /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Arabic}]+$/u

/** null: the stem is short, or not of letters alone. */
export function stemStart(stem: string): string | null {
  if (stem.length < STEM_LETTERS_MIN || !CASED_LETTERS.test(stem)) return null
  return START_MARK + stem.slice(0, START_LETTERS)
}

/** How much a term of a searched text counts: an equal start says less than an equal stem. */
export function weightOf(term: string): number {
  return term.startsWith(START_MARK) ? 0.5 : 1
}
