import type { Agent } from '../../core/domain/agents/agent.ts'
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { SourceFrom, SourceRef } from '../pushdown/source-read.ts'

/** What a name in a FROM stands for. */
export type Relation =
  | { readonly kind: 'knowledge_base'; readonly knowledgeBase: KnowledgeBase }
  /** A table of DuckDB, by its real schema and name. */
  | { readonly kind: 'table'; readonly schema: string; readonly table: string }
  /** The rows of a SELECT of ours, as the tables of information_schema are. */
  | { readonly kind: 'query'; readonly sql: string }
  /** A SELECT of a caller, in which names mean what they meant where it was made. */
  | { readonly kind: 'view'; readonly sql: string; readonly names: NameScope }
  | { readonly kind: 'agent'; readonly agent: Agent }
  /** A table of a database elsewhere, or what a SELECT of its own SQL gives. */
  | {
      readonly kind: 'source'
      readonly source: SourceRef
      readonly from: SourceFrom
      readonly columns: readonly SourceColumn[]
    }

/** The names that a caller may use, and what they stand for. */
export interface NameScope {
  /** @throws AppError `sql_unknown_name` that suggests the nearest name there is */
  resolve(parts: readonly string[]): Relation
  /** Whether the keys of chunks are among the columns of a knowledge base: for our own statements. */
  readonly readsChunkKeys?: boolean
  /** Whether a search that says nothing else is by meaning and keywords: for agents. */
  readonly isHybridByDefault?: boolean
}
