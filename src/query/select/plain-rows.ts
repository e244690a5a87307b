/** The answer of a plain search, from the rows of its chunks: what its statement would give, without one. */
import type { NearestChunk, ShownChunk } from '../../core/domain/ports/search-ports.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import type { Threshold } from '../../sql/search/predicate-pushdown.ts'
import type { PlainAnswer, PlainColumn } from '../../sql/subquery/plain-answer.ts'
import type { BoundValues } from './bind-plan.ts'
import type { FoundSearch } from './find-candidates.ts'
import { type RunContext, runLimits } from './query-deps.ts'

interface Hit extends NearestChunk {
  readonly relevance: number
}

interface HitRow extends Hit {
  readonly row: ShownChunk
}

type ResultRow = readonly ResultValue[]

/**
 * @param found the chunks that may be in the answer
 * @returns null where the statement must be run after all
 * @throws AppError as `ChunkRows.rowsOf` does
 */
export async function plainRows(
  plain: PlainAnswer,
  found: FoundSearch,
  values: BoundValues,
  { deps, signal, timer }: RunContext,
): Promise<readonly ResultRow[] | null> {
  const hits = hitsWithin(plain, found, values)
  if (hits === null) return null
  if (hits.length === 0) return []
  const request = {
    knowledgeBase: found.knowledgeBase,
    keys: hits.map(({ key }) => key),
    columns: plain.metadataColumns,
    limits: runLimits(deps),
  }
  const rows = await timer.time('rows', () => deps.rows.rowsOf(request, signal))
  if (rows === null) return null
  const all: HitRow[] = []
  for (const [index, hit] of hits.entries()) {
    const row = rows[index]
    if (row === undefined) return null
    all.push({ ...hit, row })
  }
  all.sort(plain.isHybrid ? compareRelevant : compareNear)
  const { offset, limit, columns } = plain
  return all
    .slice(offset, offset + limit)
    .map((hit) => columns.map((column) => shownColumn(column, hit)))
}

/** Those that meet the thresholds. null: a threshold is of no number. */
function hitsWithin(
  { thresholds }: PlainAnswer,
  { chunks, relevances }: FoundSearch,
  values: BoundValues,
): readonly Hit[] | null {
  let hits: readonly Hit[] = chunks.map(({ key, distance }, index) => {
    return { key, distance, relevance: relevances?.[index] ?? 1 / (1 + distance) }
  })
  for (const threshold of thresholds) {
    const limit = limitOf(threshold, values)
    if (limit === undefined) return null
    hits = limit === null ? [] : hits.filter((hit) => meetsThreshold(hit, threshold, limit))
  }
  return hits
}

/** null: nothing is on this side of it. undefined: it is no number. */
function limitOf({ value }: Threshold, values: BoundValues): number | null | undefined {
  const limit = typeof value === 'number' ? value : values[value.parameter]
  return typeof limit === 'number' || limit === null ? limit : undefined
}

function meetsThreshold(hit: Hit, { column, comparison }: Threshold, limit: number): boolean {
  const measure = hit[column]
  switch (comparison) {
    case '>':
      return measure > limit
    case '>=':
      return measure >= limit
    case '<':
      return measure < limit
    case '<=':
      return measure <= limit
  }
}

function compareRelevant(one: HitRow, other: HitRow): number {
  return other.relevance - one.relevance || compareNear(one, other)
}

function compareNear(one: HitRow, other: HitRow): number {
  return one.distance - other.distance || compareIds(one.row.chunkId, other.row.chunkId)
}

/** As the database compares texts: by their bytes. */
function compareIds(one: string, other: string): number {
  return one === other ? 0 : Buffer.compare(Buffer.from(one), Buffer.from(other))
}

function shownColumn(column: PlainColumn, { row, relevance, distance }: HitRow): ResultValue {
  switch (column) {
    case 'id':
      return row.id
    case 'chunk_id':
      return row.chunkId
    case 'chunk_content':
      return row.content
    case 'metadata':
      return row.metadata
    case 'relevance':
      return relevance
    case 'distance':
      return distance
    default:
      return column.metadataColumn === null ? null : (row.columns[column.metadataColumn] ?? null)
  }
}
