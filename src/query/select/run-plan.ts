import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import type { ParameterValues } from '../variables.ts'
import { bindKeywords } from './bind-keywords.ts'
import type { BoundPlan, BoundValues } from './bind-plan.ts'
import { type FoundCandidates, findCandidates } from './find-candidates.ts'
import { plainRows } from './plain-rows.ts'
import type { CandidatePlan, CountedChunks, SelectPlan } from './plan-cache.ts'
import { type RunContext, runLimits } from './query-deps.ts'

/** While a knowledge base is written to, candidates may be out of date before they are read. */
const CANDIDATE_ROUNDS_MAX = 6
/** Of a statement that scans, whose phrases may be out of date by then. */
const SCANS_MAX = 6

export interface PlanRows {
  readonly rows: RowStream
  /** Whether the nearest chunks came from the vectors in memory; false: the database scanned, or nothing is searched. */
  readonly isFromMemory: boolean
}

/**
 * Runs a bound plan: over the nearest chunks where memory gives them, else as a scan. Once more where a write came between
 * what was bound and the rows.
 * @throws AppError as `NearestChunks.nearest` and `SqlEngine.run` do
 */
export async function runPlan(
  plan: SelectPlan,
  bound: BoundPlan,
  context: PlanRun,
): Promise<PlanRows> {
  const { candidates, constant, counted } = plan
  if (context.isShown === true && constant !== null && constant.answer !== null) {
    const { columns, ready = [] } = constant.answer
    return { rows: { columns, ready, batches: oneBatch(ready) }, isFromMemory: false }
  }
  const count = context.isShown === true ? await countedRows(counted, context) : null
  if (count !== null) return { rows: count, isFromMemory: false }
  let current = bound
  for (let attempt = 0; attempt < CANDIDATE_ROUNDS_MAX && candidates !== null; attempt += 1) {
    if (!current.keywords.isCurrent()) current = await bindAgain(plan, current, context)
    const near = await runOverCandidates(candidates, current, context)
    if (near === null) break
    if (near !== STALE) return { rows: near, isFromMemory: true }
  }
  const rows = await scan(plan, current, context)
  if (counted !== null) counted.columns = rows.columns
  if (constant !== null && isSmall(rows)) {
    constant.answer = { columns: rows.columns, ready: rows.ready ?? [] }
  }
  return { rows, isFromMemory: false }
}

/**
 * Where writes come faster than phrases are found, the last try counts: its phrases are those of a state since the statement
 * came, so it finds all of a write or nothing of it, and what its client wrote before.
 */
async function scan(plan: SelectPlan, bound: BoundPlan, context: PlanRun): Promise<RowStream> {
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
  context: PlanRun,
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

/** The count of the chunks where it is known. null: the statement gives it. */
async function countedRows(
  counted: CountedChunks | null,
  { deps }: RunContext,
): Promise<RowStream | null> {
  const columns = counted?.columns ?? null
  if (counted === null || columns === null) return null
  const count = await deps.counts.chunkCount(counted.knowledgeBase)
  if (count === null) return null
  const ready = [[count]]
  return { columns, ready, batches: oneBatch(ready) }
}

/** Of a plan that is run. */
interface PlanRun extends RunContext {
  readonly params: ParameterValues
  /** Whether nobody asks for the types of the values: what answers show of them is enough. */
  readonly isShown?: boolean
}

/** A write came in between. */
const STALE = Symbol('stale')

/** null where the candidates cannot be found. */
async function runOverCandidates(
  plan: CandidatePlan,
  { values, keywords }: BoundPlan,
  context: PlanRun,
): Promise<RowStream | typeof STALE | null> {
  const candidates = await findCandidates(plan, values, context)
  if (candidates === null) return null
  const isCurrent = () => candidates.isCurrent() && keywords.isCurrent()
  const shown = context.isShown === true ? await shownRows(plan, candidates, values, context) : null
  // Vectors and rows are of one state, then.
  if (shown !== null) return isCurrent() ? shown : STALE
  const rows = await runBound(candidates.statement(), context)
  plan.known.columns = rows.columns
  // Its transaction has begun by now: it does not see what comes later.
  if (isCurrent()) return rows
  await close(rows)
  return STALE
}

/** The rows of a plain answer. null: the statement gives them. */
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
