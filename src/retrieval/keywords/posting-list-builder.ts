import { chunkTables, type TableIds } from '../../core/domain/document.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type { ColumnBatch } from '../../core/domain/ports/retrieval-ports.ts'
import type { Corpus, PostingList } from './term-scorer.ts'

const NUMBER_MAX = 0xffff

export interface PartialList {
  /** Contains chunks with keys below `since`; null if there is no list yet. */
  readonly list: PostingList | null
  /** The first key to read. */
  readonly since: number
}

/** Totals over all chunks of a knowledge base, at one revision. */
export interface CorpusState {
  readonly revision: number
  /** The key that the next chunk will get. */
  readonly nextKey: number
  readonly corpus: Corpus
}

/** Builds the lists of terms from the rows of `postingsSql`, which may come in any order. */
export class PostingListBuilder {
  readonly #growing: ReadonlyMap<bigint, GrowingList>
  readonly #postingsMax: number
  readonly #state = new Map<number, number>()
  #count = 0

  constructor(partial: ReadonlyMap<bigint, PartialList>, postingsMax: number) {
    this.#growing = new Map([...partial].map(([term, part]) => [term, new GrowingList(part)]))
    this.#postingsMax = postingsMax
  }

  /** @returns false if there are too many postings, and nothing is complete */
  add(batch: ColumnBatch): boolean {
    this.#count += batch.rowCount
    if (this.#count > this.#postingsMax) return false
    const terms = batch.keys(0)
    const rows = { keys: batch.keys(1), frequencies: batch.ints(2), termCounts: batch.ints(3) }
    const halves = new Int32Array(terms.buffer, terms.byteOffset, terms.length * 2)
    for (let start = 0; start < terms.length; ) {
      let end = start + 1
      if (rows.frequencies[start] === 0) {
        this.#state.set(rows.termCounts[start] ?? 0, Number(rows.keys[start] ?? 0n))
      } else {
        while (end < terms.length && isSameKey(halves, start, end) && rows.frequencies[end] !== 0) {
          end += 1
        }
        this.#growing.get(terms[start] ?? 0n)?.add(rows, start, end)
      }
      start = end
    }
    return true
  }

  state(): CorpusState {
    const part = (number: number) => this.#state.get(number) ?? 0
    const [revision, nextKey, chunkCount] = [part(0), part(1), part(2)]
    const meanTermCount = chunkCount === 0 ? 0 : part(3) / chunkCount
    return { revision, nextKey, corpus: { chunkCount, meanTermCount } }
  }

  /** The list is null for a term with numbers too large for it. */
  lists(): ReadonlyMap<bigint, PostingList | null> {
    return new Map([...this.#growing].map(([term, list]) => [term, list.list()]))
  }
}

/** Returns the list without the chunks that have these ascending keys. */
export function withoutKeys(list: PostingList, keys: Uint32Array): PostingList {
  const { keys: all, frequencies, termCounts } = list
  const places: number[] = []
  let at = 0
  let isChanged = false
  if (keys.length === 0) return list
  for (const [index, key] of all.entries()) {
    while (at < keys.length && (keys[at] ?? 0) < key) at += 1
    if (at < keys.length && keys[at] === key) isChanged = true
    else places.push(index)
  }
  return isChanged ? picked({ keys: all, frequencies, termCounts }, places) : list
}

/** Compares two 64-bit keys without creating a JavaScript value for either. */
function isSameKey(halves: Int32Array, one: number, other: number): boolean {
  return halves[2 * one] === halves[2 * other] && halves[2 * one + 1] === halves[2 * other + 1]
}

/** A list that is copied only when the first posting is added. */
class GrowingList {
  readonly #base: PostingList | null
  readonly #since: number
  #keys = new Uint32Array(0)
  #frequencies = new Uint16Array(0)
  #termCounts = new Uint16Array(0)
  #size = 0
  #fits = true
  #isSorted = true

  constructor({ list, since }: PartialList) {
    this.#base = list
    this.#since = since
  }

  add(
    rows: {
      readonly keys: BigInt64Array
      readonly frequencies: Int32Array
      readonly termCounts: Int32Array
    },
    start: number,
    end: number,
  ): void {
    if (this.#size === 0 && this.#base !== null) this.#begin(this.#base, end - start)
    this.#reserve(this.#size + end - start)
    // The lower and upper half of each key. All platforms of DuckDB are little-endian.
    const halves = new Uint32Array(rows.keys.buffer, rows.keys.byteOffset, rows.keys.length * 2)
    let last = this.#size === 0 ? -1 : (this.#keys[this.#size - 1] ?? 0)
    for (let row = start; row < end; row += 1) {
      const key = halves[2 * row] ?? 0
      // Recent postings are read from the smallest key that any of the terms needs.
      if (key < this.#since && halves[2 * row + 1] === 0) continue
      const frequency = rows.frequencies[row] ?? 0
      const termCount = rows.termCounts[row] ?? 0
      if (halves[2 * row + 1] !== 0 || frequency > NUMBER_MAX || termCount > NUMBER_MAX) {
        this.#fits = false
      }
      if (key <= last) this.#isSorted = false
      last = key
      this.#keys[this.#size] = key
      this.#frequencies[this.#size] = frequency
      this.#termCounts[this.#size] = termCount
      this.#size += 1
    }
  }

  list(): PostingList | null {
    if (!this.#fits) return null
    if (this.#size === 0 && this.#base !== null) return this.#base
    const list = {
      keys: this.#keys.slice(0, this.#size),
      frequencies: this.#frequencies.slice(0, this.#size),
      termCounts: this.#termCounts.slice(0, this.#size),
    }
    return this.#isSorted ? list : sorted(list)
  }

  #begin({ keys, frequencies, termCounts }: PostingList, more: number): void {
    this.#reserve(keys.length + more)
    this.#keys.set(keys)
    this.#frequencies.set(frequencies)
    this.#termCounts.set(termCounts)
    this.#size = keys.length
  }

  #reserve(size: number): void {
    if (size <= this.#keys.length) return
    const capacity = Math.max(16, size, this.#keys.length * 2)
    this.#keys = grown(this.#keys, new Uint32Array(capacity))
    this.#frequencies = grown(this.#frequencies, new Uint16Array(capacity))
    this.#termCounts = grown(this.#termCounts, new Uint16Array(capacity))
  }
}

function grown<T extends Uint32Array | Uint16Array>(from: T, to: T): T {
  to.set(from)
  return to
}

function sorted(list: PostingList): PostingList {
  const { keys } = list
  return picked(
    list,
    Array.from(keys.keys()).sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0)),
  )
}

/** Returns the postings at these positions, in this order. */
function picked(
  { keys, frequencies, termCounts }: PostingList,
  places: readonly number[],
): PostingList {
  return {
    keys: Uint32Array.from(places, (index) => keys[index] ?? 0),
    frequencies: Uint16Array.from(places, (index) => frequencies[index] ?? 0),
    termCounts: Uint16Array.from(places, (index) => termCounts[index] ?? 0),
  }
}

/** Looked up one by one in sorted postings, DuckDB reads only their blocks, in half the time. */
const SINGLE_TERMS_MAX = 16

/**
 * Returns a SELECT of `term, chunk_key, frequency, term_count`, plus four rows with frequency 0
 * that describe the state. Their `term_count` says what `chunk_key` means: 0 the revision, 1 the
 * next chunk's key, 2 the number of chunks, 3 the number of their terms. Unneeded recent postings
 * may be included.
 * @param known counts of the requested revision; of the four rows, only the first is then selected
 */
export function postingsSql(
  ids: TableIds,
  wanted: readonly { readonly term: bigint; readonly since: number }[],
  known: CorpusState | null,
): BoundSql {
  const { postings, recentPostings } = chunkTables(ids)
  const state = known === null ? stateSql(ids) : revisionSql(ids)
  if (wanted.length === 0) return { sql: state, values: {}, isShort: true }
  const terms = wanted.map(({ term }) => term)
  if (wanted.length > SINGLE_TERMS_MAX) {
    const listed = `(SELECT unnest($terms::BIGINT[]) AS term, unnest($sinces::BIGINT[]) AS since)`
    const joined = [postings, recentPostings].map((table) => {
      return `SELECT ${POSTING_COLUMNS} FROM (SELECT * FROM ${table} WHERE term IN ($terms))
        JOIN ${listed} USING (term) WHERE chunk_key >= since`
    })
    const sinces = wanted.map(({ since }) => BigInt(since))
    return { sql: [state, ...joined].join(' UNION ALL '), values: { terms, sinces } }
  }
  const least = Math.min(...wanted.map(({ since }) => since))
  const values: Record<string, bigint> = { least: BigInt(least) }
  const sorted = wanted.map(({ term, since }, index) => {
    values[`term_${index}`] = term
    values[`since_${index}`] = BigInt(since)
    return `SELECT ${POSTING_COLUMNS} FROM ${postings}
      WHERE term = $term_${index}::BIGINT AND chunk_key >= $since_${index}::BIGINT`
  })
  const names = terms.map((_, index) => `$term_${index}::BIGINT`)
  const recent = `SELECT ${POSTING_COLUMNS} FROM ${recentPostings}
    WHERE term IN (${names.join(', ')}) AND chunk_key >= $least::BIGINT`
  const isShort = known !== null && known.corpus.chunkCount * wanted.length <= SHORT_POSTINGS_MAX
  return { sql: [state, ...sorted, recent].join(' UNION ALL '), values, isShort }
}

/** Up to this many are fetched in one step, in half the time, at 28 bytes each. */
const SHORT_POSTINGS_MAX = 1_000_000

const POSTING_COLUMNS = 'term, chunk_key, frequency, term_count'

function revisionSql({ id }: TableIds): string {
  return `SELECT 0::BIGINT AS term, revision AS chunk_key, 0::INTEGER AS frequency,
    0::INTEGER AS term_count FROM eider.knowledge_bases WHERE id = ${id}`
}

function stateSql(ids: TableIds): string {
  const { termCounts } = chunkTables(ids)
  return `SELECT 0::BIGINT AS term,
      unnest([revision, next_chunk_key, chunks, terms])::BIGINT AS chunk_key,
      0::INTEGER AS frequency, unnest([0, 1, 2, 3])::INTEGER AS term_count
    FROM eider.knowledge_bases,
      (SELECT count(*) AS chunks, coalesce(sum(term_count), 0)::BIGINT AS terms FROM ${termCounts})
    WHERE id = ${ids.id}`
}
