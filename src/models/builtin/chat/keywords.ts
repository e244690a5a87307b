import { withoutAccents } from '../../../core/text/word-forms.ts'
import { stopWordsOf, words } from '../../../core/text/words.ts'

/** Like the keyword index, but without English stop words, and with parts of camel case names. */
export function keywords(text: string): readonly string[] {
  const stopWords = stopWordsOf('english')
  return words(withParts(text))
    .map(withoutAccents)
    .filter((word) => !stopWords.has(word))
    .map(withoutEnding)
}

/** `maxRetries` → `maxRetries max Retries`; British and American spellings become the same. */
export function withParts(text: string): string {
  return text
    .replaceAll(CAMEL_CASE, (name) => [name, ...name.split(HUMP)].join(' '))
    .replaceAll(/(?<=\b(?:licen|defen|offen))c(?=e)/gi, 's')
}

const CAMEL_CASE = /(?<!\p{L})\p{L}*\p{Ll}\p{Lu}\p{L}*/gu
const HUMP = /(?<=\p{Ll})(?=\p{Lu})/u

/** Removes plural, -ing and -ed: `retries` matches `retry`, `installing` matches `install`. */
function withoutEnding(word: string): string {
  if (word.length < 5) return word.length === 4 ? word.replace(/(?<![su])s$/, '') : word
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  const singular = word.replace(/(?<=(ss|sh|ch|x|z))es$|(?<![sui])s$/, '')
  const bare = singular.replace(/(?<=[a-z]{3})(ing|ed)$/, '')
  // Without the last vowel, `configur(e)`, `configur(ed)` and `configur(ing)` match.
  return bare.length >= 5 ? bare.replace(/e$/, '') : bare
}

/** Removes everything but letters and digits, and their accents. */
export function bare(text: string): string {
  return withoutAccents(text.toLowerCase()).replace(/[^\p{L}\p{N}]+/gu, '')
}
