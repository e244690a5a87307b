import type { ModelRef } from '../domain/model-ref.ts'
import type { EmbedderRegistry, RerankerRegistry } from '../domain/ports/model-ports.ts'
import type { Catalog, Reembeddings } from '../domain/ports/store-ports.ts'

/** What creating, altering and dropping needs. */
export interface CatalogDeps {
  readonly catalog: Catalog
  readonly embedders: EmbedderRegistry
  readonly rerankers: RerankerRegistry
  /** The providers an agent's model may name. */
  readonly chatProviders: readonly string[]
  /**
   * Whether this server may connect to the address that a model names. One that nobody resolves passes: it is checked again
   * at each connection.
   * @throws AppError `address_refused`
   */
  readonly checkAddress: (ref: ModelRef) => Promise<void>
  readonly reembeddings: Reembeddings
}
