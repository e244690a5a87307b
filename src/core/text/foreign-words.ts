import { stopWordsOf, textToWords } from './words.ts'

/**
 * Whether a text in Latin letters is not English, judging by its small words: more are foreign than English, or there are
 * none of either and two words have letters that English does not use.
 */
export function isForeignToEnglish(text: string): boolean {
  const [words = []] = textToWords(text.slice(0, TEXT_CHARS), undefined)
  const english = stopWordsOf('english')
  const englishCount = words.filter((word) => english.has(word)).length
  const foreignCount = words.filter((word) => SMALL_WORDS.has(word)).length
  if (foreignCount > 0 || englishCount > 0) return foreignCount > englishCount
  return words.filter((word) => /[ß-öø-ɏ]/.test(word)).length >= 2
}

/** A language shows soon. */
const TEXT_CHARS = 4096

/**
 * Articles, pronouns, question words and the like that occur in no English text, even in names and abbreviations: `der`,
 * `de`, `des`, `mit` are not included. Danish and Norwegian, Dutch, Finnish, French, German, Italian, Polish, Portuguese,
 * Romanian, Spanish, Swedish, Turkish.
 */
const SMALL_WORDS = new Set(
  [
    'jeg ikke som hvad hvordan hvor hvorfor blev være også',
    'het een niet wordt naar ook maar waar waarom welke wij zijn voor',
    'että mikä missä miten ovat mutta joka kuinka onko sekä',
    'une dans avec qui nous vous quel quelle où cette pourquoi sont être',
    'eine einen einem einer und ist nicht für auf zum zur wie wer welche ich wir wird sind',
    'gli è più della dei delle sono perché quale nel degli questo',
    'nie się jak przez oraz są gdzie dlaczego który',
    'não são é você pela pelo também onde quais foi isso',
    'și este sunt pentru sau fără',
    'unos unas que cómo qué cuál dónde más está cuando este esta entre',
    'och är inte för på ett vad jag också från eller',
    'bir için ile nasıl nedir nerede olan değil hangi neden',
  ].flatMap((words) => words.split(' ')),
)
