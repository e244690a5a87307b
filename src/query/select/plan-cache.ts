import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { PrefilterSql } from '../../core/domain/ports/engine-ports.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { SingleFlight } from '../../core/runtime/serial-queue.ts'
import type { TreeNode } from '../../sql/ast/select-ast.ts'
import type { SourceFrom, SourceRead } from '../../sql/pushdown/source-read.ts'
import type {
  AgentInput,
  DocumentAnswer,
  MeasuredScan,
  PlainAnswer,
  RerankInput,
  SearchInput,
} from '../../sql/search/plan-inputs.ts'
import type { CandidateEdit } from '../../sql/subquery/knowledge-base-subquery.ts'

/** Ready to run, except for parameter values, search vectors and answers. */
export interface SelectPlan {
  readonly sql: string
  readonly searches: readonly SearchInput[]
  readonly agents: readonly AgentInput[]
  readonly rerankings: readonly PlannedReranking[]
  /** Parameters that relevance is compared with. */
  readonly thresholds: readonly string[]
  /**
   * Plans for inner SELECTs that supply texts to search for or candidates to rerank, by tree node.
   */
  readonly innerPlans: ReadonlyMap<TreeNode, SelectPlan>
  readonly parameters: ReadonlySet<string>
  /**
   * The same statement over nearest chunks that were already found; null if no search can use them.
   */
  readonly candidates: CandidatePlan | null
  /** Whether a LIMIT keeps its answer short. */
  readonly isShort: boolean
  /** Whether it contains tables that were derived from the catalog when it was planned. */
  readonly readsCatalog: boolean
  /** All knowledge bases in it, except those in inner plans. */
  readonly knowledgeBases: readonly KnowledgeBase[]
  /** Searches that must compare every vector. */
  readonly scans: readonly MeasuredScan[]
  /** The parameters of the client's statement, including those that became searches. */
  readonly parameterNames: readonly string[]
  /**
   * Set if the answer never changes. The answer is stored here once known. Null if it can change.
   */
  readonly constant: { answer: Pick<RowStream, 'columns' | 'ready'> | null } | null
  /** Set if the statement only shows the chunks of one document. */
  readonly document: DocumentRows | null
  /** Reads of remote databases that must run first. The plan has parameters for their results. */
  readonly reads: readonly SourceRead[]
  /** The remote columns that the plan was based on. */
  readonly described: readonly {
    readonly table: WantedTable
    readonly columns: readonly SourceColumn[]
  }[]
  /** Where a value changes only the result but not the plan; unset if there are none. */
  readonly marks?: ReadonlyMap<string, number>
}

export interface DocumentRows extends DocumentAnswer {
  readonly known: { columns: RowStream['columns'] | null }
}

/** A reranking whose candidates' SELECT was planned. */
export type PlannedReranking = Omit<RerankInput, 'names'>

/** A SELECT over the nearest chunks of its searches, passed as bound lists. */
export interface CandidatePlan {
  readonly sql: string
  readonly isShort: boolean
  readonly parameters: ReadonlySet<string>
  readonly requests: readonly CandidateRequest[]
  /** Set if the result consists only of chunk rows from its single search. */
  readonly plain: PlainAnswer | null
  readonly known: { columns: RowStream['columns'] | null }
}

/** Chunks to find before the statement runs. */
export interface CandidateRequest extends Omit<CandidateEdit, 'prefilter' | 'plain' | 'rows'> {
  readonly prefilter:
    | (Omit<PrefilterSql, 'values'> & { readonly parameters: ReadonlySet<string> })
    | null
}

/** Returns the searches that memory may answer, including those whose results are reranked. */
export function candidateRequests(plan: SelectPlan): readonly CandidateRequest[] {
  const inner = plan.rerankings.flatMap(({ candidates }) => plan.innerPlans.get(candidates) ?? [])
  return [...(plan.candidates?.requests ?? []), ...inner.flatMap(candidateRequests)]
}

const PLANS_MAX = 500
const KEY_CHARS_MAX = 10_000
/**
 * Longer plans are not cached: with a large catalog, tables of information_schema make long texts.
 */
const SQL_CHARS_MAX = 100_000

type Versions = Pick<CatalogSnapshot, 'version' | 'definitionsVersion' | 'activity' | 'limits'>

/** Valid until a definition changes, or if it reads the catalog, until anything does. */
export class PlanCache {
  readonly #plans = new LruMap<
    string,
    {
      readonly plan: SelectPlan
      readonly catalogVersion: number
      readonly activityVersion: number
    }
  >({ sizeMax: PLANS_MAX })
  readonly #planning = new SingleFlight()

  /** Equal statements wait for one; `get` has the plan. @throws errors of `plan`, or the reason */
  async planned<T>(
    statement: string,
    versions: Versions,
    { find, plan }: { find(): Promise<T | undefined>; plan(): Promise<T> },
    signal: AbortSignal,
  ): Promise<T> {
    const known = await find()
    if (known !== undefined) return known
    const key = planKey(statement, versions)
    const running = this.#planning.of(key)
    if (running === undefined) return this.#planning.run(key, plan)
    await abortable(running, signal)
    return (await find()) ?? plan()
  }

  /** @param statement the plan's key, besides the catalog's version */
  get(statement: string, versions: Versions): SelectPlan | undefined {
    const known = this.#plans.get(planKey(statement, versions))
    const isOld =
      known?.catalogVersion !== versions.version ||
      known.activityVersion !== (versions.activity?.version ?? 0)
    if (known?.plan.readsCatalog && isOld) return undefined
    return known?.plan
  }

  set(statement: string, versions: Versions, plan: SelectPlan): void {
    const key = planKey(statement, versions)
    if (key.length > KEY_CHARS_MAX || plan.sql.length > SQL_CHARS_MAX) return
    const { version: catalogVersion, activity } = versions
    this.#plans.set(key, { plan, catalogVersion, activityVersion: activity?.version ?? 0 })
  }
}

/** Callers who see another part of the catalog get plans of their own. */
function planKey(statement: string, { definitionsVersion, limits }: Versions): string {
  return `${definitionsVersion}\0${limits?.key ?? ''}\0${statement}`
}

export interface WantedTable {
  readonly sourceId: number
  readonly sourceName: string
  readonly wanted:
    | { readonly kind: 'table'; readonly names: readonly string[] }
    | { readonly kind: 'native'; readonly sql: string }
}

export type DescribedTable =
  | { readonly from: SourceFrom; readonly columns: readonly SourceColumn[] }
  /** For an unknown table. The hint is added to the error message. */
  | { readonly from: null; readonly hint: string }

/** The requested tables by `wantedTableKey`. */
export type DescribedTables = ReadonlyMap<string, DescribedTable>

export function wantedTableKey({ sourceId, wanted }: WantedTable): string {
  const names = wanted.kind === 'table' ? wanted.names : [wanted.sql]
  return JSON.stringify([sourceId, wanted.kind, ...names])
}

/** Thrown when planning needs the description of a remote table first. */
export class UndescribedTable extends Error {
  readonly table: WantedTable

  constructor(table: WantedTable) {
    super(`${table.sourceName} is to be asked for its columns`)
    this.table = table
  }
}
