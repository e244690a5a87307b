/**
 * What has to be known before a statement can run, beyond its parameters: vectors of the texts that it searches for, and
 * answers to the questions that it asks agents.
 */
import type { Agent } from '../../domain/agent.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { AppError } from '../../errors.ts'
import type { TreeNode } from '../ast/select-ast.ts'
import type { NameScope } from '../relation.ts'
import type { HybridSearch } from './ranking.ts'

/** A text of the statement. */
export type PlannedText =
  | { readonly kind: 'constant'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string }
  /** As many texts as this SELECT of one column has distinct values; to be planned like a statement of its own. */
  | { readonly kind: 'column'; readonly select: TreeNode }

/** A text to embed before the statement runs. */
export interface SearchRequest {
  /** The number in `$eider_vector_<text>`. */
  readonly text: number
  readonly of: PlannedText
  readonly knowledgeBase: KnowledgeBase
}

/** Questions to an agent, each asked once. */
export interface AgentRequest {
  /** The number in `$eider_answers_<number>`. */
  readonly number: number
  readonly agent: Agent
  readonly questions: readonly PlannedText[]
  /** Names that the statement uses beside `answer` and `question`: the agent is asked to answer in these fields. */
  readonly fields: readonly string[]
}

/**
 * A search of the only knowledge base in a FROM that is given beside the statement, by a caller who has it in parts;
 * otherwise the WHERE of the statement holds it.
 */
export interface GivenSearch {
  /** Of the parameter that holds the query text or the query vector. */
  readonly parameter: string
  /** null: by vectors alone. */
  readonly hybrid: HybridSearch | null
  readonly isReranked: boolean
}

/** What is to be reranked. */
export interface RerankedSearch {
  readonly texts: readonly PlannedText[]
  /** A tree: `__chunk_key, chunk_content, relevance, distance` of the candidates, the best first. */
  readonly candidates: TreeNode
  /** The first so many of them are reranked, the others follow. */
  readonly rerankedCount: number
  /** The thresholds, which are about the relevance that the reranker gives. null: there are none. */
  readonly thresholds: TreeNode | null
}

/** Candidates to find and to rerank before the statement runs. */
export interface RerankRequest extends Omit<RerankedSearch, 'thresholds'> {
  /** The number in `$eider_reranked_<number>`. */
  readonly number: number
  readonly knowledgeBase: KnowledgeBase
  /** What the names in `candidates` mean. */
  readonly names: NameScope
}

/** A search that is answered by measuring every vector. */
export interface MeasuredScan {
  readonly knowledgeBase: KnowledgeBase
  /** As a clause after "because". */
  readonly reason: string
}

/** Each is embedded on its own. */
const SEARCHES_MAX = 1000

/** Views of a statement, counted as often as they are read, also by one another. */
const VIEWS_MAX = 200

/** Collects the requests of a statement and of the views that it reads. */
export class Requests {
  readonly reranks: boolean
  readonly search: GivenSearch | null
  readonly searches: SearchRequest[] = []
  readonly agents: AgentRequest[] = []
  /** Parameters that relevance is compared with: numbers from 0 to 1. */
  readonly thresholds: string[] = []

  /** True when the statement reads tables that are made of the catalog. */
  readsCatalog = false
  /** What has every vector measured, and why. */
  readonly scans: MeasuredScan[] = []

  readonly rerankings: RerankRequest[] = []

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
  addSearch(of: PlannedText, knowledgeBase: KnowledgeBase): number {
    const text = this.searches.length
    if (text >= SEARCHES_MAX) {
      const message = `A statement searches for at most ${SEARCHES_MAX} texts`
      throw new AppError('sql_invalid_search', message)
    }
    this.searches.push({ text, of, knowledgeBase })
    return text
  }

  addReranking(request: Omit<RerankRequest, 'number'>): number {
    const number = this.rerankings.length
    this.rerankings.push({ ...request, number })
    return number
  }

  addAgent(request: Omit<AgentRequest, 'number'>): number {
    const number = this.agents.length
    this.agents.push({ ...request, number })
    return number
  }
}

/** The bound list of JSON texts that are an agent's answers. */
export function answersParameter(number: number): string {
  return `eider_answers_${number}`
}

/** The bound list of a searched column's distinct texts. */
export function textsParameter(text: number): string {
  return `eider_texts_${text}`
}

/** The bound list of the vectors of these texts, in the same order. */
export function vectorsParameter(text: number): string {
  return `eider_vectors_${text}`
}
