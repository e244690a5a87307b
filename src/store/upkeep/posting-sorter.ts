/**
 * Decides when the recent postings of a knowledge base are merged into the sorted ones. Merging rewrites all of them: during
 * a series of inserts it waits until there are many more than would make it worthwhile.
 */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'

/** Starts after an insert; each further one restarts it. */
const PAUSE_MS = 5_000

/** More are sorted even during inserts: a search reads them all, some four milliseconds for a million. */
const RECENT_AT_ONCE = 1_000_000

/**
 * Sorting during inserts starts at this multiple of the size that makes it worthwhile: it then covers a quarter of what is
 * sorted.
 */
const AT_ONCE_FACTOR = 2

/** Knowledge bases whose recent postings are counted. */
const COUNTS_MAX = 10_000

/** How many postings are recent, and how many make sorting them all worth its time. */
export interface RecentPostings {
  readonly count: number
  readonly countMax: number
}

export class PostingSorter {
  readonly #sort: (kb: KnowledgeBase) => Promise<unknown>
  readonly #after: (pauseMs: number, work: () => void) => () => void
  /** By knowledge base id, like everything here; the actual number, or more. */
  readonly #counts = new LruMap<number, RecentPostings>({ sizeMax: COUNTS_MAX })
  readonly #sorting = new Set<number>()
  /** End the wait for a pause. */
  readonly #waits = new Map<number, () => void>()
  #isClosed = false

  constructor(given: {
    /** Sorts a knowledge base's postings, if there are still enough. */
    readonly sort: (kb: KnowledgeBase) => Promise<unknown>
    /** Calls back after the pause, unless the returned function is called first. */
    readonly after?: (pauseMs: number, work: () => void) => () => void
  }) {
    const { sort, after = afterTimeout } = given
    this.#sort = sort
    this.#after = after
  }

  /** Within a write. @param counted counts exactly, if the number is unknown */
  async count(id: number, added: number, counted: () => Promise<RecentPostings>): Promise<void> {
    const known = this.#counts.get(id)
    this.#counts.set(
      id,
      known === undefined ? await counted() : { ...known, count: known.count + added },
    )
  }

  /** After the commit: the caller does not wait. */
  wake(kb: KnowledgeBase): void {
    const recent = this.#counts.get(kb.id)
    if (recent === undefined || recent.count <= recent.countMax) return
    if (this.#isClosed || this.#sorting.has(kb.id)) return
    this.#waits.get(kb.id)?.()
    if (recent.count > Math.max(RECENT_AT_ONCE, AT_ONCE_FACTOR * recent.countMax)) this.#run(kb)
    else {
      this.#waits.set(
        kb.id,
        this.#after(PAUSE_MS, () => this.#run(kb)),
      )
    }
  }

  /** Rows unsorted by now stay so: searches read them too. */
  close(): void {
    this.#isClosed = true
    for (const end of this.#waits.values()) end()
    this.#waits.clear()
  }

  #run(kb: KnowledgeBase): void {
    this.#waits.delete(kb.id)
    this.#sorting.add(kb.id)
    // Without it, searches only take longer, and the next insert tries again.
    void this.#sort(kb)
      .catch(() => {})
      .finally(() => {
        this.#sorting.delete(kb.id)
        this.#counts.delete(kb.id)
      })
  }
}

function afterTimeout(pauseMs: number, work: () => void): () => void {
  const timer = setTimeout(work, pauseMs)
  timer.unref()
  return () => clearTimeout(timer)
}

/**
 * How the tables of the keyword index are stored. Sorted by term they shrink to a ninth: a term's rows are one run, their keys
 * ascend, and the rest are small numbers. The database as a whole is stored without compression, for its vectors.
 */

const TERM = 'term BIGINT'
const PACKED_COLUMNS = ['chunk_key BIGINT', 'frequency INTEGER', 'term_count INTEGER'].map(packed)

export const POSTING_COLUMNS = [`${TERM} USING COMPRESSION rle`, ...PACKED_COLUMNS].join(', ')

/** Their terms come in no order. */
export const RECENT_POSTING_COLUMNS = [TERM, ...PACKED_COLUMNS].join(', ')

export const TERM_COUNT_COLUMNS = ['chunk_key BIGINT', 'term_count INTEGER'].map(packed).join(', ')

const BY_TABLE: readonly (readonly [name: RegExp, columns: string])[] = [
  [/^kb_\d+_(next_)?postings$/, POSTING_COLUMNS],
  [/^kb_\d+_(next_)?recent_postings$/, RECENT_POSTING_COLUMNS],
  [/^kb_\d+_(next_)?term_counts$/, TERM_COUNT_COLUMNS],
]

/**
 * Columns and constraints of a table to rebuild. DuckDB 1.5.5 does not show how a column is compressed.
 * @param createSql as DuckDB prints it; the part after the name, which is one of Eider's and has no parenthesis
 */
export function definition(table: string, createSql: string): string {
  const known = BY_TABLE.find(([name]) => name.test(table))
  return known === undefined ? createSql.slice(createSql.indexOf('(')) : `(${known[1]})`
}

function packed(column: string): string {
  return `${column} USING COMPRESSION bitpacking`
}
