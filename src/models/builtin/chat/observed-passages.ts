import { pagesIn } from '../../../core/domain/agents/completion-event.ts'
import { literal, quotedPath } from '../../../core/domain/names.ts'
import type { ToolCall } from '../../../core/domain/ports/model-ports.ts'
import { parsedJson } from '../../../core/json.ts'
import { parseCsv } from '../../../core/text/csv.ts'
import type { ChunkPlace, Passage } from './answer-unit.ts'
import type { ObservedCall } from './asked-question.ts'

type Observed =
  | { readonly kind: 'passages'; readonly passages: readonly Passage[] }
  | { readonly kind: 'failure'; readonly message: string }

const CSV_TITLE = /^Result in CSV format[^\n]*\n/m

/** The rows of a knowledge base query. Text without rows is an error. */
export function passagesIn(observation: string): Observed {
  const csv = csvIn(observation)
  if (csv === null) return { kind: 'failure', message: failureIn(observation) }
  const [header = [], ...rows] = parseCsv(csv)
  const columnOf = (name: string) => header.findIndex((column) => column.toLowerCase() === name)
  const [idColumn, textColumn] = [columnOf('chunk_id'), columnOf('chunk_content')]
  const [documentColumn, headingColumn] = [columnOf('id'), columnOf('heading')]
  const passages = rows.flatMap((row): Passage[] => {
    const [chunkId, text] = [row[idColumn], row[textColumn]]
    // A line without these columns is the note about omitted rows.
    if (chunkId === undefined || text === undefined || chunkId === '') return []
    const documentId = row[documentColumn] ?? ''
    return [
      {
        chunkId,
        text: uncut(text),
        relevance: relevanceIn(header, row),
        ...cosineIn(row[columnOf('distance')]),
        documentId,
        heading: row[headingColumn] ?? '',
        pages: pagesIn((name) => row[columnOf(name)]),
        place: passagePlace(chunkId, documentId, text),
      },
    ]
  })
  return { kind: 'passages', passages }
}

export function relevanceIn(header: readonly string[], row: readonly string[]): number {
  const cell = (name: string) => row[header.findIndex((column) => column.toLowerCase() === name)]
  const relevance = Number(cell('relevance') ?? 0)
  if (!Number.isFinite(relevance)) return 0
  return comparableRelevance(relevance, Number(cell('distance') || Number.NaN))
}

/** The cosine, because 1 / (1 + distance) is 0.5 for unrelated texts. */
export function comparableRelevance(relevance: number, distance: number): number {
  const isOfVectors = Math.abs(relevance - 1 / (1 + distance)) < SAME_RELEVANCE
  return isOfVectors ? Math.max(0, 1 - distance) : relevance
}

function cosineIn(distance: string | undefined): Pick<Passage, 'cosine'> {
  const number = Number(distance || Number.NaN)
  return Number.isFinite(number) ? { cosine: Math.max(0, 1 - number) } : {}
}

const SAME_RELEVANCE = 1e-9

/** Parses `…:<column>:<n>of<total>:<start>to<end>`. null if the text's length differs. */
function passagePlace(chunkId: string, documentId: string, text: string): ChunkPlace | null {
  const match = /^(.*):(\d+)of(\d+):(\d+)to(\d+)$/s.exec(chunkId)
  if (match === null || !chunkId.startsWith(`${documentId}:`)) return null
  const [, path = '', ...numbers] = match
  const [number = 0, total = 0, start = 0, end = 0] = numbers.map(Number)
  if (end - start !== text.length) return null
  return { column: path.slice(documentId.length + 1), number, total, start, end }
}

/** The rows of a query without the column names; null if it failed. */
export function csvIn(observation: string): string | null {
  const title = CSV_TITLE.exec(observation)
  return title === null ? null : observation.slice(title.index + title[0].length)
}

/** The names in a list tool's result, a JSON array in the text; empty if there is none. */
export function listedNames(observation: string): readonly string[] {
  const start = observation.indexOf('[')
  const end = observation.lastIndexOf(']')
  if (start === -1 || end < start) return []
  const value = parsedJson(observation.slice(start, end + 1))
  if (!Array.isArray(value)) return []
  return value.filter((name) => typeof name === 'string' && name !== '')
}

/** Removes the note at the end of a truncated cell. */
function uncut(text: string): string {
  return text.replace(/… \(\d+ more characters\)$/, '')
}

const FAILURE_CHARS_MAX = 300

/** The error message in a result without rows. */
export function failureIn(observation: string): string {
  const [line = ''] = observation.trim().split('\n')
  return line.slice(0, FAILURE_CHARS_MAX).toWellFormed().trim()
}

export const QUERY_TOOL = 'kb_query_tool'
export const AROUND_ID = 'around-'
/** For how many of the best passages the text around them is read. */
const WIDENED_MAX = 4
/** A neighbouring chunk gets this share of the passage's relevance. */
const NEIGHBOUR_SHARE = 0.8

export const CHUNK_COLUMNS = [
  'id, chunk_id, chunk_content',
  ...['heading', 'page', 'page_starts', 'slide', 'slide_starts'].map((name) => {
    return `metadata->>'${name}' AS ${name}`
  }),
].join(', ')

/** Neighbouring chunks may contain the heading or the rest of a sentence. */
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

/** Adds the neighbouring chunks with slightly lower relevance. Unreadable ones are ignored. */
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
  return `SELECT ${CHUNK_COLUMNS} FROM ${quotedPath(name)}`
}

export function ofBase(
  knowledgeBase: string | undefined,
  passages: readonly Passage[],
): readonly Passage[] {
  if (knowledgeBase === undefined) return passages
  return passages.map((passage) => ({ ...passage, knowledgeBase }))
}
