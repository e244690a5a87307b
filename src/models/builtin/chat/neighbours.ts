import { literal, quote } from '../../../core/domain/identifier.ts'
import type { ToolCall } from '../../../core/domain/ports/model-ports.ts'
import type { ChunkPlace, Passage } from './answer-unit.ts'
import type { ObservedCall } from './asked-question.ts'
import { passagesIn } from './observed-passages.ts'

export const QUERY_TOOL = 'kb_query_tool'
/** The prefix of these calls' ids. */
export const AROUND_ID = 'around-'
/** The best passages of a question, for which the text before and after is read too. */
const WIDENED_MAX = 4
/** Neighbouring chunks get this share of a passage's relevance. */
const NEIGHBOUR_SHARE = 0.8

/** The columns selected from a chunk. */
export const CHUNK_COLUMNS = [
  'id, chunk_id, chunk_content',
  ...['heading', 'page', 'page_starts', 'slide', 'slide_starts'].map((name) => {
    return `metadata->>'${name}' AS ${name}`
  }),
].join(', ')

/** Fetches the chunks before and after the best ones, which may hold the heading or the end of a sentence. */
export function callsAround(found: readonly Passage[]): readonly ToolCall[] {
  const known = new Set(found.map((passage) => placeKey(passage)))
  const conditions = new Map<string, string[]>()
  const best = found.toSorted((a, b) => b.relevance - a.relevance)
  for (const passage of best.slice(0, WIDENED_MAX)) {
    const { place, documentId, knowledgeBase: name = '' } = passage
    if (place === null) continue
    const numbers = [place.number - 1, place.number + 1].filter((number) => {
      const isThere = number >= 1 && number <= place.total
      return isThere && !known.has(placeKey(passage, { ...place, number }))
    })
    if (numbers.length === 0) continue
    const indexes = numbers.map((number) => literal(String(number - 1))).join(', ')
    const condition = `(id = ${literal(documentId)} AND metadata->>'chunk_index' IN (${indexes}))`
    conditions.set(name, [...(conditions.get(name) ?? []), condition])
  }
  return [...conditions].map(([name, parts], index) => {
    const limit = `LIMIT ${4 * WIDENED_MAX}`
    const input = `${selectFrom(name)} WHERE ${parts.join(' OR ')} ${limit}`
    return { id: `${AROUND_ID}${index + 1}`, name: QUERY_TOOL, input }
  })
}

function placeKey(
  { knowledgeBase, documentId, place }: Passage,
  at: ChunkPlace | null = place,
): string {
  return JSON.stringify([knowledgeBase, documentId, at?.column, at?.number])
}

/** A chunk next to a found one is nearly as relevant. Unreadable ones are left out. */
export function withNeighbours(
  passages: readonly Passage[],
  around: readonly ObservedCall[],
): readonly Passage[] {
  const relevance = new Map(passages.map((passage) => [placeKey(passage), passage.relevance]))
  const names = [...new Set(passages.map(({ knowledgeBase }) => knowledgeBase ?? ''))]
  const neighbours = around.flatMap(({ input, observation }) => {
    const outcome = passagesIn(observation)
    const name = names.find((one) => input.startsWith(selectFrom(one)))
    return outcome.kind === 'passages' ? ofBase(name, outcome.passages) : []
  })
  const beside = neighbours.map((passage) => {
    const { place } = passage
    const near = [-1, 1].map((step) => {
      if (place === null) return 0
      const key = placeKey(passage, { ...place, number: place.number + step })
      return relevance.get(key) ?? 0
    })
    return { ...passage, relevance: NEIGHBOUR_SHARE * Math.max(...near) }
  })
  return [...passages, ...beside]
}

function selectFrom(name: string): string {
  return `SELECT ${CHUNK_COLUMNS} FROM ${quotedName(name)}`
}

/** The same, known to be of one knowledge base. */
export function ofBase(
  knowledgeBase: string | undefined,
  passages: readonly Passage[],
): readonly Passage[] {
  if (knowledgeBase === undefined) return passages
  return passages.map((passage) => ({ ...passage, knowledgeBase }))
}

/** `project.kb` → `"project"."kb"`: names hold no dot. */
export function quotedName(name: string): string {
  return name.split('.').map(quote).join('.')
}
