import type { EmbedderRegistry, RerankerRegistry } from '../domain/ports/model-ports.ts'
import type { Catalog, Reembeddings } from '../domain/ports/store-ports.ts'

/** What creating, altering and dropping needs. */
export interface CatalogDeps {
  readonly catalog: Catalog
  readonly embedders: EmbedderRegistry
  readonly rerankers: RerankerRegistry
  /** The providers an agent's model may name. */
  readonly chatProviders: readonly string[]
  readonly reembeddings: Reembeddings
}
