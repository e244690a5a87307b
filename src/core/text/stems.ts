import { stemmer as greekStem } from '@orama/stemmers/greek'
import { stemmer as hindiStem } from '@orama/stemmers/indian'
import type { Language } from '../domain/language.ts'

/** `running` → `run` */
export type Stem = (word: string) => string

/** Takes Latin words to their stems. Knowledge bases in other scripts have English words among theirs. */
export function stemsOfLatin(language: Language): Stem {
  if (language === 'none') return (word) => word
  return snowball(hasOtherScript(language) ? 'english' : language)
}

/** Whether the language is not written in Latin letters. */
export function hasOtherScript(language: Language): boolean {
  return IN_OTHER_SCRIPTS.has(language)
}

const IN_OTHER_SCRIPTS: ReadonlySet<Language> = new Set<Language>([
  'arabic',
  'armenian',
  'russian',
  'tamil',
])

/** The stem of a word by the script of its letters; a word of another script as it is. */
export function stemOf(word: string): string {
  for (const [script, stem] of SCRIPTS) if (script.test(word)) return stem(word)
  return word
}

const SCRIPTS: readonly (readonly [RegExp, Stem])[] = [
  [/\p{Script=Cyrillic}/u, snowball('russian')],
  [/\p{Script=Arabic}/u, snowball('arabic')],
  [/\p{Script=Greek}/u, (word) => greekStem(withoutMarks(word))],
  [/\p{Script=Devanagari}/u, hindiStem],
  [/\p{Script=Armenian}/u, snowball('armenian')],
  [/\p{Script=Tamil}/u, snowball('tamil')],
  [/\p{Script=Hebrew}/u, withoutMarks],
]

function withoutMarks(word: string): string {
  return word.normalize('NFD').replaceAll(/\p{M}/gu, '')
}

/** Made when it is first called, which takes longer than a call. */
function snowball(language: string): Stem {
  let stemmer: ReturnType<Snowball['newStemmer']> | undefined
  return (word) => {
    stemmer ??= loadSnowball().newStemmer(language)
    return stemmer.stem(word)
  }
}

type Snowball = typeof import('snowball-stemmers')

/** With the first word: its tables take a fiftieth of the time of a start, which has no words. */
function loadSnowball(): Snowball {
  return import.meta.require('snowball-stemmers')
}
