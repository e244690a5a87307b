import type { InsertState } from '../../core/domain/flow/activity.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { timestampOfMillis } from '../../core/domain/timestamp.ts'
import { toAppError } from '../../core/errors.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'

/** Grows while a request runs; a failure finds here what is stored already. */
export interface StoredCounts {
  storedDocuments: number
  skippedRows: number
  chunks: number
  readRows: number
  /** Rows that were skipped because they, or their batch, could not be stored. */
  failedRows?: number
}

/** An insert while it works, and afterwards. */
export interface NotedInsert {
  /** Grow meanwhile. */
  readonly counts: StoredCounts
  /** Of the job that does it; null, or unset: somebody waits for it. It may become one. */
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

/** The last insert into each knowledge base. Noting one costs a microsecond. */
export class InsertLog {
  readonly #now: () => number
  readonly #entries = new LruMap<number, Entry>({ sizeMax: ENTRIES_MAX })
  #runningCount = 0
  #version = 0

  /** @param now milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Grows with every change: while one is at work, with every look. */
  get version(): number {
    if (this.#runningCount > 0) this.#version += 1
    return this.#version
  }

  /** Notes an insert while it works. */
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

/** While it works, and after a failure, not all rows that were read are stored. */
function processedRowsOf({ noted: { counts }, finishedMs, error }: Entry): number {
  if (finishedMs === null || error !== null) return counts.storedDocuments
  return counts.readRows - counts.skippedRows - (counts.failedRows ?? 0)
}
