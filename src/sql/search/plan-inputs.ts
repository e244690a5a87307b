/**
 * What must be known before a statement runs, besides its parameters: vectors of search texts, and
 * agents' answers.
 */
import type { Agent } from '../../core/domain/agents/agent.ts'
import type { ConditionValue } from '../../core/domain/column-condition.ts'
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import type { KNOWLEDGE_BASE_COLUMNS, KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import type { TreeNode } from '../ast/select-ast.ts'
import type { UnnamedItem } from '../guard/limit-steps.ts'
import type { SourceFrom, SourceRead, SourceRef } from '../pushdown/source-read.ts'
import type { Threshold } from './predicate-pushdown.ts'
import type { HybridSearch } from './ranking.ts'

/** A text to search for, or a question to an agent. */
export type PlannedText =
  | { readonly kind: 'constant'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string }
  /** The distinct values of this one-column SELECT, which is planned like a separate statement. */
  | { readonly kind: 'column'; readonly select: TreeNode }

/** A text to embed before the statement runs. */
export interface SearchInput {
  /** The index in `$eider_vector_<textIndex>`. */
  readonly textIndex: number
  readonly text: PlannedText
  readonly knowledgeBase: KnowledgeBase
}

/** Questions to an agent, each asked once. */
export interface AgentInput {
  /** The index in `$eider_answers_<agentIndex>`. */
  readonly agentIndex: number
  readonly agent: Agent
  readonly questions: readonly PlannedText[]
  /** Besides `answer` and `question`. The agent must answer with these fields. */
  readonly fields: readonly string[]
}

/** Given apart from the statement; otherwise a search is in its WHERE. */
export interface GivenSearch {
  readonly parameter: string
  /** Null: by vectors alone. */
  readonly hybrid: HybridSearch | null
  readonly isReranked: boolean
  readonly allowsPartial: boolean
}

/** The candidates of a reranked search. */
export interface RerankedSearch {
  readonly texts: readonly PlannedText[]
  /** Best first: `__chunk_key, chunk_content, relevance, distance`; judging adds `id, metadata`. */
  readonly candidates: TreeNode
  /**
   * How many candidates to rerank; the others come after them. Null to judge them instead.
   */
  readonly rerankedCount: number | null
  /** Conditions on the reranker's relevance; null if there are none. */
  readonly thresholds: TreeNode | null
}

/** Candidates to find, and to rerank or judge, before the statement runs. */
export interface RerankInput extends Omit<RerankedSearch, 'thresholds'> {
  /** The index in `$eider_reranked_<rerankingIndex>` or `$eider_answerable_<rerankingIndex>`. */
  readonly rerankingIndex: number
  readonly knowledgeBase: KnowledgeBase
  readonly names: NameScope
}

/** What a column of the result contains. */
export type PlainColumn =
  | (typeof KNOWLEDGE_BASE_COLUMNS)[number]
  /** The index in `metadataColumns`; null for a declared column that no row has yet. */
  | { readonly metadataColumn: number | null }

export interface PlainAnswer {
  readonly columns: readonly PlainColumn[]
  /** Physical names of the metadata columns shown. */
  readonly metadataColumns: readonly string[]
  /** A row must meet all of them. */
  readonly thresholds: readonly Threshold[]
  readonly limit: number
  readonly offset: number
  /** By relevance, then distance, as in a hybrid search; otherwise by distance alone. */
  readonly isHybrid: boolean
}

/** The chunks of one document, in insertion order. */
export interface DocumentAnswer {
  readonly knowledgeBase: KnowledgeBase
  readonly id: ConditionValue
  readonly plain: PlainAnswer
}

/** A search that compares every vector. */
export interface MeasuredScan {
  readonly knowledgeBase: KnowledgeBase
  /** Why, as a clause after "because". */
  readonly reason: string
  /** Null: by vectors alone. */
  readonly hybrid: HybridSearch | null
  readonly textIndexes: readonly number[]
}

/** The most searches, because each text is embedded separately. */
const SEARCHES_MAX = 1000

const VIEWS_MAX = 200

/** Collects the inputs of a statement and of the views that it reads. */
export class PlanInputs {
  readonly reranks: boolean
  readonly search: GivenSearch | null
  readonly searches: SearchInput[] = []
  readonly agents: AgentInput[] = []
  /** Parameters that relevance is compared with: numbers from 0 to 1. */
  readonly thresholds: string[] = []

  /** Whether the statement reads tables derived from the catalog. */
  readsCatalog = false
  /** All knowledge bases named in a FROM, by id. */
  readonly knowledgeBases = new Map<number, KnowledgeBase>()
  /** Searches that compare every vector, with the reason. */
  readonly scans: MeasuredScan[] = []

  readonly rerankings: RerankInput[] = []
  /** The reads of remote databases. */
  readonly reads: SourceRead[] = []
  /** SELECT items to name as they were written. */
  readonly unnamed: UnnamedItem[] = []
  /** Set if a SELECT does nothing but show the chunks of one document. */
  document: (DocumentAnswer & { readonly select: TreeNode }) | null = null

  #viewCount = 0

  /** @param reranks whether searches are reranked */
  constructor(reranks: boolean, search: GivenSearch | null) {
    this.reranks = reranks
    this.search = search
  }

  /** @throws AppError `sql_not_supported` for too many views */
  addView(name: string): void {
    this.#viewCount += 1
    if (this.#viewCount <= VIEWS_MAX) return
    const message = `A statement reads at most ${VIEWS_MAX} views: ${name} is one too many`
    throw new AppError('sql_not_supported', message)
  }

  /** @throws AppError `sql_invalid_search` for too many searches */
  addSearch(text: PlannedText, knowledgeBase: KnowledgeBase): number {
    const textIndex = this.searches.length
    if (textIndex >= SEARCHES_MAX) {
      const message = `A statement searches for at most ${SEARCHES_MAX} texts`
      throw new AppError('sql_invalid_search', message)
    }
    this.searches.push({ textIndex, text, knowledgeBase })
    return textIndex
  }

  addReranking(input: Omit<RerankInput, 'rerankingIndex'>): number {
    const rerankingIndex = this.rerankings.length
    this.rerankings.push({ ...input, rerankingIndex })
    return rerankingIndex
  }

  addAgent(input: Omit<AgentInput, 'agentIndex'>): number {
    const agentIndex = this.agents.length
    this.agents.push({ ...input, agentIndex })
    return agentIndex
  }
}

/** What a name in a FROM refers to. */
export type Relation =
  | { readonly kind: 'knowledge_base'; readonly knowledgeBase: KnowledgeBase }
  /** A table in DuckDB, by its physical schema and name. */
  | { readonly kind: 'table'; readonly schema: string; readonly table: string }
  /** One of Eider's own SELECTs, for example for a table of information_schema. */
  | { readonly kind: 'query'; readonly sql: string }
  /** A client's SELECT. Its names are resolved in the project of the view. */
  | { readonly kind: 'view'; readonly sql: string; readonly names: NameScope }
  | { readonly kind: 'agent'; readonly agent: Agent }
  /** A table of a remote database, or the result of native SQL. */
  | {
      readonly kind: 'source'
      readonly source: SourceRef
      readonly from: SourceFrom
      readonly columns: readonly SourceColumn[]
    }

/** The names that a client may use, and what they refer to. */
export interface NameScope {
  /** @throws AppError `sql_unknown_name` that suggests the nearest existing name */
  resolve(parts: readonly string[]): Relation
  /** Whether knowledge bases show the keys of their chunks, as in Eider's own statements. */
  readonly readsChunkKeys?: boolean
  /**
   * Whether to print the statement even if nothing in it changes, for callers that parse the text.
   */
  readonly isPrinted?: boolean
  /** Whether a search without options is hybrid, as for agents. */
  readonly isHybridByDefault?: boolean
}

/** Bound besides the client's parameters, numbered by text, agent or reranking. */
export const BOUND = {
  /** List of an agent's answers, each as JSON. */
  answers: numbered('eider_answers'),
  /** List of the distinct texts of a lateral search. */
  texts: numbered('eider_texts'),
  /** List of the vectors of these texts, in the same order. */
  vectors: numbered('eider_vectors'),
  /** The vector of a search text. */
  vector: numbered('eider_vector'),
  /** List of a search text's words in lower case. */
  words: numbered('eider_terms'),
  /** List of the keys of a search text's terms in the keyword index. */
  termKeys: numbered('eider_keywords'),
  /** List: how often each of these terms occurs in the text. */
  termCounts: numbered('eider_keyword_counts'),
  /** List of the keys of chunks that contain phrases of the text. */
  phraseKeys: numbered('eider_phrase_keys'),
  /** List of the bonuses to the scores of these chunks, in the same order. */
  phraseBonuses: numbered('eider_phrase_bonuses'),
  /** The most that phrases can add to a score. */
  phraseBound: numbered('eider_phrase_bound'),
  /** Whether only chunks with the phrases have a keyword score. */
  isPhraseFilter: numbered('eider_phrase_filter'),
  /** The weight of the vectors if the statement sets none. */
  alpha: numbered('eider_alpha'),
  /** Moves the query vector, only if the text is in the model's language. */
  isFedBack: numbered('eider_feedback'),
  /** List of the keys of the nearest chunks. */
  candidateKeys: numbered('eider_candidates'),
  /** List of the distances of the nearest chunks, in the same order. */
  candidateDistances: numbered('eider_candidate_distances'),
  /** List of the relevances of the nearest chunks in a hybrid search. */
  candidateRelevances: numbered('eider_candidate_relevances'),
  /** List of the keys of reranked candidates, in order. */
  rerankedKeys: numbered('eider_reranked'),
  rerankedRelevances: numbered('eider_reranked_relevances'),
  rerankedDistances: numbered('eider_reranked_distances'),
  /** How likely the candidates are to answer the text. */
  answerable: numbered('eider_answerable'),
} as const

function numbered(prefix: string): (index: number) => string {
  return (index) => `${prefix}_${index}`
}
