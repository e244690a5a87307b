/**
 * Some fonts draw a Cyrillic letter with the Latin one that looks the same, and say so in their tables: nobody who types the
 * word finds it then. In a word that is Cyrillic otherwise such letters become Cyrillic.
 */
export function cyrillic(text: string): string {
  if (!CYRILLIC.test(text) || !LATIN.test(text)) return text
  const repaired = text.replace(WORDS, (word) => {
    if (!CYRILLIC.test(word) || !LATIN.test(word)) return word
    const own = word.replace(BESIDE_CYRILLIC, inCyrillic)
    const others = own.match(LATIN_ALL) ?? []
    // A word of both: a unit after a number, a program's name with an ending.
    const isMeant = others.some((letter) => LOOKALIKES[letter] === undefined)
    if (isMeant || others.length > word.length / 2 || NAME.test(own)) return own
    return own.replace(LATIN_ALL, inCyrillic)
  })
  // The word for "and"; in Russian text the letter is one of a formula.
  return UKRAINIAN.test(repaired) ? repaired.replace(ALONE, inCyrillic) : repaired
}

function inCyrillic(letter: string): string {
  return LOOKALIKES[letter] ?? letter
}

const CYRILLIC = /[\u0400-\u04ff]/
const LATIN = /[A-Za-z]/
const LATIN_ALL = /[A-Za-z]/g
const WORDS = /[A-Za-z\u0400-\u04ff]+/g
const NAME = /[A-Za-z]{2}/
const UKRAINIAN = /[\u0404\u0406\u0407\u0454\u0456\u0457\u0490\u0491\u040e\u045e]/
const BESIDE_CYRILLIC = /(?<=[\u0400-\u04ff])[iI]|[iI](?=[\u0400-\u04ff])/g
const ALONE = /(?<=^|\s)[iI](?=\s[\u0400-\u04ff])|(?<=[\u0400-\u04ff,;:»]\s)[iI](?=\s|$)/g
const LOOKALIKES: Readonly<Record<string, string>> = {
  A: 'А',
  B: 'В',
  C: 'С',
  E: 'Е',
  H: 'Н',
  I: 'І',
  J: 'Ј',
  K: 'К',
  M: 'М',
  O: 'О',
  P: 'Р',
  S: 'Ѕ',
  T: 'Т',
  X: 'Х',
  a: 'а',
  c: 'с',
  e: 'е',
  i: 'і',
  j: 'ј',
  o: 'о',
  p: 'р',
  s: 'ѕ',
  x: 'х',
  y: 'у',
}
