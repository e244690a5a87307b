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
  /** In total. If missing, the start addresses only, or the settings decide if `depth` > 0. */
  readonly pagesMax?: number
  /** Links from a start address. If missing, `depthByPagesMax` with `pagesMax`, otherwise 0. */
  readonly depth?: number
  /** Includes subdomains. If empty, the sites of the start addresses and of their redirects. */
  readonly allowedDomains: readonly string[]
  readonly patterns: readonly string[]
}

type OnBadDocument = 'raise' | 'skip'

/** What to insert. The order is rows, files, urls, query. */
export interface InsertRequest {
  readonly kb: KnowledgeBase
  readonly rows?: readonly Row[]
  readonly files?: readonly string[]
  readonly urls?: readonly string[]
  readonly crawl: CrawlRequest
  /** One SELECT. */
  readonly query?: string
  /** The rights with which the query runs; unset or null means all. */
  readonly rights?: Rights | null
  /** Whether a document that cannot be stored ends the insert or is left out. Default: `raise`. */
  readonly onBadDocument?: OnBadDocument
}

export interface InsertDeps {
  snapshot(): CatalogSnapshot
  readonly chunks: DocumentStore
  readonly inserts: InsertLog
  readonly embedders: EmbedderRegistry
  readonly chatModels: ChatModels
  readonly files: Omit<FileStore, 'importSelect'>
  /** Runs one SELECT. Anything else fails before it runs. */
  select(
    sql: string,
    place: { readonly projectName: string; readonly rights: Rights | null },
    signal: AbortSignal,
  ): Promise<RowStream>
  readonly pages: PageFetcher
  readonly reader: DocumentReading
  readonly chunker: Chunker
  readonly crawlPagesMax: number
  /** Stores which pages the last crawl into a knowledge base left out, replacing earlier notes. */
  keepCrawlWarnings(kb: KnowledgeBase, warnings: readonly string[]): Promise<void>
}

export interface InsertOutcome {
  /** The job, if the insert took too long to wait for; null if everything is stored. */
  readonly job: Job | null
  /** The number of rows without content; null if the job counts them. */
  readonly skippedRows: number | null
}

export interface InsertReport {
  /** Counted per source, so a document in two sources counts twice. */
  readonly storedDocuments: number
  /** Rows without content. */
  readonly skippedRows: number
  readonly chunks: number
}

/** Grows during an insert, and after a failure shows what was stored. */
export interface StoredCounts {
  storedDocuments: number
  skippedRows: number
  chunks: number
  readRows: number
  /** Rows left out because they, or their batch, could not be stored. */
  failedRows?: number
  /** Chunks embedded so far, including those not stored yet. */
  embeddedChunks?: number
}

export function noCounts(): StoredCounts {
  return { storedDocuments: 0, skippedRows: 0, chunks: 0, readRows: 0 }
}

/** An insert that is running or finished. */
interface NotedInsert {
  readonly counts: StoredCounts
  /** Null or unset while a client waits for the insert, which may still become a job. */
  readonly jobId?: number | null
}

interface Entry {
  readonly knowledgeBaseId: number
  readonly startedMs: number
  readonly noted: NotedInsert
  finishedMs: number | null
  error: string | null
}

/** Remember the last insert of this many knowledge bases. */
const ENTRIES_MAX = 10_000

/** Remembers the last insert into each knowledge base. Recording one costs a microsecond. */
export class InsertLog {
  readonly #now: () => number
  readonly #entries = new LruMap<number, Entry>({ sizeMax: ENTRIES_MAX })
  #runningCount = 0
  #version = 0

  /** @param now returns milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Grows with every change, and with every read during an insert. */
  get version(): number {
    if (this.#runningCount > 0) this.#version += 1
    return this.#version
  }

  /** Records an insert while it runs. */
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
      const hasLeft = error instanceof DOMException && error.name === 'AbortError'
      entry.error = hasLeft ? 'The client closed the connection' : toAppError(error).message
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
      embeddedChunks: entry.noted.counts.embeddedChunks ?? 0,
      error: entry.error,
      jobId: entry.noted.jobId ?? null,
    }))
  }
}

/** Stored or left out. More rows may have been read. */
function processedRowsOf({ noted: { counts }, finishedMs, error }: Entry): number {
  if (finishedMs === null || error !== null) return counts.storedDocuments
  return counts.readRows - counts.skippedRows - (counts.failedRows ?? 0)
}
