import { AGENT_LIMITS, byteSize } from '../../core/domain/agents/agent-limits.ts'
import {
  type ChunkPages,
  pagesIn,
  type StatementRows,
} from '../../core/domain/agents/completion-event.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { fullName, nameKey } from '../../core/domain/names.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { isObject } from '../../core/json.ts'
import type { FirstRows } from '../data/agent-data.ts'

export interface ShownPassage {
  readonly chunkId: string
  /** null if the statement did not select it. */
  readonly documentId: string | null
  readonly text: string | null
  readonly relevance: number | null
  /** The chunk's position; null if the statement did not select it. */
  readonly place: ChunkPlace | null
  /** The knowledge bases it may come from: those that the statement names. */
  readonly origins: readonly KnowledgeBase[]
  /** Whether the statement shows the columns unchanged, so that nothing must be looked up. */
  readonly isPlain: boolean
}

/** The chunks in a result: its rows, if there is a column `chunk_id`. */
export function passagesOf(
  { columns, rows }: Pick<FirstRows, 'columns' | 'rows'>,
  origins: readonly KnowledgeBase[],
  isPlain: boolean,
): readonly ShownPassage[] {
  const indexOf = (name: string) => columns.findIndex((column) => nameKey(column) === name)
  const columnIndexes = {
    chunkId: indexOf('chunk_id'),
    documentId: indexOf('id'),
    text: indexOf('chunk_content'),
    relevance: indexOf('relevance'),
    metadata: indexOf('metadata'),
    knowledgeBase: indexOf('knowledge_base'),
  }
  return rows.flatMap((row) => {
    const chunkId = row[columnIndexes.chunkId]
    if (typeof chunkId !== 'string') return []
    const relevance = row[columnIndexes.relevance]
    const own = origins.length < 2 ? origins : told(row[columnIndexes.knowledgeBase], origins)
    const passage = {
      chunkId,
      documentId: textOrNull(row[columnIndexes.documentId]),
      text: textOrNull(row[columnIndexes.text]),
      relevance: typeof relevance === 'number' ? relevance : null,
      place: chunkPlace(row[columnIndexes.metadata], own),
      origins: own,
      // Columns that the statement defines itself are looked up.
      isPlain: isPlain && own === origins,
    }
    return [passage]
  })
}

/** The knowledge base that the row names, if there are several. */
function told(
  name: ResultValue | undefined,
  origins: readonly KnowledgeBase[],
): readonly KnowledgeBase[] {
  const own = origins.find(
    (kb) => typeof name === 'string' && nameKey(fullName(kb)) === nameKey(name),
  )
  return own === undefined ? origins : [own]
}

function textOrNull(value: ResultValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}

/** Whether each `chunk_id` and `chunk_content` is a plain column, not derived or invented. */
export function showsPlainChunks(sql: string): boolean {
  const names = [...sql.matchAll(/["`]?\b(?:chunk_id|chunk_content)\b["`]?/gi)]
  return names.every(({ 0: name, index }) => {
    const before = sql.slice(Math.max(0, index - 200), index)
    const after = sql.slice(index + name.length, index + name.length + 50)
    return /(?:select|,|\.)\s*$/i.test(before) && /^\s*(?:,|from\b)/i.test(after)
  })
}

/** Merges what two results show about the same chunk. The later one takes precedence. */
export function mergedPassage(known: ShownPassage | undefined, next: ShownPassage): ShownPassage {
  if (known === undefined) return next
  return {
    chunkId: next.chunkId,
    documentId: next.documentId ?? known.documentId,
    text: next.text ?? known.text,
    relevance: next.relevance ?? known.relevance,
    place: next.place ?? known.place,
    origins: next.origins,
    isPlain: known.isPlain && next.isPlain,
  }
}

export interface ChunkPlace {
  readonly pages: ChunkPages | null
  /** The headings above the chunk, joined by ` > `. */
  readonly heading: string | null
}

const NOWHERE: ChunkPlace = { pages: null, heading: null }

/** Returns null if the row does not contain the position. */
function chunkPlace(
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

const HEADING_LINE = /^(#{1,6})[ \t](.*)$/
const HEADING_END = /(?<![ \t#])[ \t#]+$/
const FENCE_LINE = /^[ \t]*(?:```|~~~)/
const JOINT = ' > '

interface Level {
  readonly depth: number
  readonly text: string
}

/**
 * The headings above the chunk, then those in it before the position. @param path may include both
 */
export function headingAt(at: number, text: string, path: string | null): string | null {
  const [first, ...others] = headingsBefore(at, text)
  if (first === undefined) return path
  const above = path === null ? [] : path.split(JOINT)
  // If a chunk starts with a heading, its path ends with that heading.
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
    const [, marks = '', title = ''] = isCode ? [] : (HEADING_LINE.exec(line) ?? [])
    const heading = title.trimStart().replace(HEADING_END, '')
    if (heading !== '' && start <= at) levels.push({ depth: marks.length, text: heading })
    start += line.length + 1
  }
  return levels
}

/** The most statements per answer; the last ones take precedence. */
const EVIDENCE_STATEMENTS_MAX = 5
/** The size limit for one statement's rows as JSON. */
const EVIDENCE_BYTES_MAX = 65_536

/** Rows, other than chunks, that the model saw. */
export type ShownRows = Omit<StatementRows, 'is_cut'> & { readonly isCut: boolean }

/** The statements that returned a value in the answer; if there are none, the last statement. */
export function statementsOf(
  answer: string,
  shown: readonly ShownRows[],
): readonly StatementRows[] {
  const withRows = shown.filter(({ data }) => data.length > 0)
  const said = saidIn(answer)
  const used = withRows.filter(({ data }) =>
    data.some((row) => row.some((cell) => isSaid(cell, said))),
  )
  const chosen = used.length > 0 ? used.slice(-EVIDENCE_STATEMENTS_MAX) : withRows.slice(-1)
  const bySql = new Map(chosen.map((one) => [one.sql, one]))
  return [...bySql.values()].map(bounded)
}

function bounded({ sql, column_names, data, isCut }: ShownRows): StatementRows {
  let left = EVIDENCE_BYTES_MAX
  const kept = data.filter((row) => {
    left -= left < 0 ? 0 : byteSize(JSON.stringify(row))
    return left >= 0
  })
  return { sql, column_names, data: kept, is_cut: isCut || kept.length < data.length }
}

interface Said {
  readonly text: string
  readonly numbers: ReadonlySet<number>
}

function saidIn(answer: string): Said {
  const numbers = (answer.match(/\d[\d.,'’\u00a0\u202f]{0,60}/g) ?? []).flatMap((written) => {
    const plain = written.replaceAll(/['’\u00a0\u202f]/g, '').replace(/[.,]+$/, '')
    // Reads 1,234.5 and 1.234,5 and 0,5.
    return [plain.replaceAll(',', ''), plain.replaceAll('.', '').replace(',', '.')].map(Number)
  })
  return { text: answer.toLowerCase(), numbers: new Set(numbers.filter(Number.isFinite)) }
}

const TEXT_CHARS_MIN = 3

function isSaid(cell: ResultValue, { text, numbers }: Said): boolean {
  const number = typeof cell === 'string' && /^-?\d+(?:\.\d+)?$/.test(cell) ? Number(cell) : cell
  if (typeof number === 'number') {
    const size = Math.abs(number)
    return [size, ...[0, 1, 2, 3].map((digits) => Number(size.toFixed(digits)))].some((one) =>
      numbers.has(one),
    )
  }
  if (typeof cell !== 'string' || cell.length < TEXT_CHARS_MIN) return false
  return text.includes(cell.toLowerCase())
}

/** The rows of the model's last statement, for agents whose answer includes them. */
export class FinalRows {
  #order = 0
  #result: StatementRows | null = null

  get result(): StatementRows | null {
    return this.#result
  }

  /** @param order the position of the statement: they run in parallel, and the last one counts */
  offer(order: number, sql: string, { columns, rows, hasMore }: FirstRows): void {
    if (order < this.#order) return
    let left: number = AGENT_LIMITS.finalBytesMax
    const tooMany = rows.findIndex((row) => {
      left -= byteSize(JSON.stringify(row))
      return left < 0
    })
    const data = tooMany === -1 ? rows : rows.slice(0, tooMany)
    this.#order = order
    this.#result = { sql, column_names: columns, data, is_cut: hasMore || tooMany !== -1 }
  }
}
