import { type ChunkSize, chunkText, type TextSpan } from './chunk-text.ts'
import { afterSpace } from './text-boundary.ts'

const HEADING = /^ {0,3}#{1,6}(?:[ \t]|$)/
const FENCE = /^ {0,3}(?:```|~~~)/
/** A heading or fence shows in its first characters; the rest of a long line is not looked at. */
const LINE_START_CHARS = 16

/**
 * Each heading begins a span and takes its section with it; a section that is too long is cut as text is. A heading
 * without text of its own stays with the section after it. `null`: see `chunkText`.
 */
export function* chunkMarkdown(text: string, size: ChunkSize): Generator<TextSpan | null> {
  let start = 0
  let hasBody = false
  let isFenced = false
  for (let line = 0; line < text.length; ) {
    const newline = text.indexOf('\n', line)
    const end = newline === -1 ? text.length : newline + 1
    const begin = text.slice(line, Math.min(end, line + LINE_START_CHARS))
    if (FENCE.test(begin)) isFenced = !isFenced
    const isHeading = !isFenced && HEADING.test(begin)
    if (isHeading && hasBody) {
      yield* section(text, { startChar: start, endChar: line }, size)
      start = line
      hasBody = false
    }
    if (!isHeading && afterSpace(text, line, end) < end) hasBody = true
    yield null
    line = end
  }
  yield* section(text, { startChar: start, endChar: text.length }, size)
}

function* section(text: string, { startChar, endChar }: TextSpan, size: ChunkSize) {
  for (const span of chunkText(text.slice(startChar, endChar).trimEnd(), size)) {
    if (span === null) yield null
    else yield { startChar: startChar + span.startChar, endChar: startChar + span.endChar }
  }
}
