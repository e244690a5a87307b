/**
 * The words of a text in lower case and compatibility form (NFKC): `Ｔｅａ` is `tea`. Runs of letters, marks and digits
 * are words; where a script writes no spaces, the dictionary of Unicode's segmentation (UAX 29) finds them. In pieces,
 * since a text may be a hundred million characters long.
 */
export function* wordsOf(text: string, locale: string | undefined): Generator<readonly string[]> {
  for (const piece of piecesOf(text)) {
    const normal = piece.normalize('NFKC')
    const plain = locale === undefined ? normal.toLowerCase() : normal.toLocaleLowerCase(locale)
    const words = plain.match(WORD) ?? []
    yield UNSPACED.test(plain) ? words.flatMap(segmentsOf) : words
  }
}

/** All words of a text that is not long; see `wordsOf`. */
export function words(text: string): readonly string[] {
  return [...wordsOf(text, undefined)].flat()
}

const WORD = /[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}]+)*/gu

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

function segmentsOf(word: string): readonly string[] {
  if (!UNSPACED.test(word)) return [word]
  const segmenter = new Intl.Segmenter('und', { granularity: 'word' })
  return [...segmenter.segment(word)]
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment)
}

const PIECE_CHARS = 16_384

/** The text cut at white space, or anywhere but inside a character where there is none. */
function* piecesOf(text: string): Generator<string> {
  let start = 0
  while (text.length - start > PIECE_CHARS) {
    const end = cutBefore(text, start + PIECE_CHARS, start)
    yield text.slice(start, end)
    start = end
  }
  yield text.slice(start)
}

/** How far back white space is looked for. */
const CUT_CHARS = 1024

function cutBefore(text: string, end: number, start: number): number {
  for (let at = end; at > Math.max(start, end - CUT_CHARS); at -= 1) {
    if (/\s/.test(text.charAt(at - 1))) return at
  }
  const isPair = /[\ud800-\udbff]/.test(text.charAt(end - 1))
  return isPair ? end - 1 : end
}

/** `café` → `cafe`: Latin letters only, since other scripts write vowels as marks. */
export function withoutAccents(word: string): string {
  return /[\u00c0-\u024f]/.test(word)
    ? word.normalize('NFD').replaceAll(/[\u0300-\u036f]/g, '')
    : word
}

/** Whether at least half of the letters are Latin; a text without letters counts as such. */
export function isMostlyLatin(text: string): boolean {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  const latin = text.match(/\p{Script=Latin}/gu)?.length ?? 0
  return latin * 2 >= letters
}
