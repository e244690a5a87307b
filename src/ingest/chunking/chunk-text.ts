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
 * overlaps, so that the work is linear in the length. `null` is a step without a span: the caller may pause at each.
 */
export function* chunkText(text: string, size: ChunkSize): Generator<TextSpan | null> {
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
      yield null
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
