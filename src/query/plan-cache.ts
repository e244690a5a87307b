import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { AgentRequest, MeasuredScan, SearchRequest } from '../sql/requests.ts'
import type { TreeNode } from '../sql/select-ast.ts'

/** A statement ready to run, but for the values of its parameters, the vectors of its searches and agents' answers. */
export interface SelectPlan {
  readonly sql: string
  readonly searches: readonly SearchRequest[]
  readonly agents: readonly AgentRequest[]
  /** Parameters that relevance is compared with. */
  readonly thresholds: readonly string[]
  /** The plans of the SELECTs that give the texts of `column` requests. */
  readonly values: ReadonlyMap<TreeNode, SelectPlan>
  /** The placeholders that stand in `sql`. */
  readonly parameters: ReadonlySet<string>
  /** The same statement, where the nearest chunks of its searches are known; null: it has no search that could use them. */
  readonly candidates: CandidatePlan | null
  /** The searches that have every vector measured in any case. */
  readonly scans: readonly MeasuredScan[]
  /** The parameters of the statement as the client wrote it, also those that became searches. */
  readonly written: readonly string[]
}

/** A SELECT that gets the nearest chunks of its searches as bound lists. */
export interface CandidatePlan {
  readonly sql: string
  readonly parameters: ReadonlySet<string>
  readonly requests: readonly CandidateRequest[]
}

/** Chunks to be found before the statement runs. */
export interface CandidateRequest {
  /** The number of the searched text. */
  readonly text: number
  readonly knowledgeBase: KnowledgeBase
  readonly count: number
  /** A SELECT of the keys of the chunks among which they are; null: all of them. */
  readonly kept: { readonly sql: string; readonly parameters: ReadonlySet<string> } | null
}

const PLANS_MAX = 500
const KEY_CHARS_MAX = 10_000
/** A large catalog makes long texts of the tables of information_schema. */
const SQL_CHARS_MAX = 100_000

/** Plans of recent statements. The key holds the catalog's version, so that a change of any definition misses. */
export class PlanCache {
  readonly #plans = new Map<string, SelectPlan>()

  get(key: string): SelectPlan | undefined {
    const plan = this.#plans.get(key)
    if (plan === undefined) return undefined
    this.#plans.delete(key)
    this.#plans.set(key, plan)
    return plan
  }

  set(key: string, plan: SelectPlan): void {
    if (key.length > KEY_CHARS_MAX || plan.sql.length > SQL_CHARS_MAX) return
    this.#plans.set(key, plan)
    const [oldest] = this.#plans.keys()
    if (this.#plans.size > PLANS_MAX && oldest !== undefined) this.#plans.delete(oldest)
  }
}
