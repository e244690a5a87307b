import type { TableIds } from '../domain/chunk-tables.ts'
import type { KeywordHit, KeywordSearch } from '../domain/keyword-search.ts'
import type { NearestChunk, NearestFound, NearestSearch } from '../domain/ports.ts'
import type { ColumnReader, CommittedWrite } from '../domain/retrieval-ports.ts'
import { type Among, KeywordRetriever } from './keyword-retriever.ts'
import { Prefilter, type PrefilterSelect } from './prefilter.ts'
import type { VectorCache } from './vector-cache.ts'
import type { ExactIndex } from './vectors/exact-index.ts'
import { float32Margin, topKWithMargin } from './vectors/top-k-with-margin.ts'

/** What is nearly as near as the last may be nearer in DuckDB's arithmetic. */
const ASKED_MORE = 4

/** A copy as a transaction sees its table that begins while it is current. */
export interface CacheState {
  readonly copy: VectorCache
  readonly index: ExactIndex
  readonly revision: number
  isCurrent(): boolean
}

interface PrefilteredAmong extends Among {
  readonly select: PrefilterSelect
}

interface AmongSearch extends NearestSearch {
  /** null: all chunks. */
  readonly among: PrefilteredAmong | null
}

/** Searches in the copies of the vectors, and for the words beside them. */
export class Retriever {
  readonly #prefilter: Prefilter
  readonly #words: KeywordRetriever

  constructor(reader: ColumnReader) {
    this.#prefilter = new Prefilter(reader)
    this.#words = new KeywordRetriever(reader, this.#prefilter)
  }

  /** A write was committed. */
  written({ id }: Pick<TableIds, 'id'>, { revision, changed }: CommittedWrite): void {
    const removedKeys = changed === null ? null : (changed.removedKeys ?? new BigInt64Array())
    this.#words.written({ id }, revision, removedKeys)
  }

  /**
   * @returns null where more chunks than can be given are equally near, or there are too many with the words
   * @throws AppError as `NearestChunks.nearest` does
   */
  async found(
    at: CacheState,
    search: NearestSearch,
    signal: AbortSignal,
  ): Promise<NearestFound | null> {
    const { words } = search
    const among = await this.#among(at, search, signal)
    if (words !== undefined) return this.#hybrid(at, { ...search, words, among }, signal)
    const neighbours = await this.#near(at, { ...search, among }, signal)
    return neighbours && { neighbours, isCurrent: at.isCurrent }
  }

  async #hybrid(
    at: CacheState,
    search: AmongSearch & { readonly words: KeywordSearch },
    signal: AbortSignal,
  ): Promise<NearestFound | null> {
    const { queryVector, words } = search
    const finding = this.#words.best({ ...at, ...search }, signal)
    const measuring = async () => {
      // Only where words may be enough do the vectors wait for them.
      const isEnough = words.enoughCount !== null && areEnough(await finding, words)
      return isEnough ? [] : this.#near(at, search, signal)
    }
    const [best, neighbours] = await Promise.all([finding, measuring()])
    if (best === null || neighbours === null) return null
    const measured = async (keys: readonly bigint[], of: AbortSignal) => {
      try {
        return await at.copy.measuredOf(keys, queryVector, of)
      } catch (error) {
        of.throwIfAborted()
        // A copy that is let go meanwhile is not a failure of the search.
        if (at.isCurrent()) throw error
        return []
      }
    }
    return { neighbours, words: { best, measured }, isCurrent: at.isCurrent }
  }

  /** The chunks that the conditions keep; null: there are no conditions. */
  async #among(
    at: CacheState,
    { kept, limits }: NearestSearch,
    signal: AbortSignal,
  ): Promise<PrefilteredAmong | null> {
    if (kept === null) return null
    const select = { ...at, kept, limits }
    return {
      select,
      keys: await this.#prefilter.few(select, at.index.count, signal),
      keptOf: (keys) => this.#prefilter.keptOf(keys, select, signal),
    }
  }

  /** With all that DuckDB, which rounds otherwise, could find nearer than the last of them. */
  async #near(
    { copy, index }: CacheState,
    search: AmongSearch,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[] | null> {
    const { queryVector, count: k, among } = search
    const nearest = { queryVector, k, margin: float32Margin(queryVector.length) }
    const asked = async () => {
      const found = await copy.asked?.search({ queryVector, k: k + ASKED_MORE }, signal)
      return found ?? topKWithMargin(index, nearest, signal)
    }
    const near =
      among === null
        ? await asked()
        : await this.#prefilter.nearest({ ...among.select, index, ...nearest }, among.keys, signal)
    return near && copy.measured(queryVector, near, signal)
  }
}

/** Whether so many are better than what adds nothing to a relevance; null: there is no use in more. */
function areEnough(best: readonly KeywordHit[] | null, words: KeywordSearch): boolean {
  if (best === null) return true
  const least = best.length < words.count ? 0 : (best.at(-1)?.score ?? 0)
  const { enoughCount } = words
  return enoughCount === 0 || (best[(enoughCount ?? 0) - 1]?.score ?? 0) > least
}
