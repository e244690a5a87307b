/** The part that is used of snowball-stemmers 0.6.0, which brings no types. */
declare module 'snowball-stemmers' {
  interface Stemmer {
    stem(word: string): string
  }
  export function newStemmer(language: string): Stemmer
}
