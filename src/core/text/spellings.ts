/** Spellings of one word that meet: each function gives the one that stands for all. */

/** `café` → `cafe`, `straße` → `strasse`: Latin letters only, since other scripts write vowels as marks. */
export function withoutAccents(word: string): string {
  if (!/[\u00c0-\u024f]/.test(word)) return word
  const plain = word.normalize('NFD').replaceAll(/[\u0300-\u036f]/g, '')
  return plain.replaceAll(/[æœøłđðþßı]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)
}

const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ß: 'ss',
  ı: 'i',
}

/** `mueller` → `müller`, as those write who have no umlauts; the `ue` of `neue`, `bauer` and `quelle` stays. */
export function withUmlauts(word: string): string {
  if (!/[aou]e/.test(word)) return word
  return word
    .replaceAll('ae', 'ä')
    .replaceAll('oe', 'ö')
    .replaceAll(/(?<![aeioäöq])ue/g, 'ü')
}

/** Digits of all scripts as those of ASCII: `٢٠٢٠` → `2020`. */
export function withPlainDigits(word: string): string {
  return word.replaceAll(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0
    if (code < 0x80) return digit
    // Unicode's decimal digits stand in runs of ten. Most begin at a multiple of 16, or at six after one.
    let zero = code
    while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
    return String(code - zero)
  })
}

/** `ё` → `е`; Persian and Urdu letters that only look another way in Arabic; letters that are stretched. */
export function withPlainLetters(word: string): string {
  return word.replaceAll(/[ёیکۀەہ\u0640]/g, (letter) => OTHER_LETTERS[letter] ?? '')
}

const OTHER_LETTERS: Readonly<Record<string, string>> = {
  ё: 'е',
  ی: 'ي',
  ک: 'ك',
  ۀ: 'ه',
  ە: 'ه',
  ہ: 'ه',
}

/** `l'eau` → `eau`, `dell'acqua` → `acqua` */
export function withoutElision(word: string): string {
  return word.replace(ELIDED, '')
}

const ELIDED =
  /^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu|all|agl|coll|dall|dell|nell|sull|un|gl)'(?=.)/
