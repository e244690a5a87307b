import type { BoundSql, BoundValue } from '../../domain/ports.ts'
import type { RowStream } from '../../domain/query-result.ts'
import type { QueryDeps } from '../query-deps.ts'
import type { CandidatePlan } from './plan-cache.ts'
import { limitsOf } from './run-limits.ts'
import { type SearchCandidates, searchCandidates } from './search-candidates.ts'

/** While a knowledge base is written to, candidates may be old before they are read. */
const ATTEMPTS_MAX = 6

/** What is said behind how the nearest are found, where a search has conditions. */
export const AMONG_KEPT = ', among the chunks that the conditions keep'

type Values = Readonly<Record<string, BoundValue>>

interface FoundCandidates {
  readonly statement: BoundSql
  /** False when a chunk may have changed since. */
  isCurrent(): boolean
}

/**
 * Finds the nearest chunks of each search, then runs the statement over them.
 * @param values of the statement that would scan: parameters and vectors
 * @returns null where the candidates of a search cannot be found, or not be kept up with: scan then
 * @throws AppError as `NearestChunks.nearest` and `SqlEngine.run` do
 */
export async function runCandidates(
  plan: CandidatePlan,
  values: Values,
  { deps, signal }: { readonly deps: QueryDeps; readonly signal: AbortSignal },
): Promise<RowStream | null> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const found = await foundCandidates(plan, values, { deps, signal })
    if (found === null) return null
    const rows = await deps.engine.run(found.statement, limitsOf(deps), signal)
    // Its transaction has begun by now: what comes after it, it does not see.
    if (found.isCurrent()) return rows
    await rows.batches[Symbol.asyncIterator]().return?.()
  }
  return null
}

/** The statement with its candidates bound, or null. */
export async function foundCandidates(
  plan: CandidatePlan,
  values: Values,
  { deps, signal }: { readonly deps: QueryDeps; readonly signal: AbortSignal },
): Promise<FoundCandidates | null> {
  const bound: Record<string, BoundValue> = {}
  for (const name of plan.parameters) {
    const value = values[name]
    if (value !== undefined) bound[name] = value
  }
  const found = await Promise.all(
    plan.requests.map((request) => searchCandidates(request, values, { deps, signal })),
  )
  const all: SearchCandidates[] = []
  for (const one of found) {
    if (one === null) return null
    all.push(one)
    Object.assign(bound, one.values)
  }
  return {
    statement: { sql: plan.sql, values: bound, isShort: plan.isShort },
    isCurrent: () => all.every((one) => one.isCurrent()),
  }
}
