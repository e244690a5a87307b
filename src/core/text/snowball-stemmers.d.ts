/** Types for the parts of snowball-stemmers 0.6.0 that Eider uses; the package has none. */
declare module 'snowball-stemmers' {
  interface Stemmer {
    stem(word: string): string
  }
  export function newStemmer(language: string): Stemmer
}
