import type { Principal } from '../../core/domain/access/principal.ts'
import type { DataSource } from '../../core/domain/flow/source-parameters.ts'
import type { ModelRef } from '../../core/domain/model-ref.ts'
import type { DataSources } from '../../core/domain/ports/engine-ports.ts'
import type { EmbedderRegistry, RerankerRegistry } from '../../core/domain/ports/model-ports.ts'
import type {
  Catalog,
  DataSourceCatalog,
  Reembeddings,
} from '../../core/domain/ports/store-ports.ts'

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
  /** The same for the address of a server whose tools an agent may call. @throws AppError `address_refused` */
  readonly checkServerAddress: (url: URL) => Promise<void>
  readonly reembeddings: Reembeddings
  /** Who defines things; unset: the server itself. */
  readonly author?: Principal
  /** Told of the model that an agent was given; null: the server's default. */
  readonly agentHasModel?: (ref: ModelRef | null) => void
}

/** What databases need as well. */
export interface DatabaseDeps extends CatalogDeps {
  readonly dataSources: DataSourceCatalog
  /** The databases behind the data sources. */
  readonly sources: DataSources
  /** What reads this data source by itself, as `job mindsdb.j`: it cannot be dropped. */
  readonly databaseUses: (source: DataSource) => Promise<readonly string[]>
}
