import type { Catalog, EmbedderRegistry } from '../domain/ports.ts'

/** What creating, altering and dropping needs. */
export interface CatalogDeps {
  readonly catalog: Catalog
  readonly embedders: EmbedderRegistry
  /** The providers an agent's model may name. */
  readonly chatProviders: readonly string[]
}
