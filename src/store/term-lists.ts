import { chunkTables, type TableIds } from '../domain/chunk-tables.ts'
import type { BoundSql, RunLimits } from '../domain/ports.ts'
import type { Corpus, TermList } from '../search/keyword/best-worded.ts'
import type { StoredEngine } from './engine.ts'
import { TermListBuilder } from './term-list-builder.ts'

/** Of all lists together. */
const BYTES_MAX = 64 * 1024 ** 2
/** Of the lists of one search: adding up so many scores holds the main thread for some 20 ms. */
const POSTINGS_MAX = 4_000_000
/** Sorted postings are looked up term by term: DuckDB then reads the blocks of that term alone, in half the time. */
const SINGLE_TERMS_MAX = 8
/** A list takes its eight bytes for each posting, and about so many around them. */
const LIST_BYTES = 400
const CORPORA_MAX = 1_000

/** The terms of one search, of one state of its knowledge base. */
export interface TermsSearch {
  readonly ids: TableIds
  readonly terms: readonly bigint[]
  readonly revision: number
  readonly limits: RunLimits
  /** Whether a transaction that begins now still sees that revision. */
  isCurrent(): boolean
}

export interface FoundTerms {
  /** Of the terms that a chunk holds. */
  readonly lists: readonly TermList[]
  readonly corpus: Corpus
}

interface KnownList {
  readonly revision: number
  /** null: it is too long, or has numbers that a list has no room for. */
  readonly list: TermList | null
}

interface KnownCorpus {
  readonly revision: number
  readonly corpus: Corpus
}

/**
 * The postings of the terms that were searched last, as the tables of their knowledge bases have them.
 * A list is good until its knowledge base is written to.
 */
export class TermLists {
  readonly #engine: StoredEngine
  readonly #bytesMax: number
  readonly #lists = new Map<string, KnownList>()
  readonly #corpora = new Map<number, KnownCorpus>()
  #bytes = 0

  constructor(engine: StoredEngine, bytesMax = BYTES_MAX) {
    this.#engine = engine
    this.#bytesMax = bytesMax
  }

  /** Of all lists that are held. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * @returns null when they are too many postings for this
   * @throws AppError as `SqlEngine.run` does
   */
  async of(search: TermsSearch, signal: AbortSignal): Promise<FoundTerms | null> {
    const known = new Map(search.terms.map((term) => [term, this.#get(search, term)]))
    const missing = search.terms.filter((term) => known.get(term) === undefined)
    const [corpus, loaded] = await Promise.all([
      this.#corpus(search, signal),
      missing.length === 0 ? null : this.#loaded(search, missing, signal),
    ])
    const lists: TermList[] = []
    let count = 0
    for (const term of search.terms) {
      const list = known.get(term)?.list ?? loaded?.get(term) ?? null
      if (list === null) return null
      count += list.keys.length
      if (list.keys.length > 0) lists.push(list)
    }
    return count > POSTINGS_MAX ? null : { lists, corpus }
  }

  #get({ ids, revision }: TermsSearch, term: bigint): KnownList | undefined {
    const name = nameOf(ids, term)
    const known = this.#lists.get(name)
    if (known === undefined) return undefined
    this.#remove(name, known)
    if (known.revision !== revision) return undefined
    this.#add(name, known)
    return known
  }

  async #loaded(search: TermsSearch, terms: readonly bigint[], signal: AbortSignal) {
    const { ids, limits, revision } = search
    const builder = new TermListBuilder(terms, POSTINGS_MAX)
    for await (const chunk of this.#engine.chunks(postingsOf(ids, terms), limits, signal)) {
      if (!builder.add(chunk)) break
    }
    const lists = builder.lists()
    if (search.isCurrent()) {
      for (const [term, list] of lists) this.#set(nameOf(ids, term), { revision, list })
    }
    return lists
  }

  #set(name: string, list: KnownList): void {
    if (sizeOf(list) > this.#bytesMax) return
    const known = this.#lists.get(name)
    if (known !== undefined) this.#remove(name, known)
    this.#add(name, list)
    for (const [oldest, old] of this.#lists) {
      if (this.#bytes <= this.#bytesMax) break
      this.#remove(oldest, old)
    }
  }

  #add(name: string, list: KnownList): void {
    this.#lists.set(name, list)
    this.#bytes += sizeOf(list)
  }

  #remove(name: string, list: KnownList): void {
    this.#lists.delete(name)
    this.#bytes -= sizeOf(list)
  }

  async #corpus(search: TermsSearch, signal: AbortSignal): Promise<Corpus> {
    const { ids, limits, revision } = search
    const known = this.#corpora.get(ids.id)
    if (known?.revision === revision) return known.corpus
    const sql = `SELECT count(*)::DOUBLE, coalesce(sum(term_count) / count(*), 0)::DOUBLE
      FROM ${chunkTables(ids).termCounts}`
    let corpus: Corpus = { chunkCount: 0, meanTermCount: 0 }
    for await (const chunk of this.#engine.chunks({ sql, values: {} }, limits, signal)) {
      const [chunkCount, meanTermCount] = chunk.getRowValues(0)
      corpus = { chunkCount: Number(chunkCount), meanTermCount: Number(meanTermCount) }
    }
    if (search.isCurrent()) this.#keepCorpus(ids.id, { revision, corpus })
    return corpus
  }

  #keepCorpus(id: number, known: KnownCorpus): void {
    this.#corpora.delete(id)
    this.#corpora.set(id, known)
    const [oldest] = this.#corpora.keys()
    if (this.#corpora.size > CORPORA_MAX && oldest !== undefined) this.#corpora.delete(oldest)
  }
}

/** A SELECT of `term, chunk_key, frequency, term_count`. */
function postingsOf(ids: TableIds, terms: readonly bigint[]): BoundSql {
  const { postings, recentPostings } = chunkTables(ids)
  const columns = 'term, chunk_key, frequency, term_count'
  const rows = (table: string, condition: string) => {
    return `SELECT ${columns} FROM ${table} WHERE term ${condition}`
  }
  const isOne = 'IN (SELECT unnest($terms::BIGINT[]))'
  if (terms.length > SINGLE_TERMS_MAX) {
    const sql = `${rows(postings, isOne)} UNION ALL ${rows(recentPostings, isOne)}`
    return { sql, values: { terms } }
  }
  const names = terms.map((_, index) => `term_${index}`)
  const parts = names.map((name) => rows(postings, `= $${name}::BIGINT`))
  const values = Object.fromEntries(names.map((name, index) => [name, terms[index] ?? 0n]))
  const sql = [...parts, rows(recentPostings, isOne)].join(' UNION ALL ')
  return { sql, values: { ...values, terms } }
}

function nameOf({ id }: TableIds, term: bigint): string {
  return `${id} ${term}`
}

function sizeOf({ list }: KnownList): number {
  return LIST_BYTES + 8 * (list?.keys.length ?? 0)
}
