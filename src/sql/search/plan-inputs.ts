/**
 * What must be known before a statement can run, beyond its parameters: vectors of the texts it searches for, and answers to
 * the questions it asks agents.
 */
import type { Agent } from '../../core/domain/agents/agent.ts'
import type { ConditionValue } from '../../core/domain/column-condition.ts'
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import type { TreeNode } from '../ast/select-ast.ts'
import type { UnnamedItem } from '../guard/limit-steps.ts'
import type { DirectAnswer, SourceFrom, SourceRead, SourceRef } from '../pushdown/source-read.ts'
import type { Threshold } from './predicate-pushdown.ts'
import type { HybridSearch } from './ranking.ts'

/** A text that the statement searches for, or a question to an agent. */
export type PlannedText =
  | { readonly kind: 'constant'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string }
  /** The distinct values of this SELECT of one column, which is planned like a separate statement. */
  | { readonly kind: 'column'; readonly select: TreeNode }

/** A text to embed before the statement runs. */
export interface SearchInput {
  /** Available as `$eider_vector_<textIndex>`. */
  readonly textIndex: number
  readonly text: PlannedText
  readonly knowledgeBase: KnowledgeBase
}

/** Questions to an agent, each asked once. */
export interface AgentInput {
  /** Available as `$eider_answers_<agentIndex>`. */
  readonly agentIndex: number
  readonly agent: Agent
  readonly questions: readonly PlannedText[]
  /** Names in the statement besides `answer` and `question`: the agent must answer in these fields. */
  readonly fields: readonly string[]
}

/**
 * A search of the only knowledge base in a FROM, passed beside the statement by a caller that has it in parts; otherwise it
 * is in the statement's WHERE.
 */
export interface GivenSearch {
  /** The parameter with the query text or query vector. */
  readonly parameter: string
  /** null: by vectors alone. */
  readonly hybrid: HybridSearch | null
  readonly isReranked: boolean
}

/** The candidates of a reranked search. */
export interface RerankedSearch {
  readonly texts: readonly PlannedText[]
  /** A tree: `__chunk_key, chunk_content, relevance, distance` of the candidates, the best first; `id, metadata` to judge. */
  readonly candidates: TreeNode
  /** How many candidates to rerank; the others follow them. null: they are judged as an answer. */
  readonly rerankedCount: number | null
  /** The thresholds, which are about the relevance that the reranker gives. null: there are none. */
  readonly thresholds: TreeNode | null
}

/** Candidates to find before the statement runs, and to rerank or to judge. */
export interface RerankInput extends Omit<RerankedSearch, 'thresholds'> {
  /** Available as `$eider_reranked_<rerankingIndex>`, or `$eider_answerable_<rerankingIndex>`. */
  readonly rerankingIndex: number
  readonly knowledgeBase: KnowledgeBase
  /** The meaning of the names in `candidates`. */
  readonly names: NameScope
}

/** The content of a column of the answer. */
export type PlainColumn =
  | 'id'
  | 'chunk_id'
  | 'chunk_content'
  | 'metadata'
  | 'relevance'
  | 'distance'
  /** The index in `metadataColumns`; null: a declared column without any row so far. */
  | { readonly metadataColumn: number | null }

export interface PlainAnswer {
  readonly columns: readonly PlainColumn[]
  /** Physical names of the metadata columns shown. */
  readonly metadataColumns: readonly string[]
  /** All of them must hold. */
  readonly thresholds: readonly Threshold[]
  readonly limit: number
  readonly offset: number
  /** By relevance first, then by distance; by distance alone without hybrid search. */
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
  /** As a clause after "because". */
  readonly reason: string
  /** null: by vectors alone. */
  readonly hybrid: HybridSearch | null
  readonly textIndexes: readonly number[]
}

/** Each search text is embedded on its own. */
const SEARCHES_MAX = 1000

/** Views of a statement, counted as often as they are read, also by one another. */
const VIEWS_MAX = 200

/** Collects the inputs of a statement and of the views it reads. */
export class PlanInputs {
  readonly reranks: boolean
  readonly search: GivenSearch | null
  readonly searches: SearchInput[] = []
  readonly agents: AgentInput[] = []
  /** Parameters that relevance is compared with: numbers from 0 to 1. */
  readonly thresholds: string[] = []

  /** True if the statement reads tables derived from the catalog. */
  readsCatalog = false
  /** All that a FROM names, by their ids. */
  readonly knowledgeBases = new Map<number, KnowledgeBase>()
  /** The searches that measure every vector, and why. */
  readonly scans: MeasuredScan[] = []

  readonly rerankings: RerankInput[] = []
  /** The reads of remote databases. */
  readonly reads: SourceRead[] = []
  /** Select items to be named as they were written. */
  readonly unnamed: UnnamedItem[] = []
  /** Set if the whole statement is one of these reads. */
  direct: DirectAnswer | null = null
  /** A SELECT that does nothing but count the chunks of a knowledge base. */
  counted: { readonly select: TreeNode; readonly knowledgeBase: KnowledgeBase } | null = null
  /** A SELECT that does nothing but show the chunks of one document. */
  document: (DocumentAnswer & { readonly select: TreeNode }) | null = null

  #viewCount = 0

  /** @param reranks whether searches are reranked */
  constructor(reranks: boolean, search: GivenSearch | null) {
    this.reranks = reranks
    this.search = search
  }

  /** @throws AppError `sql_not_supported` for too many */
  addView(name: string): void {
    this.#viewCount += 1
    if (this.#viewCount <= VIEWS_MAX) return
    const message = `A statement reads at most ${VIEWS_MAX} views: ${name} is one too many`
    throw new AppError('sql_not_supported', message)
  }

  /** @throws AppError `sql_invalid_search` for too many */
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
  /** A table of DuckDB, by its real schema and name. */
  | { readonly kind: 'table'; readonly schema: string; readonly table: string }
  /** The rows of a SELECT of Eider, as in the tables of information_schema. */
  | { readonly kind: 'query'; readonly sql: string }
  /** A caller's SELECT, whose names mean what they meant where it was created. */
  | { readonly kind: 'view'; readonly sql: string; readonly names: NameScope }
  | { readonly kind: 'agent'; readonly agent: Agent }
  /** A table of a remote database, or the result of native SQL. */
  | {
      readonly kind: 'source'
      readonly source: SourceRef
      readonly from: SourceFrom
      readonly columns: readonly SourceColumn[]
    }

/** The names that a caller may use, and what they refer to. */
export interface NameScope {
  /** @throws AppError `sql_unknown_name` that suggests the nearest name there is */
  resolve(parts: readonly string[]): Relation
  /** Whether the keys of chunks are among the columns of a knowledge base: for our own statements. */
  readonly readsChunkKeys?: boolean
  /** Print the statement even if nothing in it changes, for a caller that parses the text. */
  readonly isPrinted?: boolean
  /** Whether a search that says nothing else is by meaning and keywords: for agents. */
  readonly isHybridByDefault?: boolean
}

/** The names of what is bound to a plan besides the caller's parameters, by the number of its text, agent or reranking. */
export const BOUND = {
  /** The bound list of an agent's answers, each as JSON. */
  answers: numbered('eider_answers'),
  /** The bound list of the distinct texts of a lateral search. */
  texts: numbered('eider_texts'),
  /** Bound list: the vectors of these texts, in the same order. */
  vectors: numbered('eider_vectors'),
  /** The bound vector of a search text. */
  vector: numbered('eider_vector'),
  /** The bound list of a search text's words, in lower case. */
  words: numbered('eider_terms'),
  /** The bound list of the keys of a search text's terms, as the keyword index has them. */
  termKeys: numbered('eider_keywords'),
  /** Bound list: how often each of these terms occurs in the text. */
  termCounts: numbered('eider_keyword_counts'),
  /** Bound list: the keys of chunks with phrases of the text. */
  phraseKeys: numbered('eider_phrase_keys'),
  /** The bound list of what that adds to their scores, in the same order. */
  phraseBonuses: numbered('eider_phrase_bonuses'),
  /** What phrases can add to a score at most. */
  phraseBound: numbered('eider_phrase_bound'),
  /** Whether no other chunk has a keyword score. */
  isPhraseFilter: numbered('eider_phrase_filter'),
  /** The weight of the vectors if the statement names none. */
  alpha: numbered('eider_alpha'),
  /** Whether the vector moves towards the first chunks: the text is in the model's language. */
  isFedBack: numbered('eider_feedback'),
  /** The bound list of the keys of the nearest chunks. */
  candidateKeys: numbered('eider_candidates'),
  /** The bound list of their distances, in the same order. */
  candidateDistances: numbered('eider_candidate_distances'),
  /** The bound list of their relevances, of a hybrid search. */
  candidateRelevances: numbered('eider_candidate_relevances'),
  /** The bound list of the keys of the chunks, in the order of their candidates. */
  rerankedKeys: numbered('eider_reranked'),
  rerankedRelevances: numbered('eider_reranked_relevances'),
  rerankedDistances: numbered('eider_reranked_distances'),
  /** How likely the candidates answer the text. */
  answerable: numbered('eider_answerable'),
} as const

function numbered(prefix: string): (index: number) => string {
  return (index) => `${prefix}_${index}`
}
