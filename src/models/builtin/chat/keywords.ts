import { withoutAccents } from '../../../core/text/word-forms.ts'
import { stopWordsOf, words } from '../../../core/text/words.ts'

/**
 * The words of a text that count in a comparison: those of the keyword index, without English stop words and endings;
 * names in camel case whole and in parts.
 */
export function keywords(text: string): readonly string[] {
  const stopWords = stopWordsOf('english')
  return words(withParts(text))
    .map(withoutAccents)
    .filter((word) => !stopWords.has(word))
    .map(withoutEnding)
}

/** `maxRetries` → `maxRetries max Retries` */
export function withParts(text: string): string {
  return text.replaceAll(CAMEL_CASE, (name) => [name, ...name.split(HUMP)].join(' '))
}

const CAMEL_CASE = /\p{L}*\p{Ll}\p{Lu}\p{L}*/gu
const HUMP = /(?<=\p{Ll})(?=\p{Lu})/u

/**
 * Plural, -ing and -ed, so that `retries` finds `retry` and `installing` finds `install`.
 */
function withoutEnding(word: string): string {
  if (word.length < 5) return word.length === 4 ? word.replace(/(?<![su])s$/, '') : word
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  const singular = word.replace(/(?<=(ss|sh|ch|x|z))es$|(?<![sui])s$/, '')
  const bare = singular.replace(/(?<=[a-z]{3})(ing|ed)$/, '')
  // `configur(e)`, `configur(ed)`, `configur(ing)` meet without the last vowel.
  return bare.length >= 5 ? bare.replace(/e$/, '') : bare
}
