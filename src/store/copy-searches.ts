import type { TableIds } from '../domain/chunk-tables.ts'
import type { NearestChunk, NearestFound, NearestSearch } from '../domain/ports.ts'
import type { WordedChunk, WordSearch } from '../domain/word-search.ts'
import { float32Margin, nearestWithin } from '../search/vector/nearest-within.ts'
import type { VectorIndex } from '../search/vector/vector-index.ts'
import type { StoredEngine } from './engine.ts'
import { KeptKeys, type KeptSelect } from './kept-keys.ts'
import type { CommittedWrite, VectorCopy } from './vector-copy.ts'
import { type Among, WordedChunks } from './worded-chunks.ts'

/** What is nearly as near as the last may be nearer in DuckDB's arithmetic. */
const ASKED_MORE = 4

/** A copy as a transaction sees its table that begins while it is current. */
export interface CopyState {
  readonly copy: VectorCopy
  readonly index: VectorIndex
  readonly revision: number
  isCurrent(): boolean
}

interface KeptAmong extends Among {
  readonly select: KeptSelect
}

interface AmongSearch extends NearestSearch {
  /** null: all chunks. */
  readonly among: KeptAmong | null
}

/** Searches in the copies of the vectors, and for the words beside them. */
export class CopySearches {
  readonly #keptKeys: KeptKeys
  readonly #words: WordedChunks

  constructor(engine: StoredEngine) {
    this.#keptKeys = new KeptKeys(engine)
    this.#words = new WordedChunks(engine, this.#keptKeys)
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
    at: CopyState,
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
    at: CopyState,
    search: AmongSearch & { readonly words: WordSearch },
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
    at: CopyState,
    { kept, limits }: NearestSearch,
    signal: AbortSignal,
  ): Promise<KeptAmong | null> {
    if (kept === null) return null
    const select = { ...at, kept, limits }
    return {
      select,
      keys: await this.#keptKeys.few(select, at.index.count, signal),
      keptOf: (keys) => this.#keptKeys.keptOf(keys, select, signal),
    }
  }

  /** With all that DuckDB, which rounds otherwise, could find nearer than the last of them. */
  async #near(
    { copy, index }: CopyState,
    search: AmongSearch,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[] | null> {
    const { queryVector, count: k, among } = search
    const nearest = { queryVector, k, margin: float32Margin(queryVector.length) }
    const asked = async () => {
      const found = await copy.asked?.search({ queryVector, k: k + ASKED_MORE }, signal)
      return found ?? nearestWithin(index, nearest, signal)
    }
    const near =
      among === null
        ? await asked()
        : await this.#keptKeys.nearest({ ...among.select, index, ...nearest }, among.keys, signal)
    return near && copy.measured(queryVector, near, signal)
  }
}

/** Whether so many are better than what adds nothing to a relevance; null: there is no use in more. */
function areEnough(best: readonly WordedChunk[] | null, words: WordSearch): boolean {
  if (best === null) return true
  const least = best.length < words.count ? 0 : (best.at(-1)?.score ?? 0)
  const { enoughCount } = words
  return enoughCount === 0 || (best[(enoughCount ?? 0) - 1]?.score ?? 0) > least
}
