import { isUtf8 } from 'node:buffer'
import { guessedEncoding } from './encoding-guess.ts'

/**
 * Bytes as text, by the first of these that holds: a byte order mark, the encoding that was declared, UTF-8 without an
 * error, the encoding whose text looks most like a language. Line ends become `\n`.
 */
export function decodeText(bytes: Uint8Array, declared: string | null): string {
  const marked = markedEncoding(bytes)
  const encoding = marked ?? declaredEncoding(declared) ?? detectedEncoding(bytes, false)
  return decoded(bytes, encoding).replaceAll('\r\n', '\n').toWellFormed()
}

/** What decodes to text in UTF-32 as well, which `TextDecoder` does not know. */
export type TextEncoding = Bun.Encoding | 'utf-32le' | 'utf-32be'

/** By a byte order mark. */
export function markedEncoding(bytes: Uint8Array): TextEncoding | null {
  const [first, second, third, fourth] = bytes
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xff && second === 0xfe) {
    return third === 0 && fourth === 0 && bytes.length >= 4 ? 'utf-32le' : 'utf-16le'
  }
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  const isWide = first === 0 && second === 0 && third === 0xfe && fourth === 0xff
  return isWide ? 'utf-32be' : null
}

/** The name of an encoding as `TextDecoder` knows it; null: no encoding has that name, or it is UTF-8, which is tried anyway. */
export function declaredEncoding(name: string | null): TextEncoding | null {
  if (name === null) return null
  const wide = /^utf-?32-?(le|be)?$/i.exec(name.trim())
  if (wide !== null) return wide[1]?.toLowerCase() === 'be' ? 'utf-32be' : 'utf-32le'
  try {
    // A decoder names itself by what it takes.
    const encoding = new TextDecoder(name).encoding as Bun.Encoding
    return encoding === 'utf-8' ? null : encoding
  } catch {
    return null
  }
}

/**
 * The encoding of bytes without a mark.
 * @param isCut more bytes follow: the last letter may not be whole
 */
export function detectedEncoding(bytes: Uint8Array, isCut: boolean): TextEncoding {
  const wide = wideEncoding(bytes)
  if (wide !== null) return wide
  if (isUtf8(isCut ? wholeUtf8(bytes) : bytes)) return hasIso2022Jp(bytes) ? 'iso-2022-jp' : 'utf-8'
  return guessedEncoding(bytes)
}

const SNIFFED_BYTES = 65_536

/** UTF-16 or UTF-32 without a mark, by where its zero bytes are; null: there are none, or everywhere. */
export function wideEncoding(bytes: Uint8Array): TextEncoding | null {
  const sample = bytes.subarray(0, Math.min(bytes.length, SNIFFED_BYTES) & ~3)
  if (sample.length < 4 || !sample.includes(0)) return null
  const zeros = [0, 0, 0, 0]
  for (let index = 0; index < sample.length; index += 1) {
    if (sample[index] === 0) zeros[index & 3] = (zeros[index & 3] ?? 0) + 1
  }
  const [first = 0, second = 0, third = 0, fourth = 0] = zeros.map(
    (count) => (count * 4) / sample.length,
  )
  if (first < 0.9 && third > 0.9 && fourth > 0.99) return 'utf-32le'
  if (fourth < 0.9 && second > 0.9 && first > 0.99) return 'utf-32be'
  const low = (second + fourth) / 2
  const high = (first + third) / 2
  // Commas and line ends alone make some zeros, in text without another letter of ASCII.
  if (low > 0.02 && high < low / 4) return plausible(sample, 'utf-16le')
  if (high > 0.02 && low < high / 4) return plausible(sample, 'utf-16be')
  return null
}

function plausible(sample: Uint8Array, encoding: Bun.Encoding): Bun.Encoding | null {
  const text = new TextDecoder(encoding).decode(sample.subarray(0, 8192), { stream: true })
  const odd = text.match(/[\p{Cc}\p{Co}\ufffd]/gu)?.filter((sign) => !/\s/.test(sign)).length ?? 0
  return odd <= text.length / 50 ? encoding : null
}

/** Without a last letter that is cut. */
function wholeUtf8(bytes: Uint8Array): Uint8Array {
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

function decoded(bytes: Uint8Array, encoding: TextEncoding): string {
  const decoder = streamingDecoder(encoding)
  return decoder.decode(bytes) + decoder.end()
}

export interface StreamingDecoder {
  decode(bytes: Uint8Array): string
  end(): string
}

/** Decodes pieces that are cut anywhere. A byte order mark at the begin is left out. */
export function streamingDecoder(encoding: TextEncoding): StreamingDecoder {
  if (encoding === 'utf-32le' || encoding === 'utf-32be')
    return utf32Decoder(encoding === 'utf-32le')
  const decoder = new TextDecoder(encoding)
  return {
    decode: (bytes) => decoder.decode(bytes, { stream: true }),
    end: () => decoder.decode(),
  }
}

function utf32Decoder(isLittle: boolean): StreamingDecoder {
  let rest = new Uint8Array(0)
  let isFirst = true
  return {
    decode: (bytes) => {
      const all = Buffer.concat([rest, bytes])
      const size = all.length & ~3
      const parts: string[] = []
      for (let index = 0; index < size; index += 4) {
        const code = isLittle ? all.readUInt32LE(index) : all.readUInt32BE(index)
        const isMark = isFirst && code === 0xfeff
        isFirst = false
        if (!isMark) parts.push(code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd')
      }
      rest = all.subarray(size)
      return parts.join('')
    },
    end: () => (rest.length > 0 ? '\ufffd' : ''),
  }
}
