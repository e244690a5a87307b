import { createHash } from 'node:crypto'
import type { DocumentText } from '../domain/document.ts'
import type { TimeSlice } from '../runtime/scheduling.ts'

const HASHED_AT_ONCE_CHARS = 1_000_000
const ID_HEX_DIGITS = 16

/** The id of a document that has none: the first 16 hex digits of the MD5 of its content, columns by line feeds. */
export async function contentId(
  texts: readonly DocumentText[],
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash('md5')
  for (const [index, { text }] of texts.entries()) {
    if (index > 0) hash.update('\n')
    for (let start = 0; start < text.length; ) {
      const end = pieceEnd(text, start + HASHED_AT_ONCE_CHARS)
      hash.update(text.slice(start, end))
      start = end
      await slice.yieldIfSpent(signal)
    }
  }
  return hash.digest('hex').slice(0, ID_HEX_DIGITS)
}

/** Half a surrogate pair would be hashed as U+FFFD. */
function pieceEnd(text: string, end: number): number {
  const isHalf = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return isHalf ? end + 1 : Math.min(end, text.length)
}
