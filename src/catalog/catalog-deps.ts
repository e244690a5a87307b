import type { Catalog, EmbedderRegistry, Reembeddings, RerankerRegistry } from '../domain/ports.ts'

/** What creating, altering and dropping needs. */
export interface CatalogDeps {
  readonly catalog: Catalog
  readonly embedders: EmbedderRegistry
  readonly rerankers: RerankerRegistry
  /** The providers an agent's model may name. */
  readonly chatProviders: readonly string[]
  readonly reembeddings: Reembeddings
}
