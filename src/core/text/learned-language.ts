import type { Language } from '../domain/language.ts'
import { stopWordsOf, textToWords } from './words.ts'

/** A text with fewer words may consist only of names. */
const WORDS_MIN = 40
const WORDS_MAX = 20_000
/** The required share of function words; even terse texts have more of their language's. */
const SHARE_MIN = 0.1
/** Over the second language. Rejects mixes and close pairs such as Danish and Norwegian. */
const LEAD_MIN = 1.15

/** Detects the language of texts by its function words. */
export function learnedLanguage(texts: readonly string[]): {
  /** null if there is too little text, or no language is clearly ahead. */
  readonly language: Language | null
  /** The number of words examined, all in Latin letters. */
  readonly wordCount: number
} {
  const counts = new Map<Language, number>()
  let wordCount = 0
  for (const text of texts) {
    for (const words of textToWords(text)) {
      for (const word of words) {
        if (!/^\p{Script=Latin}/u.test(word)) continue
        wordCount += 1
        for (const language of SMALL_WORDS.get(word) ?? []) {
          counts.set(language, (counts.get(language) ?? 0) + 1)
        }
      }
      if (wordCount >= WORDS_MAX) break
    }
    if (wordCount >= WORDS_MAX) break
  }
  const [first, second] = [...counts].sort(([, one], [, other]) => other - one)
  if (first === undefined || wordCount < WORDS_MIN) return { language: null, wordCount }
  const [language, count] = first
  const isClear = count >= SHARE_MIN * wordCount && count >= LEAD_MIN * (second?.[1] ?? 0)
  return { language: isClear ? language : null, wordCount }
}

/** Articles, prepositions, pronouns and forms of "to be": each language's most frequent words. */
const SMALL_WORDS_OF: Readonly<Partial<Record<Language, string>>> = {
  basque: 'eta da ez bat du dira ere izan zen baina dute hau bere den egin dela duen baten',
  catalan: 'el la els les de del i a en que és per un una amb no es al dels va més seva com són',
  czech: 'a se v na je že s z do o i to k by ale jako za po podle které byl jsou ve také od',
  danish:
    'og i at det er en til af på for med den der de som ikke et blev har var efter også bliver meget',
  dutch: 'de het een en van in is dat op te zijn met voor niet aan er door ook naar werd bij wordt',
  english:
    'the of and to in a is that for it was on as with by are be at from his this which or not',
  finnish:
    'ja on ei että se oli hän mutta joka ovat myös kun tai sen kuin mitä olla ole jossa sekä',
  french:
    'de la le les et des en un une du que est dans qui pour au par sur pas ne plus se ce avec',
  german:
    'der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an',
  hungarian: 'a az és hogy nem is egy van meg ez csak volt vagy de ha mint már még kell amely azt',
  irish: 'an na agus ar go i is a le do sé bhí ag ní tá sin ach san don bhfuil nach raibh',
  italian: 'di e il la che in un a per è una del con non le si dei della da al nel i sono alla più',
  norwegian:
    'og i å det er en til av på for med som den de ikke et ble har var etter også blir svært',
  portuguese:
    'de a o que e do da em um para com não uma os no se na por mais as dos como ao foi são',
  romanian: 'de și în a la cu pe nu este din care o un sa mai pentru că ca au fost al ale sau fi',
  slovene: 'in je v na se da za so z ki ni pa po od kot do s bi tudi ali še bil bila iz ter',
  spanish: 'de la que el en y a los del se las por un para con no una su al es lo como más fue son',
  swedish: 'och i att det som en på är av för med den till inte har de ett om var från också vad',
  turkish: 've bir bu da de için ile olarak olan çok daha en gibi kadar sonra ise ancak veya göre',
}

const SMALL_WORDS = languagesByWord()

function languagesByWord(): ReadonlyMap<string, readonly Language[]> {
  const found = new Map<string, Language[]>()
  for (const [language, words] of Object.entries(SMALL_WORDS_OF)) {
    for (const word of words.split(' ')) {
      const languages = found.get(word) ?? []
      // All keys of the table are languages.
      found.set(word, [...languages, language as Language])
    }
  }
  return found
}

/** More foreign than English function words, or none and two words with other letters. */
export function isForeignToEnglish(text: string): boolean {
  const [words = []] = textToWords(text.slice(0, TEXT_CHARS))
  const english = stopWordsOf('english')
  const englishCount = words.filter((word) => english.has(word)).length
  const foreignCount = words.filter((word) => FOREIGN_WORDS.has(word)).length
  if (foreignCount > 0 || englishCount > 0) return foreignCount > englishCount
  return words.filter((word) => /[ß-öø-ɏ]/.test(word)).length >= 2
}

/** This many characters are enough to detect the language. */
const TEXT_CHARS = 4096

/**
 * Articles, pronouns, question words and similar words that never occur in English texts, not even
 * in names and abbreviations; `der`, `de`, `des`, `mit` are therefore missing. Danish and
 * Norwegian, Dutch, Finnish, French, German, Italian, Polish, Portuguese, Romanian, Spanish,
 * Swedish, Turkish.
 */
const FOREIGN_WORDS = new Set(
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
