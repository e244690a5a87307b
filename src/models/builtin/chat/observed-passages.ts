import { pagesIn } from '../../../core/domain/agents/completion-event.ts'
import { parseCsv } from '../../../core/domain/csv.ts'
import type { ChunkPlace, Passage } from './answer-unit.ts'

/** The content of a tool's result. */
export type Observed =
  | { readonly kind: 'passages'; readonly passages: readonly Passage[] }
  | { readonly kind: 'failure'; readonly message: string }

const CSV_TITLE = /^Result in CSV format[^\n]*\n/m

/** The rows of a knowledge base query; a text without rows is its error. */
export function passagesIn(observation: string): Observed {
  const csv = csvIn(observation)
  if (csv === null) return { kind: 'failure', message: failureIn(observation) }
  const [header = [], ...rows] = parseCsv(csv)
  const columnOf = (name: string) => header.findIndex((column) => column.toLowerCase() === name)
  const [idColumn, textColumn] = [columnOf('chunk_id'), columnOf('chunk_content')]
  const [documentColumn, headingColumn] = [columnOf('id'), columnOf('heading')]
  const passages = rows.flatMap((row): Passage[] => {
    const [chunkId, text] = [row[idColumn], row[textColumn]]
    // A note that rows were cut is a line without these columns.
    if (chunkId === undefined || text === undefined || chunkId === '') return []
    const documentId = row[documentColumn] ?? ''
    return [
      {
        chunkId,
        text: uncut(text),
        relevance: relevanceIn(header, row),
        documentId,
        heading: row[headingColumn] ?? '',
        pages: pagesIn((name) => row[columnOf(name)]),
        place: passagePlace(chunkId, documentId, text),
      },
    ]
  })
  return { kind: 'passages', passages }
}

/**
 * Comparable between knowledge bases: where only vectors were searched, the relevance 1 / (1 + distance) is 0.5 for texts that
 * have nothing in common. There it is the cosine, as in the other kind of search.
 */
export function relevanceIn(header: readonly string[], row: readonly string[]): number {
  const cell = (name: string) => row[header.findIndex((column) => column.toLowerCase() === name)]
  const relevance = Number(cell('relevance') ?? 0)
  if (!Number.isFinite(relevance)) return 0
  const distance = Number(cell('distance') || Number.NaN)
  const isOfVectors = Math.abs(relevance - 1 / (1 + distance)) < SAME_RELEVANCE
  return isOfVectors ? Math.max(0, 1 - distance) : relevance
}

const SAME_RELEVANCE = 1e-9

/** `…:<column>:<n>of<total>:<start>to<end>`; null where the text is not of that length: it was cut, or is not a chunk's. */
function passagePlace(chunkId: string, documentId: string, text: string): ChunkPlace | null {
  const match = /^(.*):(\d+)of(\d+):(\d+)to(\d+)$/s.exec(chunkId)
  if (match === null || !chunkId.startsWith(`${documentId}:`)) return null
  const [, path = '', ...numbers] = match
  const [number = 0, total = 0, start = 0, end = 0] = numbers.map(Number)
  if (end - start !== text.length) return null
  return { column: path.slice(documentId.length + 1), number, total, start, end }
}

/** The rows of a query after the column names; null if it failed. */
export function csvIn(observation: string): string | null {
  const title = CSV_TITLE.exec(observation)
  return title === null ? null : observation.slice(title.index + title[0].length)
}

/**
 * The names in a list tool's result: a JSON array somewhere in the text; none in a plain sentence.
 */
export function listedNames(observation: string): readonly string[] {
  const start = observation.indexOf('[')
  const end = observation.lastIndexOf(']')
  if (start === -1 || end < start) return []
  try {
    const value: unknown = JSON.parse(observation.slice(start, end + 1))
    if (!Array.isArray(value)) return []
    return value.filter((name) => typeof name === 'string' && name !== '')
  } catch {
    return []
  }
}

/** The note at the end of a cell that was cut is not part of the text. */
function uncut(text: string): string {
  return text.replace(/… \(\d+ more characters\)$/, '')
}

const FAILURE_CHARS_MAX = 300

/** The message in a text without rows. */
export function failureIn(observation: string): string {
  const [line = ''] = observation.trim().split('\n')
  return line.slice(0, FAILURE_CHARS_MAX).toWellFormed().trim()
}
