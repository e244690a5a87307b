import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { PrefilterSql } from '../../core/domain/ports/engine-ports.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { SingleFlight } from '../../core/runtime/serial-queue.ts'
import type { TreeNode } from '../../sql/ast/select-ast.ts'
import type { DirectAnswer, SourceFrom, SourceRead } from '../../sql/pushdown/source-read.ts'
import type {
  AgentInput,
  DocumentAnswer,
  MeasuredScan,
  PlainAnswer,
  RerankInput,
  SearchInput,
} from '../../sql/search/plan-inputs.ts'
import type { HybridEdit } from '../../sql/subquery/knowledge-base-subquery.ts'

/** A statement ready to run, but for the values of its parameters, the vectors of its searches and agents' answers. */
export interface SelectPlan {
  readonly sql: string
  readonly searches: readonly SearchInput[]
  readonly agents: readonly AgentInput[]
  readonly rerankings: readonly PlannedReranking[]
  /** Parameters that relevance is compared with. */
  readonly thresholds: readonly string[]
  /** By tree, the plan of each SELECT for a column's texts or the candidates of a reranking. */
  readonly innerPlans: ReadonlyMap<TreeNode, SelectPlan>
  /** The placeholders in `sql`. */
  readonly parameters: ReadonlySet<string>
  /** The same statement with its searches' nearest chunks known; null: no search can use them. */
  readonly candidates: CandidatePlan | null
  /** True when a LIMIT keeps its answer short. */
  readonly isShort: boolean
  /** True if it contains tables derived from the catalog at that time. */
  readonly readsCatalog: boolean
  /** Everything it names, except in inner plans. */
  readonly knowledgeBases: readonly KnowledgeBase[]
  /** Searches that compare every vector anyway. */
  readonly scans: readonly MeasuredScan[]
  /** The parameters of the statement as the client wrote it, also those that became searches. */
  readonly parameterNames: readonly string[]
  /** Set if the answer never changes: it is stored with the plan once known. null: it depends on something. */
  readonly constant: { answer: Pick<RowStream, 'columns' | 'ready'> | null } | null
  /** Set if it only counts the chunks of a knowledge base. */
  readonly counted: CountedChunks | null
  /** Set if it only shows the chunks of one document. */
  readonly document: DocumentRows | null
  /** Reads of remote databases that come first. Their placeholders are in its texts. */
  readonly reads: readonly SourceRead[]
  /** The columns that the plan was based on. */
  readonly described: readonly {
    readonly table: WantedTable
    readonly columns: readonly SourceColumn[]
  }[]
  /** Set if the whole statement is one of these reads. */
  readonly direct: DirectAnswer | null
  /** How often marks are used where a value changes only the result, not the plan; unset: none. */
  readonly marks?: ReadonlyMap<string, number>
}

export interface CountedChunks {
  readonly knowledgeBase: KnowledgeBase
  /** The column's name and type: known once the database has answered. */
  columns: RowStream['columns'] | null
}

export interface DocumentRows extends DocumentAnswer {
  /** What its columns are called and hold: known once the database has answered it. */
  readonly known: { columns: RowStream['columns'] | null }
}

/** The candidates of a reranking, whose SELECT is planned. */
export type PlannedReranking = Omit<RerankInput, 'names'>

/** A SELECT that gets the nearest chunks of its searches as bound lists. */
export interface CandidatePlan {
  readonly sql: string
  readonly isShort: boolean
  readonly parameters: ReadonlySet<string>
  readonly requests: readonly CandidateRequest[]
  /** Set if the answer is only rows of the chunks of its only request. */
  readonly plain: PlainAnswer | null
  /** What its columns are called and hold: known once the database has answered it. */
  readonly known: { columns: RowStream['columns'] | null }
}

/** Chunks to find before the statement runs. */
export interface CandidateRequest {
  /** The index of the search text. */
  readonly textIndex: number
  readonly knowledgeBase: KnowledgeBase
  readonly count: number
  /** A SELECT of the keys to search among; null: all. */
  readonly prefilter:
    | (Omit<PrefilterSql, 'values'> & { readonly parameters: ReadonlySet<string> })
    | null
  /** null: by vectors alone. */
  readonly hybrid: HybridEdit | null
}

/** The searches that memory may answer, also those whose chunks are reranked. */
export function candidateRequests(plan: SelectPlan): readonly CandidateRequest[] {
  const inner = plan.rerankings.flatMap(({ candidates }) => plan.innerPlans.get(candidates) ?? [])
  return [...(plan.candidates?.requests ?? []), ...inner.flatMap(candidateRequests)]
}

const PLANS_MAX = 500
const KEY_CHARS_MAX = 10_000
/** A large catalog makes long texts of the tables of information_schema. */
const SQL_CHARS_MAX = 100_000

type Versions = Pick<CatalogSnapshot, 'version' | 'definitionsVersion' | 'activity' | 'limits'>

/** Plans of recent statements. One is valid until a definition changes; one that reads the catalog, until anything does. */
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

  /**
   * Of many equal concurrent statements, one is planned and the others wait for its plan, then returned by `find`. @throws
   * errors of `plan`, and the signal's reason
   */
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

  /** @param statement the key of a plan, besides the catalog */
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

/** A caller who sees another part of the catalog has separate plans. */
function planKey(statement: string, { definitionsVersion, limits }: Versions): string {
  return `${definitionsVersion}\0${limits?.key ?? ''}\0${statement}`
}

/** A table as a statement names it, or the text of a SELECT for the source. */
export interface WantedTable {
  readonly sourceId: number
  readonly sourceName: string
  readonly wanted:
    | { readonly kind: 'table'; readonly names: readonly string[] }
    | { readonly kind: 'native'; readonly sql: string }
}

export type DescribedTable =
  | { readonly from: SourceFrom; readonly columns: readonly SourceColumn[] }
  /** For an unknown table; the hint ends the message. */
  | { readonly from: null; readonly hint: string }

/** The requested tables, by `wantedTableKey`. */
export type DescribedTables = ReadonlyMap<string, DescribedTable>

export function wantedTableKey({ sourceId, wanted }: WantedTable): string {
  const names = wanted.kind === 'table' ? wanted.names : [wanted.sql]
  return JSON.stringify([sourceId, wanted.kind, ...names])
}

/** Planning needs the description of this table first. */
export class UndescribedTable extends Error {
  readonly table: WantedTable

  constructor(table: WantedTable) {
    super(`${table.sourceName} is to be asked for its columns`)
    this.table = table
  }
}
