import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { Rights } from '../../core/domain/access/principal.ts'
import type { Row } from '../../core/domain/document.ts'
import type { InsertState, Job } from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { ChatModels, EmbedderRegistry } from '../../core/domain/ports/model-ports.ts'
import type { DocumentReading } from '../../core/domain/ports/reading-ports.ts'
import type { DocumentStore, FileStore } from '../../core/domain/ports/store-ports.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { toAppError } from '../../core/errors.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { Chunker } from '../chunking/chunker.ts'
import type { PageFetcher } from './guarded-fetch.ts'

export interface CrawlRequest {
  /**
   * Pages over all start addresses. Missing: those only, or as many as the settings allow if `depth` is more than 0.
   */
  readonly pagesMax?: number
  /** Links to follow from a start address. Missing: unlimited if `pagesMax` is set, else none. */
  readonly depth?: number
  /**
   * Hosts, each with its subdomains: other pages are not stored. Empty: the sites of the start addresses, and of their
   * redirects.
   */
  readonly allowedDomains: readonly string[]
  /** Regular expressions; a link is followed if one of them matches its address. */
  readonly patterns: readonly string[]
}

type OnBadDocument = 'raise' | 'skip'

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
  /** The rights of the inserting principal, for the query; unset or null: all. */
  readonly rights?: Rights | null
  /** What happens to a document that cannot be stored: it ends the insert, or is left out. Default: `raise` */
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
  /** The pages left out by the last crawl into a knowledge base: replaces those of the previous one. */
  keepCrawlWarnings(kb: KnowledgeBase, warnings: readonly string[]): Promise<void>
}

/** The result of an insert that a request waits for. */
export interface InsertOutcome {
  /** Set if it takes too long to wait for; null: everything is stored. */
  readonly job: Job | null
  /** Rows without content; null: the job counts them. */
  readonly skippedRows: number | null
}

export interface InsertReport {
  /** Counted source by source: a document in two sources counts twice. */
  readonly storedDocuments: number
  /** Rows without content. */
  readonly skippedRows: number
  readonly chunks: number
}

/** Grows while a request runs; after a failure it shows what is stored. */
export interface StoredCounts {
  storedDocuments: number
  skippedRows: number
  chunks: number
  readRows: number
  /** Rows that were skipped because they, or their batch, could not be stored. */
  failedRows?: number
}

export function noCounts(): StoredCounts {
  return { storedDocuments: 0, skippedRows: 0, chunks: 0, readRows: 0 }
}

/** An insert, while it runs and afterwards. */
interface NotedInsert {
  /** Grow meanwhile. */
  readonly counts: StoredCounts
  /** The id of its job; null or unset: the client waits for it. It may become a job. */
  readonly jobId?: number | null
}

interface Entry {
  readonly knowledgeBaseId: number
  readonly startedMs: number
  readonly noted: NotedInsert
  finishedMs: number | null
  error: string | null
}

/** Knowledge bases whose last insert is remembered. */
const ENTRIES_MAX = 10_000

/** The last insert into each knowledge base. Recording one costs a microsecond. */
export class InsertLog {
  readonly #now: () => number
  readonly #entries = new LruMap<number, Entry>({ sizeMax: ENTRIES_MAX })
  #runningCount = 0
  #version = 0

  /** @param now milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Grows with every change, and during an insert with every read. */
  get version(): number {
    if (this.#runningCount > 0) this.#version += 1
    return this.#version
  }

  /** Records a running insert. */
  async during<T>(
    kb: Pick<KnowledgeBase, 'id'>,
    noted: NotedInsert,
    work: () => Promise<T>,
  ): Promise<T> {
    const startedMs = this.#now()
    const entry: Entry = {
      knowledgeBaseId: kb.id,
      startedMs,
      noted,
      finishedMs: null,
      error: null,
    }
    this.#entries.set(kb.id, entry)
    this.#runningCount += 1
    try {
      return await work()
    } catch (error) {
      entry.error = toAppError(error).message
      throw error
    } finally {
      entry.finishedMs = this.#now()
      this.#runningCount -= 1
      this.#version += 1
    }
  }

  states(): readonly InsertState[] {
    return [...this.#entries.values()].map((entry) => ({
      knowledgeBaseId: entry.knowledgeBaseId,
      startedAt: timestampOfMillis(entry.startedMs),
      finishedAt: entry.finishedMs === null ? null : timestampOfMillis(entry.finishedMs),
      processedRows: processedRowsOf(entry),
      skippedRows: entry.noted.counts.skippedRows,
      error: entry.error,
      jobId: entry.noted.jobId ?? null,
    }))
  }
}

/** During the work, and after a failure, not all rows that were read are stored. */
function processedRowsOf({ noted: { counts }, finishedMs, error }: Entry): number {
  if (finishedMs === null || error !== null) return counts.storedDocuments
  return counts.readRows - counts.skippedRows - (counts.failedRows ?? 0)
}
