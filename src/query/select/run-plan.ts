import { conditionValue } from '../../core/domain/column-condition.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type { NearestChunk, ShownChunk } from '../../core/domain/ports/search-ports.ts'
import type { ResultValue, RowStream } from '../../core/domain/query-result.ts'
import type { PlainAnswer, PlainColumn } from '../../sql/search/plan-inputs.ts'
import type { Threshold } from '../../sql/search/predicate-pushdown.ts'
import { bindKeywords } from './bind-keywords.ts'
import type { BoundPlan, BoundValues } from './bind-plan.ts'
import { type FoundCandidates, type FoundSearch, findCandidates } from './find-candidates.ts'
import type { CandidatePlan, DocumentRows, SelectPlan } from './plan-cache.ts'
import { type RunContext, runLimits } from './query-deps.ts'
import { requireCopies } from './source-reads.ts'

/**
 * Concurrent writes can outdate candidates before they are read. Give up after this many attempts.
 */
const CANDIDATE_ROUNDS_MAX = 6
/** The same for a scan, whose phrases may be outdated by the time it runs. */
const SCANS_MAX = 6

/** Over nearest chunks in memory, otherwise as a scan. Repeats after writes. @throws AppError */
export async function runPlan(
  plan: SelectPlan,
  bound: BoundPlan,
  context: RunContext,
): Promise<{
  readonly rows: RowStream
  /** False if the database scanned, or if nothing is searched. */
  readonly isFromMemory: boolean
}> {
  const { candidates, constant } = plan
  if (context.isShown && constant !== null && constant.answer !== null) {
    const { columns, ready = [] } = constant.answer
    return { rows: { columns, ready, batches: oneBatch(ready) }, isFromMemory: false }
  }
  const chunks = context.isShown ? await documentRows(plan.document, bound, context) : null
  if (chunks !== null) return { rows: chunks, isFromMemory: false }
  let current = bound
  for (let attempt = 0; attempt < CANDIDATE_ROUNDS_MAX && candidates !== null; attempt += 1) {
    if (!current.keywords.isCurrent()) current = await bindAgain(plan, current, context)
    const near = await runOverCandidates(candidates, current, context)
    if (near === null) break
    if (near !== STALE) return { rows: near, isFromMemory: true }
  }
  const rows = await scan(plan, current, context)
  if (plan.document !== null) plan.document.known.columns = rows.columns
  if (constant !== null && isSmall(rows)) {
    constant.answer = { columns: rows.columns, ready: rows.ready ?? [] }
  }
  return { rows, isFromMemory: false }
}

/** After many writes, the last attempt counts: it sees each write completely or not at all. */
async function scan(plan: SelectPlan, bound: BoundPlan, context: RunContext): Promise<RowStream> {
  requireCopies(plan)
  const { sql, isShort } = plan
  let current = bound
  for (let attempt = 1; ; attempt += 1) {
    if (!current.keywords.isCurrent()) current = await bindAgain(plan, current, context)
    const rows = await runBound({ sql, values: current.values, isShort }, context)
    if (current.keywords.isCurrent() || attempt === SCANS_MAX) return rows
    await close(rows)
  }
}

async function bindAgain(
  plan: SelectPlan,
  { values }: BoundPlan,
  context: RunContext,
): Promise<BoundPlan> {
  const keywords = await bindKeywords(plan, context)
  const needed = Object.entries(keywords.values).filter(([name]) => plan.parameters.has(name))
  return { values: { ...values, ...Object.fromEntries(needed) }, keywords }
}

async function close({ batches }: RowStream): Promise<void> {
  await batches[Symbol.asyncIterator]().return?.()
}

const KEPT_CHARS_MAX = 2_000

function isSmall({ columns, ready }: RowStream): boolean {
  return ready !== undefined && JSON.stringify([columns, ready]).length <= KEPT_CHARS_MAX
}

/** Returns the rows of a document's chunks if they are known; null if the statement must run. */
async function documentRows(
  document: DocumentRows | null,
  { values }: BoundPlan,
  { deps, signal, timer }: RunContext,
): Promise<RowStream | null> {
  const columns = document?.known.columns ?? null
  const id = document === null ? null : conditionValue(document.id, values)
  if (document === null || columns === null || typeof id !== 'string') return null
  const { knowledgeBase, plain } = document
  const limits = runLimits(deps)
  const found = await deps.known.keysOfDocument({ knowledgeBase, id, limits }, signal)
  if (found === null) return null
  const request = { knowledgeBase, keys: [...found.keys], columns: plain.metadataColumns, limits }
  const rows = await timer.time('rows', () => deps.rows.rowsOf(request, signal))
  if (rows === null || !found.isCurrent()) return null
  const hits = rows.filter((row) => row.id === id).map((row) => ({ ...NO_HIT, row }))
  const ready = shownHits(plain, hits)
  return { columns, ready, batches: oneBatch(ready) }
}

const NO_HIT = { relevance: null, distance: null }

/** Returned if a write happened in the meantime. */
const STALE = Symbol('stale')

/** Null if the candidates cannot be found. */
async function runOverCandidates(
  plan: CandidatePlan,
  { values, keywords }: BoundPlan,
  context: RunContext,
): Promise<RowStream | typeof STALE | null> {
  const candidates = await findCandidates(plan, values, context)
  if (candidates === null) return null
  const isCurrent = () => candidates.isCurrent() && keywords.isCurrent()
  const shown = context.isShown ? await shownRows(plan, candidates, values, context) : null
  // In this case vectors and rows are of one state.
  const warnings = candidates.searches.flatMap(({ found }) => found.warnings ?? [])
  const flagged = (rows: RowStream) => (warnings.length === 0 ? rows : { ...rows, warnings })
  if (shown !== null) return isCurrent() ? flagged(shown) : STALE
  return withChunks(candidates.searches, async () => {
    const rows = await runBound(candidates.statement(), context)
    plan.known.columns = rows.columns
    // Its transaction has started, so it does not see later changes.
    if (isCurrent()) return flagged(rows)
    await close(rows)
    return STALE
  })
}

/** Without a full copy, keeps fetched chunks until the statement has run. */
function withChunks<T>(searches: readonly FoundSearch[], work: () => Promise<T>): Promise<T> {
  return searches.reduce<() => Promise<T>>((inner, { found: { withRows }, chunks }) => {
    if (withRows === undefined) return inner
    const keys = chunks.map(({ key }) => key)
    return () => withRows(keys, inner)
  }, work)()
}

/** The rows of a plain answer; null: the statement must run. */
async function shownRows(
  { plain, known: { columns } }: CandidatePlan,
  { searches: [search] }: FoundCandidates,
  values: BoundValues,
  context: RunContext,
): Promise<RowStream | null> {
  if (plain === null || columns === null || search === undefined) return null
  const rows = await plainRows(plain, search, values, context)
  return rows && { columns, batches: oneBatch(rows), ready: rows }
}

async function* oneBatch<T>(rows: readonly T[]): AsyncGenerator<readonly T[], void, void> {
  if (rows.length > 0) yield rows
}

function runBound(statement: BoundSql, { deps, signal, timer }: RunContext): Promise<RowStream> {
  return timer.time('rows', () => deps.engine.run(statement, runLimits(deps), signal))
}

/** From rows of its chunks, with the same values as the statement would give. */

interface Hit extends NearestChunk {
  readonly relevance: number
}

interface HitRow extends Hit {
  readonly row: ShownChunk
}

/** A row found without a search has no relevance. */
interface ShownHit {
  readonly row: ShownChunk
  readonly relevance: number | null
  readonly distance: number | null
}

type ResultRow = readonly ResultValue[]

/** @param found chunks that may be in the result @returns null to run the statement */
async function plainRows(
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
  const { shown } = found.found
  const rows =
    shown === undefined
      ? await timer.time('rows', () => deps.rows.rowsOf(request, signal))
      : shown(request.keys, request.columns)
  if (rows === null) return null
  const all: HitRow[] = []
  for (const [index, hit] of hits.entries()) {
    const row = rows[index]
    if (row === undefined) return null
    all.push({ ...hit, row })
  }
  all.sort(plain.isHybrid ? compareRelevant : compareNear)
  return shownHits(plain, all)
}

function shownHits({ offset, limit, columns }: PlainAnswer, hits: readonly ShownHit[]) {
  return hits
    .slice(offset, offset + limit)
    .map((hit) => columns.map((column) => shownColumn(column, hit)))
}

/** Returns the hits that meet the thresholds; null if a threshold is not a number. */
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

/** Null means no limit on this side; undefined, that the value is not a number. */
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

/** Compares bytes, as the database does. */
function compareIds(one: string, other: string): number {
  return one === other ? 0 : Buffer.compare(Buffer.from(one), Buffer.from(other))
}

function shownColumn(column: PlainColumn, { row, relevance, distance }: ShownHit): ResultValue {
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
