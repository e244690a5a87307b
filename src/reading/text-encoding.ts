import { isUtf8 } from 'node:buffer'
import TABLE from '../../assets/reading/encodings.json' with { type: 'json' }

/**
 * By mark, declared encoding, valid UTF-8, or what looks most like a language. Ends lines in `\n`.
 */
export function decodeText(bytes: Uint8Array, declared: string | null): string {
  const marked = markedEncoding(bytes)
  const encoding = marked ?? declaredEncoding(declared) ?? detectedEncoding(bytes, false)
  return new TextDecoder(encoding).decode(bytes).replaceAll('\r\n', '\n').toWellFormed()
}

export function markedEncoding([first, second, third, fourth]: Uint8Array): Bun.Encoding | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  // Two zeros after it would be UTF-32, which no decoder supports.
  const isLittle = first === 0xff && second === 0xfe && (third !== 0 || fourth !== 0)
  return isLittle ? 'utf-16le' : null
}

/** `TextDecoder`'s name; null if it has none, or for UTF-8, which is tried anyway. */
export function declaredEncoding(name: string | null): Bun.Encoding | null {
  if (name === null) return null
  try {
    // A decoder reports its canonical name.
    const encoding = new TextDecoder(name).encoding as Bun.Encoding
    return encoding === 'utf-8' ? null : encoding
  } catch {
    return null
  }
}

/** For bytes without a mark. @param isCut whether the last character may be incomplete */
export function detectedEncoding(bytes: Uint8Array, isCut: boolean): Bun.Encoding {
  const wide = wideEncoding(bytes)
  if (wide !== null) return wide
  if (isUtf8(isCut ? wholeUtf8(bytes) : bytes)) return hasIso2022Jp(bytes) ? 'iso-2022-jp' : 'utf-8'
  return guessedEncoding(bytes)
}

const SNIFFED_BYTES = 65_536

/** By its zero bytes; null if they are nowhere or everywhere. */
export function wideEncoding(bytes: Uint8Array): Bun.Encoding | null {
  const sample = bytes.subarray(0, Math.min(bytes.length, SNIFFED_BYTES) & ~1)
  if (sample.length < 4 || !sample.includes(0)) return null
  let [high, low] = [0, 0]
  for (let index = 0; index < sample.length; index += 2) {
    if (sample[index] === 0) high += 2 / sample.length
    if (sample[index + 1] === 0) low += 2 / sample.length
  }
  // In text without other ASCII characters, commas and line ends alone cause some zeros.
  if (low > 0.02 && high < low / 4) return plausible(sample, 'utf-16le')
  if (high > 0.02 && low < high / 4) return plausible(sample, 'utf-16be')
  return null
}

function plausible(sample: Uint8Array, encoding: Bun.Encoding): Bun.Encoding | null {
  const text = new TextDecoder(encoding).decode(sample.subarray(0, 8192), { stream: true })
  const odd = text.match(/[\p{Cc}\p{Co}\ufffd]/gu)?.filter((sign) => !/\s/.test(sign)).length ?? 0
  return odd <= text.length / 50 ? encoding : null
}

/** Removes an incomplete last character. */
export function wholeUtf8(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return bytes
    if (byte >= 0xc0) {
      const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return size > back ? bytes.subarray(0, -back) : bytes
    }
  }
  return bytes
}

const ISO_2022_JP = /\p{Cc}\$[@B][!-~]+\p{Cc}\([BJ]/u

function hasIso2022Jp(bytes: Uint8Array): boolean {
  if (!bytes.includes(0x1b)) return false
  const text = new TextDecoder('latin1').decode(bytes.subarray(0, SNIFFED_BYTES))
  return ISO_2022_JP.test(text)
}

/** Tries every encoding in which the bytes are valid; the most language-like text wins. */

/**
 * Lower-case letters beyond ASCII. For a separate script, frequent ones come before the space. The
 * order decides ties: the most common on the Web come first.
 */
const ALPHABETS = TABLE.alphabets.map(({ letters, encodings }) => {
  // The table has only names that `TextDecoder` knows.
  return { letters, encodings: encodings as readonly Bun.Encoding[] }
})

const MULTI_BYTE: readonly { encoding: Bun.Encoding; frequent: ReadonlySet<string> }[] = [
  { encoding: 'gb18030', frequent: new Set(TABLE.frequent.simplified) },
  { encoding: 'shift_jis', frequent: new Set(TABLE.frequent.japanese) },
  { encoding: 'big5', frequent: new Set(TABLE.frequent.traditional) },
  { encoding: 'euc-kr', frequent: new Set(TABLE.frequent.hangul) },
  { encoding: 'euc-jp', frequent: new Set(TABLE.frequent.japanese) },
]

/** A multi-byte encoding is rarely valid by chance, so a text with this score is accepted. */
const MULTI_BYTE_SCORE_MIN = 0.3
const DECODED_MAX = 65_536

/** @param bytes include some beyond ASCII, and may end anywhere */
export function guessedEncoding(bytes: Uint8Array): Bun.Encoding {
  const sample = nonAsciiParts(bytes)
  const multi = best(MULTI_BYTE.map((one) => [one.encoding, multiByteScore(sample, one)] as const))
  if (multi.score >= MULTI_BYTE_SCORE_MIN) return multi.encoding
  const scores: (readonly [Bun.Encoding, number])[] = []
  for (const { letters, encodings } of ALPHABETS) {
    for (const alphabet of letters) {
      for (const one of encodings) scores.push([one, alphabetScore(sample, one, alphabet)])
    }
  }
  const single = best(scores)
  if (single.score <= 0) return 'windows-1252'
  // One table contains the other except for some letters.
  return single.encoding === 'koi8-u' && !hasUkrainian(sample) ? 'koi8-r' : single.encoding
}

function best(scores: readonly (readonly [Bun.Encoding, number])[]): {
  encoding: Bun.Encoding
  score: number
} {
  let found: { encoding: Bun.Encoding; score: number } = {
    encoding: 'windows-1252',
    score: -Infinity,
  }
  for (const [encoding, score] of scores) {
    if (score > found.score + 1e-9) found = { encoding, score }
  }
  return found
}

/** Only words with bytes beyond ASCII count. A line end is never part of a character. */
function nonAsciiParts(bytes: Uint8Array): Uint8Array {
  const kept = new Uint8Array(Math.min(bytes.length, DECODED_MAX))
  let size = 0
  let start = 0
  while (start < bytes.length && size < kept.length) {
    let end = start
    let isAscii = true
    while (end < bytes.length && bytes[end] !== 0x0a && bytes[end] !== 0x0d) {
      if ((bytes[end] ?? 0) >= 0x80) isAscii = false
      end += 1
    }
    if (!isAscii) {
      const line = bytes.subarray(start, Math.min(end + 1, start + kept.length - size))
      kept.set(line, size)
      size += line.length
    }
    start = end + 1
  }
  return kept.subarray(0, size)
}

/** Null if the bytes are not valid. */
function decodedStrictly(bytes: Uint8Array, encoding: Bun.Encoding): string | null {
  try {
    // Decoded as a stream, because the last character may be incomplete.
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return null
  }
}

/**
 * From -1 to 1: how much the letters beyond ASCII look like a language written in this encoding.
 */
function multiByteScore(
  bytes: Uint8Array,
  { encoding, frequent }: { encoding: Bun.Encoding; frequent: ReadonlySet<string> },
): number {
  const text = decodedStrictly(bytes, encoding)
  if (text === null) return -1
  const isJapanese = encoding === 'shift_jis' || encoding === 'euc-jp'
  let count = 0
  let sum = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.codePointAt(index) ?? 0
    const letter = String.fromCodePoint(code)
    if (code > 0xffff) index += 1
    if (code < 0x80) continue
    count += 1
    // Two letters of Western text form one of these, in the middle of a word.
    if (/[a-z]/.test(text.charAt(index - 1)) || /[a-z]/.test(text.charAt(index + 1))) sum -= 1
    if (frequent.has(letter)) sum += 1
    else if (code >= 0x3040 && code <= 0x30ff) sum += isJapanese ? 1 : -0.3
    else if (code >= 0xac00 && code <= 0xd7a3) sum += encoding === 'euc-kr' ? 0.5 : -0.5
    else if (code >= 0x4e00 && code <= 0x9fff) sum += encoding === 'euc-kr' ? 0 : 0.25
    else if ((code >= 0x3000 && code <= 0x303f) || (code >= 0xff01 && code <= 0xff5e)) sum += 0.4
    else sum -= 0.6
  }
  return count === 0 ? -1 : sum / count
}

const LETTER = /\p{L}|\p{M}/u
const QUOTES_AND_MONEY = new Set('€£°§«»“”‘’„–—…•™®©²³µ·ºª´№')

/** From -2 to 1: how much the letters beyond ASCII are those of one alphabet, in words. */
function alphabetScore(bytes: Uint8Array, encoding: Bun.Encoding, letters: string): number {
  const text = decodedStrictly(bytes, encoding)
  if (text === null) return -2
  const isScript = letters.endsWith(' ')
  const alphabet = new Map([...letters.trimEnd()].map((letter, index) => [letter, index]))
  let count = 0
  let sum = 0
  for (let index = 0; index < text.length; index += 1) {
    const letter = text.charAt(index)
    if (letter < '\x80') continue
    count += 1
    const before = text.charAt(index - 1)
    const place = alphabet.get(letter.toLowerCase()) ?? alphabet.get(letter)
    if (place !== undefined) sum += isScript && place >= 10 ? 0.8 : 1
    else if (LETTER.test(letter)) sum -= 0.5
    else if (QUOTES_AND_MONEY.has(letter)) sum += 0.3
    else sum -= 0.5
    // Penalize a symbol within a word, a capital after a small letter, and two scripts in one word.
    const isLetter = LETTER.test(letter)
    const isWithin = LETTER.test(before) && LETTER.test(text.charAt(index + 1))
    if (!isLetter && isWithin && letter !== '’' && letter !== '·') sum -= 1
    if (isLetter && isCapital(letter) && isSmall(before)) sum -= 1
    if (isScript && isLetter && /[a-z]/i.test(before)) sum -= 1
  }
  return count === 0 ? -2 : sum / count
}

function isCapital(letter: string): boolean {
  return letter !== letter.toLowerCase()
}

function isSmall(letter: string): boolean {
  return letter !== letter.toUpperCase()
}

function hasUkrainian(bytes: Uint8Array): boolean {
  return /[ґєії]/i.test(new TextDecoder('koi8-u').decode(bytes))
}
