import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { Rights } from '../../core/domain/access/rights.ts'
import type { Row } from '../../core/domain/document.ts'
import type { Job } from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { ChatModels, EmbedderRegistry } from '../../core/domain/ports/model-ports.ts'
import type { DocumentReading } from '../../core/domain/ports/reading-ports.ts'
import type { DocumentStore, FileStore } from '../../core/domain/ports/store-ports.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import type { Chunker } from '../chunking/chunker.ts'
import type { PageFetcher } from './guarded-fetch.ts'
import type { InsertLog } from './insert-log.ts'

export interface CrawlRequest {
  /**
   * Pages over all start addresses. Missing: those only, or as many as the settings allow where `depth` is more than 0.
   */
  readonly pagesMax?: number
  /** Links to follow from a start address. Missing: as many as `pagesMax` takes where that is set, else none. */
  readonly depth?: number
  /**
   * Hosts, each with its subdomains: no page is stored that is elsewhere. Empty: the sites of the start addresses, and
   * those that they redirect to.
   */
  readonly allowedDomains: readonly string[]
  /** Regular expressions; a link is followed where one of them is found in its address. */
  readonly patterns: readonly string[]
}

export type OnBadDocument = 'raise' | 'skip'

/** What to insert, in the order rows, files, urls, query. */
export interface InsertRequest {
  readonly kb: KnowledgeBase
  readonly rows?: readonly Row[]
  /** Names of uploaded files. */
  readonly files?: readonly string[]
  readonly urls?: readonly string[]
  readonly crawl: CrawlRequest
  /** One SELECT. */
  readonly query?: string
  /** Of whoever inserts, for the query; unset or null: all. */
  readonly rights?: Rights | null
  /** What becomes of a document that cannot be stored: it ends the insert, or is left out. Default: `raise` */
  readonly onBadDocument?: OnBadDocument
}

export interface InsertDeps {
  snapshot(): CatalogSnapshot
  readonly chunks: DocumentStore
  readonly inserts: InsertLog
  readonly embedders: EmbedderRegistry
  readonly chatModels: ChatModels
  readonly files: Omit<FileStore, 'importSelect'>
  /** Runs one SELECT; anything else fails before it runs. */
  select(
    sql: string,
    place: { readonly projectName: string; readonly rights: Rights | null },
    signal: AbortSignal,
  ): Promise<RowStream>
  readonly pages: PageFetcher
  readonly reader: DocumentReading
  readonly chunker: Chunker
  readonly crawlPagesMax: number
  /** What the last crawl into a knowledge base left out: it replaces what was said of the one before. */
  keepCrawlWarnings(kb: KnowledgeBase, warnings: readonly string[]): Promise<void>
}

/** Of an insert that a request waits for. */
export interface InsertOutcome {
  /** It takes too long to wait for; null: everything is stored. */
  readonly job: Job | null
  /** Rows without content; null: the job counts them. */
  readonly skippedRows: number | null
}

export interface InsertReport {
  /** Counted source by source: one that two sources hold counts twice. */
  readonly storedDocuments: number
  /** Rows without content. */
  readonly skippedRows: number
  readonly chunks: number
}
