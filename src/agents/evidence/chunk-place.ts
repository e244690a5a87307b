/** A chunk's place in its document, beyond its offsets. */

import { type ChunkPages, pagesIn } from '../../core/domain/agents/completion-event.ts'
import { nameKey } from '../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { isObject } from '../../core/json.ts'

export interface ChunkPlace {
  readonly pages: ChunkPages | null
  /** The headings above the chunk, joined by ` > `. */
  readonly heading: string | null
}

const NOWHERE: ChunkPlace = { pages: null, heading: null }

/** null: unknown from this row. */
export function chunkPlace(
  metadata: ResultValue | undefined,
  origins: readonly KnowledgeBase[],
): ChunkPlace | null {
  if (isObject(metadata)) {
    const { heading } = metadata
    return {
      pages: pagesIn((name) => metadata[name]),
      heading: typeof heading === 'string' && heading.trim() !== '' ? heading : null,
    }
  }
  const hasPlaces = origins.some(({ storedMetadata }) => {
    return storedMetadata.some(({ name }) => ['page', 'slide', 'heading'].includes(nameKey(name)))
  })
  return hasPlaces ? null : NOWHERE
}

const HEADING_LINE = /^(#{1,6})[ \t]+(.*?)[ \t#]*$/
const FENCE_LINE = /^[ \t]*(?:```|~~~)/
const JOINT = ' > '

interface Level {
  readonly depth: number
  readonly text: string
}

/**
 * The headings above a position in a chunk: those above the chunk, and Markdown headings within it before the position.
 * null: none.
 * @param path of the chunk; if it begins with a heading, of that heading
 */
export function headingAt(at: number, text: string, path: string | null): string | null {
  const [first, ...others] = headingsBefore(at, text)
  if (first === undefined) return path
  const above = path === null ? [] : path.split(JOINT)
  // The path of a chunk that begins with a heading ends with that.
  const isNamed = above.at(-1) === first.text
  const levels: Level[] = above.map((part, index) => {
    const depth = isNamed ? first.depth - (above.length - 1 - index) : index - above.length
    return { depth, text: part }
  })
  for (const heading of isNamed ? others : [first, ...others]) {
    while ((levels.at(-1)?.depth ?? -Infinity) >= heading.depth) levels.pop()
    levels.push(heading)
  }
  return levels.map((level) => level.text).join(JOINT)
}

function headingsBefore(at: number, text: string): readonly Level[] {
  const levels: Level[] = []
  let isCode = false
  let start = 0
  for (const line of text.slice(0, at + 1).split('\n')) {
    if (FENCE_LINE.test(line)) isCode = !isCode
    const [, marks = '', heading = ''] = isCode ? [] : (HEADING_LINE.exec(line) ?? [])
    if (heading !== '' && start <= at) levels.push({ depth: marks.length, text: heading })
    start += line.length + 1
  }
  return levels
}
