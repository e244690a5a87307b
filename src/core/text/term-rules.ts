import type { Language } from '../domain/language.ts'

/**
 * Counts changes of the terms that a text has: raise it with every change of the stop words below, of a rule of this folder,
 * of the stemmers' version, or of Unicode's dictionaries where it matters. An index with another number is
 * built anew; without a higher one it keeps the old terms and no longer finds what it holds.
 */
export const TERM_RULES_VERSION = 3

/**
 * Words that stand in nearly every English text and tell nothing about it: without them there are two fifths fewer
 * postings. In the other languages their weight in BM25, near zero, does the same.
 */
const ENGLISH = new Set(
  `a am an and any are as at be been being but by can could did do does doing done for from had has have having he her
  here him his how i if in into is it its just me my no nor not of off on only or other our out own same shall she
  should so some such than that the their them then there these they this those through to too under until up very
  was we were what when where which while who whom why will with would you your`.split(/\s+/),
)

const NO_TERMS: ReadonlySet<string> = new Set()

export function stopWordsOf(language: Language): ReadonlySet<string> {
  return language === 'english' ? ENGLISH : NO_TERMS
}
