import type { Preprocessing } from '../../domain/knowledge-base.ts'
import { afterSpace, firstBoundary, isSpace, lastBoundary, safeCut } from './text-boundary.ts'

/** Code units into a text. */
export interface TextSpan {
  readonly startChar: number
  readonly endChar: number
}

export type ChunkSize = Pick<Preprocessing, 'chunkSizeChars' | 'chunkOverlapChars'>

/**
 * Cuts a text into overlapping spans of at most `chunkSizeChars`: at the end of a paragraph, a line, a sentence or a
 * word, in this order, within the second half of the size. A text that fits is one span as it is; the spans of a longer
 * one begin and end without white space. They cover the whole text except white space. At most half of the size
 * overlaps, so that the work is linear in the length.
 */
export function* chunkText(text: string, size: ChunkSize): Generator<TextSpan> {
  const { chunkSizeChars } = size
  if (text.length <= chunkSizeChars) {
    if (text.trim() !== '') yield { startChar: 0, endChar: text.length }
    return
  }
  let start = 0
  let covered = 0
  while (covered < text.length) {
    const next = afterSpace(text, covered, covered + chunkSizeChars)
    if (next > covered) {
      start = next
      covered = next
      continue
    }
    let cut = cutOf(text, { start, covered }, chunkSizeChars)
    if (endOf(text, start, cut) - start > chunkSizeChars) {
      // Only a character of several units at the very end of an overlap: it fits without the overlap.
      start = covered
      cut = cutOf(text, { start, covered }, chunkSizeChars)
    }
    covered = cut
    yield { startChar: start, endChar: endOf(text, start, covered) }
    start = restartOf(text, { start, covered }, size)
  }
}

interface Progress {
  /** Where the span begins. */
  readonly start: number
  /** Up to where earlier spans reach. */
  readonly covered: number
}

/** Where the span ends, before its white space is dropped; always beyond what is covered. */
function cutOf(text: string, { start, covered }: Progress, sizeChars: number): number {
  const limit = start + sizeChars
  if (limit >= text.length) return text.length
  const after = Math.max(start + Math.floor(sizeChars / 2), covered)
  return lastBoundary(text, after, limit) ?? safeCut(text, covered, limit)
}

function endOf(text: string, start: number, cut: number): number {
  let end = cut
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1
  return end
}

function restartOf(text: string, { start, covered }: Progress, size: ChunkSize): number {
  const overlap = Math.min(size.chunkOverlapChars, Math.floor(size.chunkSizeChars / 2))
  const earliest = Math.max(start + 1, covered - overlap)
  if (overlap === 0 || earliest >= covered) return covered
  const boundary = firstBoundary(text, earliest, covered)
  return boundary ?? Math.min(covered, safeCut(text, earliest - 1, earliest))
}

const HEADING = /^ {0,3}#{1,6}(?:[ \t]|$)/
const FENCE = /^ {0,3}(?:```|~~~)/
/** A heading or fence shows in its first characters; the rest of a long line is not looked at. */
const LINE_START_CHARS = 16

/**
 * Each heading begins a span and takes its section with it; a section that is too long is cut as text is. A heading
 * without text of its own stays with the section after it.
 */
export function* chunkMarkdown(text: string, size: ChunkSize): Generator<TextSpan> {
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
    line = end
  }
  yield* section(text, { startChar: start, endChar: text.length }, size)
}

function* section(text: string, { startChar, endChar }: TextSpan, size: ChunkSize) {
  for (const span of chunkText(text.slice(startChar, endChar).trimEnd(), size)) {
    yield { startChar: startChar + span.startChar, endChar: startChar + span.endChar }
  }
}
