import type { TableIds } from '../../core/domain/document.ts'
import type { RunLimits } from '../../core/domain/ports/engine-ports.ts'
import type { ColumnReader } from '../../core/domain/ports/retrieval-ports.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { SingleFlight, SLICE_MS, TimeSlice } from '../../core/runtime/serial-queue.ts'
import { ascendingKeys } from './keyword-hits.ts'
import {
  type CorpusState,
  type PartialList,
  PostingListBuilder,
  postingsSql,
  withoutKeys,
} from './posting-list-builder.ts'
import type { Corpus, PostingList } from './term-scorer.ts'

interface PostingListLimits {
  readonly bytesMax: number
  /** The limit per search. Adding up this many scores blocks the main thread for 20 ms. */
  readonly postingsMax: number
}

const LIST_CACHE_LIMITS: PostingListLimits = { bytesMax: 64 * 1024 ** 2, postingsMax: 4_000_000 }

/** The approximate size of a list apart from eight bytes per posting. */
const LIST_BYTES = 400
const CORPORA_MAX = 1_000
const REFUSED_MAX = 1_000

/** The terms of one search, in one state of its knowledge base. */
interface TermsSearch {
  readonly ids: TableIds
  readonly terms: readonly bigint[]
  readonly revision: number
  readonly limits: RunLimits
  /** Whether a new transaction still sees that revision. */
  isCurrent(): boolean
}

interface TermPostings {
  /** One list per term; empty if no chunk has the term. */
  readonly lists: readonly PostingList[]
  readonly corpus: Corpus
}

interface KnownList {
  readonly revision: number
  /** The key that the next chunk will get after that revision. */
  readonly nextKey: number
  /** Null if the list is too long, or has numbers too large for it. */
  readonly list: PostingList | null
}

/** After a write, reads only new chunks' postings, whose keys are highest. */
export class PostingLists {
  readonly #reader: ColumnReader
  readonly #limits: PostingListLimits
  readonly #lists: LruMap<string, KnownList>
  readonly #corpora = new Map<number, CorpusState>()
  readonly #tombstones = new Tombstones()
  /** Searches with too many postings, which are not tried again. */
  readonly #refused = new LruMap<string, true>({ sizeMax: REFUSED_MAX })
  readonly #reading = new SingleFlight()

  constructor(reader: ColumnReader, limits: PostingListLimits = LIST_CACHE_LIMITS) {
    this.#reader = reader
    this.#limits = limits
    this.#lists = new LruMap({
      sizeMax: limits.bytesMax,
      sizeOf: ({ list }) => LIST_BYTES + 8 * (list?.keys.length ?? 0),
    })
  }

  /** The bytes of all lists in memory. */
  get bytes(): number {
    return this.#lists.size
  }

  /** Call after a write was committed. @param removedKeys null if unknown */
  committed(
    { id }: Pick<TableIds, 'id'>,
    revision: number,
    removedKeys: BigInt64Array | null,
  ): void {
    const hasLists = this.#corpora.has(id)
    this.#tombstones.note(id, revision, hasLists ? removedKeys : null)
  }

  /** @returns null if there are too many postings @throws AppError like `SqlEngine.run` */
  async postingsOf(search: TermsSearch, signal: AbortSignal): Promise<TermPostings | null> {
    // Concurrent identical searches share one read.
    const running = this.#reading.of(nameOfSearch(search))
    if (running !== undefined) await abortable(running, signal)
    const { ids, revision, terms } = search
    if (this.#refused.get(nameOfSearch(search)) !== undefined) return null
    const lists = new Map<bigint, PostingList | null>()
    const partial = new Map<bigint, PartialList>()
    for (const term of terms) {
      const known = this.#lists.get(listName(ids, term))
      if (known?.revision === revision) lists.set(term, known.list)
      else partial.set(term, this.#partOf(known, search))
    }
    let state = this.#corpora.get(ids.id)
    if (partial.size > 0 || state?.revision !== revision) {
      const loaded = await this.#reading.run(nameOfSearch(search), () => {
        return this.#loaded(search, partial, signal)
      })
      if (loaded === null) {
        this.#refused.set(nameOfSearch(search), true)
        return null
      }
      state = loaded.state
      for (const [term, list] of loaded.lists) lists.set(term, list)
      // If the requested revision is past, the caller tries again; otherwise the search is left to
      // the database.
      if (state.revision !== revision && search.isCurrent()) return null
    }
    const all = terms.map((term) => lists.get(term) ?? null)
    return joinedPostings(all, state.corpus, this.#limits.postingsMax)
  }

  /** Returns the part of an earlier revision's list that can be used. */
  #partOf(known: KnownList | undefined, { ids, revision }: TermsSearch): PartialList {
    const list = known?.list ?? null
    if (known === undefined || list === null) return { list: null, since: 0 }
    const removed = this.#tombstones.between(ids.id, known.revision, revision)
    if (removed === null) return { list: null, since: 0 }
    return { list: withoutKeys(list, removed), since: known.nextKey }
  }

  async #loaded(
    search: TermsSearch,
    partial: ReadonlyMap<bigint, PartialList>,
    signal: AbortSignal,
  ) {
    const { ids, revision } = search
    const corpus = this.#corpora.get(ids.id)
    const known = corpus?.revision === revision ? corpus : null
    const builder = await this.#built(search, partial, { known, signal })
    if (known !== null && builder?.state().revision === known.revision) {
      return this.#keep(search, partial, { state: known, lists: builder.lists() })
    }
    // The count is outdated, because a write was committed in the meantime.
    const own =
      known === null || builder === null
        ? builder
        : await this.#built(search, partial, { known: null, signal })
    if (own === null) return null
    return this.#keep(search, partial, { state: own.state(), lists: own.lists() })
  }

  /** Null if there are too many. @param known counts that need not be read again */
  async #built(
    { ids, limits }: TermsSearch,
    partial: ReadonlyMap<bigint, PartialList>,
    { known, signal }: { readonly known: CorpusState | null; readonly signal: AbortSignal },
  ): Promise<PostingListBuilder | null> {
    const builder = new PostingListBuilder(partial, this.#limits.postingsMax)
    const wanted = [...partial].map(([term, { since }]) => ({ term, since }))
    const slice = new TimeSlice(SLICE_MS)
    const select = postingsSql(ids, wanted, known)
    for await (const batch of this.#reader.columns(select, limits, signal)) {
      if (!builder.add(batch)) return null
      await slice.yieldIfSpent(signal)
    }
    return builder
  }

  #keep<
    T extends {
      readonly state: CorpusState
      readonly lists: ReadonlyMap<bigint, PostingList | null>
    },
  >({ ids, revision }: TermsSearch, partial: ReadonlyMap<bigint, PartialList>, loaded: T): T {
    const { state, lists } = loaded
    this.#keepState(ids.id, state)
    const { nextKey } = state
    for (const [term, list] of lists) {
      // A list extended to the requested revision still contains chunks that later writes removed.
      const isWhole = state.revision === revision || partial.get(term)?.list === null
      if (isWhole) this.#set(listName(ids, term), { revision: state.revision, nextKey, list })
    }
    return loaded
  }

  #set(name: string, list: KnownList): void {
    const known = this.#lists.get(name)
    if (known === undefined || known.revision <= list.revision) this.#lists.set(name, list)
  }

  #keepState(id: number, state: CorpusState): void {
    const known = this.#corpora.get(id)
    if (known !== undefined && known.revision > state.revision) return
    this.#corpora.delete(id)
    this.#corpora.set(id, state)
    const [oldest] = this.#corpora.keys()
    if (this.#corpora.size <= CORPORA_MAX || oldest === undefined) return
    this.#corpora.delete(oldest)
    this.#tombstones.forget(oldest)
  }
}

function joinedPostings(
  all: readonly (PostingList | null)[],
  corpus: Corpus,
  postingsMax: number,
): TermPostings | null {
  const lists: PostingList[] = []
  let count = 0
  for (const list of all) {
    if (list === null) return null
    count += list.keys.length
    lists.push(list)
  }
  return count > postingsMax ? null : { lists, corpus }
}

function nameOfSearch({ ids, terms, revision }: TermsSearch): string {
  return `${ids.id} ${revision} ${terms.join(' ')}`
}

function listName({ id }: TableIds, term: bigint): string {
  return `${id} ${term}`
}

/** The most removed keys to remember per knowledge base. */
const KEYS_MAX = 100_000
const WRITES_MAX = 1_000

interface Removal {
  readonly revision: number
  readonly keys: BigInt64Array
}

/** For older lists. If one revision's removals are unknown, earlier ones are forgotten. */
export class Tombstones {
  readonly #removals = new Map<number, Removal[]>()

  /** @param keys null if unknown */
  note(id: number, revision: number, keys: BigInt64Array | null): void {
    const known = this.#removals.get(id) ?? []
    const isNext = known.length === 0 || known.at(-1)?.revision === revision - 1
    if (keys === null || !isNext) this.#removals.delete(id)
    if (keys === null) return
    const removals = isNext ? [...known, { revision, keys }] : [{ revision, keys }]
    this.#removals.set(id, recentRemovals(removals))
  }

  /** After `from` up to `to`, ascending. @returns null if the removals of one are unknown */
  between(id: number, from: number, to: number): Uint32Array | null {
    const removals = this.#removals.get(id) ?? []
    const since = removals.filter(({ revision }) => revision > from && revision <= to)
    if (since.length !== to - from) return null
    const keys = since.flatMap((removal) => [...ascendingKeys(removal.keys)])
    return Uint32Array.from(keys).sort()
  }

  forget(id: number): void {
    this.#removals.delete(id)
  }
}

function recentRemovals(removals: Removal[]): Removal[] {
  let count = removals.reduce((sum, { keys }) => sum + keys.length, 0)
  let first = 0
  while (first < removals.length && (count > KEYS_MAX || removals.length - first > WRITES_MAX)) {
    count -= removals[first]?.keys.length ?? 0
    first += 1
  }
  return removals.slice(first)
}
