import type { SentenceWindows } from '../../core/domain/knowledge-base.ts'
import { chunkText, type TextSpan } from './chunk-text.ts'
import { fits, type SpanLimits } from './span-limits.ts'
import { BOUNDARY, boundaryBefore, isSpace } from './text-boundary.ts'
import { shifted, trimmedSpan } from './text-piece.ts'

/** Windows of sentences, each with some of the one before; a sentence that does not fit is cut as text is. */
export function* chunkSentences(
  text: string,
  { windowSize, windowOverlap }: SentenceWindows,
  limits: SpanLimits,
): Generator<TextSpan> {
  let window: TextSpan[] = []
  let hasNew = false
  const span = (): TextSpan[] => {
    const [first, last] = [window[0], window.at(-1)]
    if (first === undefined || last === undefined || !hasNew) return []
    hasNew = false
    return [{ startChar: first.startChar, endChar: last.endChar }]
  }
  for (const sentence of sentencesOf(text)) {
    const { startChar, endChar } = sentence
    if (!fits(text, startChar, endChar, limits)) {
      yield* span()
      window = []
      yield* shifted(chunkText(text.slice(startChar, endChar), limits), startChar)
      continue
    }
    const isFull = window.length >= windowSize
    if (isFull || !fits(text, window[0]?.startChar ?? startChar, endChar, limits)) {
      yield* span()
      window = windowOverlap === 0 ? [] : window.slice(-windowOverlap)
      while (!fits(text, window[0]?.startChar ?? startChar, endChar, limits)) window.shift()
    }
    window.push(sentence)
    hasNew = true
  }
  yield* span()
}

/** The sentences of a text, without white space around them; a line that ends a paragraph ends one too. */
export function* sentencesOf(text: string): Generator<TextSpan> {
  let start = 0
  for (let at = 1; at <= text.length; at += 1) {
    if (at < text.length) {
      if (isSpace(text.charCodeAt(at))) continue
      const strength = boundaryBefore(text, at)
      if (strength !== BOUNDARY.sentence && strength !== BOUNDARY.paragraph) continue
    }
    let first = start
    while (first < at && isSpace(text.charCodeAt(first))) first += 1
    const span = trimmedSpan(text, { startChar: first, endChar: at })
    if (span !== null) yield span
    start = at
  }
}
