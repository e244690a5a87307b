import type { DuckDBConnection } from '@duckdb/node-api'
import { chunkTables } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { learnedLanguage } from '../../core/text/learned-language.ts'
import { type KnowledgeBaseRow, KnownRows } from '../catalog/catalog-queries.ts'
import {
  knowledgeBaseOf,
  type StoredParams,
  sealedParamsOf,
  storedParamsOf,
} from '../catalog/catalog-rows.ts'
import { type StoreParts, withReplaced } from '../catalog/catalog-state.ts'
import { KeywordRebuild, OlderIndexes } from './keyword-rebuild.ts'

/** The language shows in the first chunks, and in this much of each. */
const SAMPLE_CHUNKS = 200
const SAMPLE_CHARS = 4_000
/** If this many words show no language, more will not help. */
const MIXED_WORDS = 5_000

/** For the chunks and their vectors. */
const NOTHING_CHANGED = { removedKeys: new BigInt64Array() }

/**
 * The language of each keyword index: learned from the first texts unless one is named, and changed in the background,
 * as are terms by the rules of an earlier version. An index is rebuilt beside the other, one after the other; searches
 * have the former terms until it takes its place, and what a crash cut off is gone on with at the next start.
 */
export class KeywordLanguages {
  readonly #parts: StoreParts
  readonly #rows = new KnownRows()
  readonly #jobs = new Map<number, Promise<unknown>>()
  /** By knowledge base id: the revision at which its texts are checked again. */
  readonly #nextLooks = new Map<number, number>()
  readonly #stopping = new AbortController()
  /** One index at a time: each takes all the processor time it can get. */
  readonly #rebuilds = new SerialQueue()

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  /** Continues what the last process did not finish. */
  start(): void {
    for (const kb of this.#parts.state.snapshot().knowledgeBases) this.wake(kb)
  }

  /** The language or the texts of this knowledge base may have changed. */
  wake(kb: KnowledgeBase): void {
    if (this.#isClosed || this.#jobs.has(kb.id) || !this.#hasWork(kb)) return
    const again = () => {
      this.#jobs.delete(kb.id)
      const now = this.#current(kb.id)
      if (now !== undefined) this.wake(now)
    }
    // If it fails, the next write or start tries again: searches have the former terms.
    this.#jobs.set(
      kb.id,
      this.#run(kb.id).then(again, () => this.#jobs.delete(kb.id)),
    )
  }

  /** Resolves when there is nothing left to do. */
  async settled(): Promise<void> {
    while (this.#jobs.size > 0) await Promise.all(this.#jobs.values())
  }

  async close(): Promise<void> {
    this.#stopping.abort(new AppError('shutting_down', 'The server is shutting down'))
    await this.settled()
  }

  get #isClosed(): boolean {
    return this.#stopping.signal.aborted
  }

  #hasWork(kb: KnowledgeBase): boolean {
    return kb.nextLanguage !== null || kb.hasOlderTerms || this.#isToLearn(kb)
  }

  #isToLearn(kb: KnowledgeBase): boolean {
    return !kb.isLanguageKnown && kb.revision >= (this.#nextLooks.get(kb.id) ?? 1)
  }

  #current(id: number): KnowledgeBase | undefined {
    return this.#parts.state.snapshot().knowledgeBases.find((one) => one.id === id)
  }

  async #run(id: number): Promise<void> {
    for (;;) {
      const kb = this.#current(id)
      if (this.#isClosed || kb === undefined || !this.#hasWork(kb)) return
      if (this.#isToLearn(kb)) await this.#learn(kb)
      else await this.#rebuilds.run(() => this.#rebuild(kb))
    }
  }

  async #learn(kb: KnowledgeBase): Promise<void> {
    // Rare, if one-row writes never show a language.
    this.#nextLooks.set(kb.id, kb.revision + Math.max(1, kb.revision >> 1))
    const texts = await this.#parts.database.lease(async (connection) => {
      const reader = await connection.runAndReadAll(
        `SELECT left(chunk_content, ${SAMPLE_CHARS}) FROM ${chunkTables(kb).chunks}
          ORDER BY chunk_key LIMIT ${SAMPLE_CHUNKS}`,
      )
      return reader.getRows().map(([text]) => String(text))
    })
    const { language, wordCount } = learnedLanguage(texts)
    if (language === null && wordCount < MIXED_WORDS) return
    await this.#change(kb, async (_, current) => {
      if (current.isLanguageKnown) return null
      return { indexLanguage: current.language, learnedLanguage: language ?? current.language }
    })
  }

  async #rebuild(kb: KnowledgeBase): Promise<void> {
    const { database, state } = this.#parts
    const language = kb.nextLanguage ?? kb.language
    const { signal } = this.#stopping
    const rebuild = new KeywordRebuild(database, kb, { language, signal })
    await rebuild.prepare()
    let isCommitting = false
    try {
      await this.#change(kb, async (connection, current) => {
        // Another language may be requested by now: the next round builds that one.
        if ((current.nextLanguage ?? current.language) !== language) return null
        if (!(await rebuild.switchOver(connection))) return null
        state.listener.beginCommit(kb)
        isCommitting = true
        return { indexLanguage: language, hasOlderTerms: false }
      })
    } catch (error) {
      if (isCommitting) state.listener.endCommit(kb, null)
      throw error
    }
  }

  /** One write: the catalog's own values. @param work null: no change */
  async #change(
    kb: KnowledgeBase,
    work: (
      connection: DuckDBConnection,
      current: KnowledgeBase,
    ) => Promise<Partial<StoredParams> | null>,
  ): Promise<void> {
    const { database, state, secrets } = this.#parts
    await database.write(
      async (connection) => {
        const read = await this.#rows.read(connection, kb.id, state)
        if (read === undefined) return null
        const current = knowledgeBaseOf(read.row, kb, secrets)
        const kept = await work(connection, current)
        if (kept === null) return null
        const isRebuilt = kept.learnedLanguage === undefined
        const params = { ...storedParamsOf(read.row.sealedParams, secrets), ...kept }
        const row: KnowledgeBaseRow = {
          ...read.row,
          sealedParams: sealedParamsOf(params, secrets),
          // Term lists in memory are of the former language.
          revision: read.row.revision + (isRebuilt ? 1 : 0),
        }
        await this.#rows.write(connection, row)
        return { changed: knowledgeBaseOf(row, kb, secrets), isRebuilt }
      },
      (outcome) => {
        if (outcome === null) return
        const { changed, isRebuilt } = outcome
        state.put('knowledgeBases', changed)
        if (!isRebuilt) return
        const write = { revision: changed.revision, changed: NOTHING_CHANGED, hasOtherTerms: true }
        state.listener.endCommit(changed, write)
      },
    )
  }
}

/**
 * Finds indexes whose terms are of an earlier version, from an older data folder: `start` rebuilds them.
 */
export async function markOlderTerms({ database, state, secrets }: StoreParts): Promise<void> {
  const rows = new KnownRows()
  const { knowledgeBases } = state.snapshot()
  const indexes = await database.lease((connection) => OlderIndexes.read(connection))
  const found = knowledgeBases.filter((kb) => !kb.hasOlderTerms && indexes.has(kb))
  if (found.length === 0) return
  await database.write(
    async (connection) => {
      const older: KnowledgeBase[] = []
      for (const kb of found) {
        await indexes.complete(connection, kb)
        const read = await rows.read(connection, kb.id, state)
        if (read === undefined) continue
        const params = { ...storedParamsOf(read.row.sealedParams, secrets), hasOlderTerms: true }
        const row = { ...read.row, sealedParams: sealedParamsOf(params, secrets) }
        await rows.write(connection, row)
        older.push(knowledgeBaseOf(row, kb, secrets))
      }
      return older
    },
    (older) => {
      const changed = older.reduce(withReplaced<KnowledgeBase>, knowledgeBases)
      state.change({ knowledgeBases: changed })
    },
  )
}
