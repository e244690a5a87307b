/**
 * Decides when to merge a knowledge base's recent postings into the sorted ones. Merging rewrites
 * all postings, so during a series of inserts it waits until there are many more than usual.
 */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'

const PAUSE_MS = 5_000

/** Sort even during inserts: searches read all, at four milliseconds per million. */
const RECENT_AT_ONCE = 1_000_000

/** During inserts, the recent postings are to be a quarter of what is sorted. */
const AT_ONCE_FACTOR = 2

/** Cache the counts of recent postings for this many knowledge bases. */
const COUNTS_MAX = 10_000

/** The number of recent postings, and the number from which sorting them all is worthwhile. */
export interface RecentPostings {
  readonly count: number
  readonly countMax: number
}

export class PostingSorter {
  readonly #sort: (kb: KnowledgeBase) => Promise<unknown>
  readonly #after: (pauseMs: number, work: () => void) => () => void
  /** By knowledge base id, like all maps here. A count may be higher than the actual number. */
  readonly #counts = new LruMap<number, RecentPostings>({ sizeMax: COUNTS_MAX })
  readonly #sorting = new Set<number>()
  /** Functions that cancel the wait. */
  readonly #waits = new Map<number, () => void>()
  #isClosed = false

  constructor(given: {
    /** Sorts a knowledge base's postings if there are still enough of them. */
    readonly sort: (kb: KnowledgeBase) => Promise<unknown>
    /** Calls `work` after the pause, unless the returned function is called first. */
    readonly after?: (pauseMs: number, work: () => void) => () => void
  }) {
    const { sort, after = afterTimeout } = given
    this.#sort = sort
    this.#after = after
  }

  /** Call within a write. @param counted returns the exact number, used if it is not cached */
  async count(id: number, added: number, counted: () => Promise<RecentPostings>): Promise<void> {
    const known = this.#counts.get(id)
    this.#counts.set(
      id,
      known === undefined ? await counted() : { ...known, count: known.count + added },
    )
  }

  /** Call after the commit. Sorting runs in the background. */
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

  /** Recent postings may stay unsorted, because searches read them too. */
  close(): void {
    this.#isClosed = true
    for (const end of this.#waits.values()) end()
    this.#waits.clear()
  }

  #run(kb: KnowledgeBase): void {
    this.#waits.delete(kb.id)
    this.#sorting.add(kb.id)
    // If sorting fails, searches only take longer, and the next insert tries again.
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

/** Sorted by term they compress to a ninth. Other tables are uncompressed for speed. */

const TERM = 'term BIGINT'
const PACKED_COLUMNS = ['chunk_key BIGINT', 'frequency INTEGER', 'term_count INTEGER'].map(packed)

export const POSTING_COLUMNS = [`${TERM} USING COMPRESSION rle`, ...PACKED_COLUMNS].join(', ')

/** Recent postings are not sorted by term. */
export const RECENT_POSTING_COLUMNS = [TERM, ...PACKED_COLUMNS].join(', ')

export const TERM_COUNT_COLUMNS = ['chunk_key BIGINT', 'term_count INTEGER'].map(packed).join(', ')

const BY_TABLE: readonly (readonly [name: RegExp, columns: string])[] = [
  [/^kb_\d+_(next_)?postings$/, POSTING_COLUMNS],
  [/^kb_\d+_(next_)?recent_postings$/, RECENT_POSTING_COLUMNS],
  [/^kb_\d+_(next_)?term_counts$/, TERM_COUNT_COLUMNS],
]

/**
 * Returns the columns and constraints of a table to rebuild. DuckDB 1.5.5 does not show their
 * compression, so it is added here.
 * @param createSql the CREATE statement as DuckDB prints it. The first parenthesis starts the
 * definition, because table names have none
 */
export function definition(table: string, createSql: string): string {
  const known = BY_TABLE.find(([name]) => name.test(table))
  return known === undefined ? createSql.slice(createSql.indexOf('(')) : `(${known[1]})`
}

function packed(column: string): string {
  return `${column} USING COMPRESSION bitpacking`
}
