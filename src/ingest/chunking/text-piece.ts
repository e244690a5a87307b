import { chunkText, type TextSpan } from './chunk-text.ts'
import { fits, type SpanLimits } from './span-limits.ts'
import { isSpace } from './text-boundary.ts'

/** A span with what is known about where it stands. */
export interface TextPiece extends TextSpan {
  /** The headings above its first character, the outermost first, without those that it begins with. */
  readonly above: readonly string[]
  /** All of them. */
  readonly headings: readonly string[]
  /** Further text that is repeated before it when it is embedded, such as the header of its table. */
  readonly repeated: string
}

/** The end of the line that begins there, with its line feed. */
export function lineEnd(text: string, start: number): number {
  const newline = text.indexOf('\n', start)
  return newline === -1 ? text.length : newline + 1
}

/** The span without white space at its end; null: there is nothing else. */
export function trimmedSpan(text: string, { startChar, endChar }: TextSpan): TextSpan | null {
  let end = endChar
  while (end > startChar && isSpace(text.charCodeAt(end - 1))) end -= 1
  return end === startChar ? null : { startChar, endChar: end }
}

/** Spans of whole lines, as many in each as fit; a line that does not fit is cut as text is. */
export function* chunkLines(
  text: string,
  { startChar, endChar }: TextSpan,
  limitsAt: (startChar: number) => SpanLimits,
): Generator<TextSpan> {
  let start = startChar
  let end = startChar
  for (let line = startChar; line < endChar; ) {
    const next = Math.min(lineEnd(text, line), endChar)
    const trimmed = trimmedSpan(text, { startChar: start, endChar: next })
    if (trimmed === null) {
      start = next
      end = next
    } else if (fits(text, start, trimmed.endChar, limitsAt(start))) end = next
    else {
      yield* spansBetween(text, start, end)
      const own = trimmedSpan(text, { startChar: line, endChar: next })
      const isWhole = own !== null && fits(text, line, own.endChar, limitsAt(line))
      if (!isWhole) yield* shifted(chunkText(text.slice(line, next), limitsAt(line)), line)
      start = isWhole ? line : next
      end = next
    }
    line = next
  }
  yield* spansBetween(text, start, end)
}

function* spansBetween(text: string, startChar: number, endChar: number): Generator<TextSpan> {
  const span = trimmedSpan(text, { startChar, endChar })
  if (span !== null) yield span
}

export function* shifted(spans: Iterable<TextSpan>, by: number): Generator<TextSpan> {
  for (const { startChar, endChar } of spans) {
    yield { startChar: startChar + by, endChar: endChar + by }
  }
}
