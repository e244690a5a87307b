import type { DuckDBConnection } from '@duckdb/node-api'
import { chunkTables } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
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

/** Detect the language from this many chunks at most, and only the start of each. */
const SAMPLE_CHUNKS = 200
const SAMPLE_CHARS = 4_000
/** Stop looking after this many words: if they show no language, more will not help. */
const MIXED_WORDS = 5_000

/** The chunks and vectors stay the same. */
const NOTHING_CHANGED = { removedKeys: new BigInt64Array() }

/**
 * Chooses the language of each keyword index: the requested one, or the one detected in the first
 * texts. A changed language, or an upgrade of the term rules, rebuilds the index in the background
 * while searches use the old one. Indexes are rebuilt one at a time; after a crash, the rebuild
 * continues at the next start.
 */
export class KeywordLanguages {
  readonly #parts: StoreParts
  readonly #rows = new KnownRows()
  readonly #jobs = new Map<number, Promise<unknown>>()
  /** By knowledge base id: the revision at which to check the language of its texts again. */
  readonly #nextLooks = new Map<number, number>()
  readonly #stopping = new AbortController()
  /** Rebuilds one index at a time, because each uses all CPU time it can get. */
  readonly #rebuilds = new SerialQueue()

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  /** Continues rebuilds that the last process did not finish. */
  start(): void {
    for (const kb of this.#parts.state.snapshot().knowledgeBases) {
      // The last process may have seen only the first documents. The next write is early enough.
      if (kb.isLanguageKnown) this.#nextLooks.set(kb.id, kb.revision + 1)
      this.wake(kb)
    }
  }

  /** Call when the language or texts of this knowledge base may have changed. */
  wake(kb: KnowledgeBase): void {
    if (this.#isClosed || this.#jobs.has(kb.id) || !this.#hasWork(kb)) return
    const again = () => {
      this.#jobs.delete(kb.id)
      const now = this.#current(kb.id)
      if (now !== undefined) this.wake(now)
    }
    // After a failure, the next write or start tries again. Until then, searches use the old terms.
    this.#jobs.set(
      kb.id,
      this.#run(kb.id).then(again, () => this.#jobs.delete(kb.id)),
    )
  }

  /** Resolves when all rebuilds are done. */
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
    return kb.params.language === undefined && kb.revision >= (this.#nextLooks.get(kb.id) ?? 1)
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
    // Check less often as the knowledge base grows.
    this.#nextLooks.set(kb.id, kb.revision + Math.max(1, kb.revision >> 1))
    const texts = await this.#parts.database.lease(async (connection) => {
      const sql = `SELECT left(chunk_content, ${SAMPLE_CHARS}) FROM ${chunkTables(kb).chunks}
          ORDER BY chunk_key LIMIT ${SAMPLE_CHUNKS}`
      const found = await allRows(connection, sql)
      return found.map(([text]) => String(text))
    })
    const { language, wordCount } = learnedLanguage(texts)
    if (language === null && wordCount < MIXED_WORDS) return
    // The first document may be in another language than most.
    const isEnough = texts.length === SAMPLE_CHUNKS || wordCount >= MIXED_WORDS
    if (isEnough) this.#nextLooks.set(kb.id, Number.POSITIVE_INFINITY)
    const change = (current: KnowledgeBase) => {
      const wanted = current.nextLanguage ?? current.language
      const isKnown = current.isLanguageKnown && (language ?? wanted) === wanted
      if (isKnown || current.params.language !== undefined) return null
      return { indexLanguage: current.language, learnedLanguage: language ?? wanted }
    }
    // Most looks find nothing new, which needs no write.
    if (change(kb) !== null) await this.#change(kb, async (_, current) => change(current))
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
        // If a different language was requested in the meantime, the next round builds that one.
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

  /** Writes the catalog's own values once. @param work returns null to change nothing */
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
        const current = knowledgeBaseOf(read.row, state.current(kb), secrets)
        const kept = await work(connection, current)
        if (kept === null) return null
        const isRebuilt = kept.learnedLanguage === undefined
        const params = { ...storedParamsOf(read.row.sealedParams, secrets), ...kept }
        const row: KnowledgeBaseRow = {
          ...read.row,
          sealedParams: sealedParamsOf(params, secrets),
          // Search caches hold terms in the old language, so a new revision invalidates them.
          revision: read.row.revision + (isRebuilt ? 1 : 0),
        }
        await this.#rows.write(connection, row)
        return { changed: knowledgeBaseOf(row, current, secrets), isRebuilt }
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

/** Marks indexes built with the term rules of an earlier version. `start` rebuilds them. */
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
