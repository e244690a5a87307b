/** The used part of snowball-stemmers 0.6.0, which has no types. */
declare module 'snowball-stemmers' {
  interface Stemmer {
    stem(word: string): string
  }
  export function newStemmer(language: string): Stemmer
}
