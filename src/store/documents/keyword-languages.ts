import type { DuckDBConnection } from '@duckdb/node-api'
import { learnedLanguage } from '../../analysis/learned-language.ts'
import { chunkTables } from '../../domain/chunk-tables.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { AppError } from '../../errors.ts'
import {
  knowledgeBaseOf,
  type StoredParams,
  sealedParamsOf,
  storedParamsOf,
} from '../catalog/catalog-rows.ts'
import { type StoreParts, withReplaced } from '../catalog/catalog-state.ts'
import { type KnowledgeBaseRow, KnownRows } from '../catalog/known-rows.ts'
import { indexAll } from './keyword-index.ts'

/** The first chunks, and so much of each, show the language. */
const SAMPLE_CHUNKS = 200
const SAMPLE_CHARS = 4_000
/** Of so many words that show no language, more will not either. */
const MIXED_WORDS = 5_000

/**
 * The language of each keyword index: learned from the first texts where nobody names one, and changed in the background.
 * An index is made anew in one transaction, so that searches have the former terms until it is there, and a crash leaves
 * nothing half made: what is not done is begun again at the next start.
 */
export class KeywordLanguages {
  readonly #parts: StoreParts
  readonly #rows = new KnownRows()
  readonly #jobs = new Map<number, Promise<unknown>>()
  /** By the ids of knowledge bases: the revision from which on their texts are looked at again. */
  readonly #nextLooks = new Map<number, number>()
  #isClosed = false

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  /** Goes on with what the last process did not complete. */
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
    // Whatever prevents it, the next write or start tries again: searches have the former terms.
    this.#jobs.set(
      kb.id,
      this.#run(kb.id).then(again, () => this.#jobs.delete(kb.id)),
    )
  }

  /** Resolves when nothing is to be done any more. */
  async settled(): Promise<void> {
    while (this.#jobs.size > 0) await Promise.all(this.#jobs.values())
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.settled()
  }

  #hasWork(kb: KnowledgeBase): boolean {
    if (kb.nextLanguage !== null) return true
    return !kb.isLanguageKnown && kb.revision >= (this.#nextLooks.get(kb.id) ?? 1)
  }

  #current(id: number): KnowledgeBase | undefined {
    return this.#parts.state.snapshot().knowledgeBases.find((one) => one.id === id)
  }

  async #run(id: number): Promise<void> {
    for (;;) {
      const kb = this.#current(id)
      if (this.#isClosed || kb === undefined || !this.#hasWork(kb)) return
      if (kb.nextLanguage === null) await this.#learn(kb)
      else await this.#rebuild(kb)
    }
  }

  async #learn(kb: KnowledgeBase): Promise<void> {
    // Seldom in a knowledge base of one-row writes that show nothing.
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
    let isCommitting = false
    try {
      await this.#change(kb, async (connection, current) => {
        const language = current.nextLanguage
        if (language === null) return null
        await database.withoutCaching(() => {
          return indexAll(connection, { ...current, language }, () => this.#checkOpen())
        })
        state.listener.beginCommit(kb)
        isCommitting = true
        return { indexLanguage: language }
      })
    } catch (error) {
      if (isCommitting) state.listener.endCommit(kb, null)
      throw error
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new AppError('shutting_down', 'The server is shutting down')
  }

  /** One write: what is kept beside the definition. @param work null: nothing changes */
  async #change(
    { id, projectName }: KnowledgeBase,
    work: (
      connection: DuckDBConnection,
      current: KnowledgeBase,
    ) => Promise<Partial<StoredParams> | null>,
  ): Promise<void> {
    const { database, state, secrets } = this.#parts
    await database.write(
      async (connection) => {
        const read = await this.#rows.read(connection, id, state)
        if (read === undefined) return null
        const current = knowledgeBaseOf(read.row, { projectName, secrets })
        const kept = await work(connection, current)
        if (kept === null) return null
        const isRebuilt = kept.learnedLanguage === undefined
        const params = { ...storedParamsOf(read.row.sealedParams, secrets), ...kept }
        const row: KnowledgeBaseRow = {
          ...read.row,
          sealedParams: sealedParamsOf(params, secrets),
          // Lists of terms in memory are of the former language.
          revision: read.row.revision + (isRebuilt ? 1 : 0),
        }
        await this.#rows.write(connection, row)
        return { changed: knowledgeBaseOf(row, { projectName, secrets }), isRebuilt }
      },
      (outcome) => {
        if (outcome === null) return
        const { changed, isRebuilt } = outcome
        state.change({ knowledgeBases: withReplaced(state.snapshot().knowledgeBases, changed) })
        if (!isRebuilt) return
        state.listener.endCommit(changed, { revision: changed.revision, changed: null })
      },
    )
  }
}
