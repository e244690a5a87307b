/** Words that say nothing about what a text is about. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about after all also am an and any are as at be because been before being but by can ' +
    'could did do does doing for from get give had has have having he her here hers him his ' +
    'how i if in into is it its itself just let like make may me might mine more most much ' +
    'must my no nor not of off on one only or other our out over please say shall she should ' +
    'so some such tell than that the their them then there these they this those through to ' +
    'too under up us use used using very want was way we were what when where which while who ' +
    'whom whose why will with would you your yours'
  ).split(' '),
)

/** Words that stand for something said before. */
const POINTING_WORDS =
  /\b(he|her|him|his|it|its|one|ones|she|that|their|them|these|they|this|those)\b/i

/**
 * The words of a text that keyword search counts, in their order: lower case, without accents, stop
 * words and common English endings; names in camel case whole and in parts; scripts written without
 * spaces as pairs of characters.
 */
export function keywords(text: string): readonly string[] {
  const plain = text.normalize('NFKD').replace(/\p{Mn}/gu, '')
  const runs = plain.match(/[\p{L}\p{N}]+/gu) ?? []
  return runs.flatMap(wordsOfRun)
}

/**
 * Whether a question can only be understood from what was said before: hardly any words of its own.
 */
export function isFollowUp(question: string): boolean {
  const count = new Set(keywords(question)).size
  return count === 0 || (count <= 2 && POINTING_WORDS.test(question))
}

const UNSPACED_SCRIPTS =
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}|\p{Script=Lao}/u

function wordsOfRun(run: string): readonly string[] {
  if (UNSPACED_SCRIPTS.test(run)) return pairsOf([...run.toLowerCase()])
  const parts = run.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}]+|\p{N}+/gu) ?? []
  const words = parts.length > 1 ? [run, ...parts] : [run]
  return words
    .map((word) => word.toLowerCase())
    .filter((word) => !STOP_WORDS.has(word))
    .map(stem)
}

function pairsOf(chars: readonly string[]): readonly string[] {
  if (chars.length === 1) return chars
  return chars.slice(1).map((char, index) => `${chars[index]}${char}`)
}

/** Plural, -ing and -ed, so that `retries` finds `retry` and `installing` finds `install`. */
function stem(word: string): string {
  if (word.length < 5) return word.length === 4 ? word.replace(/(?<![su])s$/, '') : word
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  const singular = word.replace(/(?<=(ss|sh|ch|x|z))es$|(?<![sui])s$/, '')
  const bare = singular.replace(/(?<=[a-z]{3})(ing|ed)$/, '')
  // `configur(e)`, `configur(ed)`, `configur(ing)` meet without the last vowel.
  return bare.length >= 5 ? bare.replace(/e$/, '') : bare
}
