/**
 * The words of a text in lower case and compatibility form (NFKC): `Ｔｅａ` is `tea`. Runs of letters, marks and digits
 * are words, and so is what hyphens and apostrophes join. Scripts without spaces come as runs. In pieces, since a text
 * may be a hundred million characters long.
 */
export function* joinedWordsOf(
  text: string,
  locale: string | undefined,
): Generator<readonly string[]> {
  if (text.length <= PIECE_CHARS) {
    yield joinedWords(text, locale)
    return
  }
  for (const piece of textPieces(text)) yield joinedWords(piece, locale)
}

/** The same of a text that is not long. */
export function joinedWords(piece: string, locale: string | undefined): readonly string[] {
  return wordsOfNormal(normalText(piece, locale))
}

/** In lower case and compatibility form, without what is not seen. */
export function normalText(piece: string, locale: string | undefined): string {
  const normal = piece.normalize('NFKC')
  const plain = locale === undefined ? normal.toLowerCase() : normal.toLocaleLowerCase(locale)
  return INVISIBLE.test(plain) ? plain.replaceAll(INVISIBLES, '') : plain
}

/** The words of a normal text. */
export function wordsOfNormal(text: string): readonly string[] {
  return text.match(JOINED_WORDS) ?? []
}

/**
 * The words of a text in pieces: what hyphens join comes apart, and where a script writes no spaces, the dictionary of
 * Unicode's segmentation (UAX 29) finds them.
 */
export function* textToWords(
  text: string,
  locale: string | undefined,
): Generator<readonly string[]> {
  for (const joined of joinedWordsOf(text, locale)) {
    yield joined.flatMap((word) => hyphenatedParts(word).flatMap(segmentsOf))
  }
}

/** All words of a text that is not long; see `textToWords`. */
export function words(text: string): readonly string[] {
  return [...textToWords(text, undefined)].flat()
}

/** Soft hyphens and joiners, which only say how a word is drawn. */
const INVISIBLE = /\u00ad|\u200c|\u200d|\u2060/
const INVISIBLES = /\u00ad|\u200c|\u200d|\u2060/g

/** Of more parts the next word is made: what names a thing has few. */
const JOINED_WORDS = /[\p{L}\p{M}\p{N}]+(?:['’\-‐][\p{L}\p{M}\p{N}]+)*/gu

const HYPHEN = /[-‐]/

/** The parts of a word that hyphens join. */
export function hyphenatedParts(joined: string): readonly string[] {
  return HYPHEN.test(joined) ? joined.split(HYPHEN) : [joined]
}

/** Scripts that write no spaces between words. */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

/** The words of a run in a script without spaces; any other word as it is. */
export function segmentsOf(word: string): readonly string[] {
  if (!UNSPACED.test(word)) return [word]
  const segmenter = new Intl.Segmenter('und', { granularity: 'word' })
  return [...segmenter.segment(word)]
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment)
}

const PIECE_CHARS = 16_384
/** The text cut at white space, or anywhere but inside a character where there is none. */
export function* textPieces(text: string): Generator<string> {
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

/** Whether at least half of the letters are Latin; a text without letters counts as such. */
export function isMostlyLatin(text: string): boolean {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  const latin = text.match(/\p{Script=Latin}/gu)?.length ?? 0
  return latin * 2 >= letters
}
