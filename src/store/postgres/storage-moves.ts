/**
 * Moves knowledge bases between local storage and PostgreSQL. A chunk keeps its key, and the text
 * of a key never changes, so both sides are compared by keys and hashes of metadata. Only the
 * differences are sent, so an interrupted move continues where it was.
 */
import type { DuckDBConnection } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import { isHere } from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type {
  KnowledgeBaseMoves,
  LeftStorage,
  MoveProgress,
  MoveTarget,
  RunRemote,
} from '../../core/domain/ports/storage-ports.ts'
import { AppError, hasCode, notFound } from '../../core/errors.ts'
import { abortable, sleep, withDeadline } from '../../core/runtime/cancellation.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { type KnowledgeBaseRow, queriesOver } from '../catalog/catalog-queries.ts'
import { knowledgeBaseOf, sealedParamsOf, storedParamsOf } from '../catalog/catalog-rows.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { attachments, knowledgeBases } from '../catalog/schema.ts'
import { KEYWORD_RULES } from '../documents/keyword-index.ts'
import type { StoredChunks } from '../documents/stored-chunks.ts'
import { rowOfKnowledgeBase } from '../documents/stored-vectors.ts'
import { type Copy, newCopy } from './copied-rows.ts'
import { dropMoveTables, openMoveTables } from './move-tables.ts'
import { detach, type RemoteState, remoteState } from './remote-tables.ts'
import { RowCopier } from './row-copier.ts'
import { type Pass, RowSender } from './row-sender.ts'
import type { WorkingCopies } from './working-copies.ts'

/** Send at most about this many chunks while writes wait. */
const LAST_CHUNKS = 200
const PASSES_MAX = 10
/** Statements that began before the switch may still read the old storage for this long. */
const GRACE_MS = 2000
const SETTLE_MS = 200
/** How long writes may wait for the last changes. */
const HELD_MS_MAX = 60_000

export class StorageMoves implements KnowledgeBaseMoves {
  readonly #parts: StoreParts
  readonly #chunks: StoredChunks
  readonly #copies: WorkingCopies
  readonly #rows: RowCopier
  readonly #sender: RowSender

  constructor(parts: StoreParts, chunks: StoredChunks, copies: WorkingCopies) {
    this.#parts = parts
    this.#chunks = chunks
    this.#copies = copies
    this.#rows = new RowCopier(chunks)
    this.#sender = new RowSender(parts, chunks, copies)
  }

  async check(kb: KnowledgeBase, target: MoveTarget, definition: string): Promise<void> {
    const undone = new AppError('cancelled', 'It was only a try')
    const trying = this.#copies.transaction(target.place, 'write', async (run) => {
      await openTables(run, kb, target, definition)
      throw undone
    })
    await trying.catch((error) => {
      if (error !== undone) throw error
    })
  }

  async toConnected(
    kb: KnowledgeBase,
    target: MoveTarget,
    progress: MoveProgress,
    signal: AbortSignal,
  ): Promise<void> {
    if (kb.remote === undefined) {
      while (!(await this.#sent(kb, target, progress, signal))) signal.throwIfAborted()
    }
    await this.#copies.fresh(this.#parts.state.current(kb))
    if (target.isCopied) return
    await afterGrace(signal)
    await this.#copies.alone(kb, async (copy) => {
      copy.rowCount = Number.POSITIVE_INFINITY
    })
  }

  async toEmbedded(
    kb: KnowledgeBase,
    names: Pick<KnowledgeBase, 'vectorDatabase' | 'vectorDatabaseTable'>,
    progress: MoveProgress,
    signal: AbortSignal,
  ): Promise<void> {
    if (kb.remote === undefined) return
    const fresh = await this.#copies.fresh(kb)
    try {
      const filled = isHere(fresh) ? null : await this.#filled(fresh, progress, signal)
      await this.#broughtHome(fresh, names, filled)
      const total = await this.#chunks.chunkCount(kb)
      await progress.report({ chunks: total, total })
    } catch (error) {
      if (this.#parts.state.current(kb).remote === undefined) return
      await this.#copies.alone(kb, async (copy) => {
        if (copy.isLeaving) copy.rowCount = Number.POSITIVE_INFINITY
        copy.isLeaving = false
      })
      throw error
    }
  }

  async leave({ place, attachment }: LeftStorage, signal: AbortSignal): Promise<void> {
    await afterGrace(signal)
    const leaving = this.#copies.transaction(place, 'write', async (run) => {
      const { attachments: names } = await remoteState(run, place)
      if (names.includes(attachment)) await detach(run, place, attachment)
    })
    await leaving.catch((error) => {
      // If this error occurs, the tables were already dropped when the knowledge base left them.
      if (!hasCode(error, 'table_not_found')) throw error
    })
  }

  async abandon({ place, attachment }: LeftStorage): Promise<void> {
    const { knowledgeBases: all } = this.#parts.state.snapshot()
    if (all.some(({ remote }) => remote?.attachment === attachment)) return
    await this.#copies.transaction(place, 'write', (run) => dropMoveTables(run, place, attachment))
  }

  /** @returns false if vectors or terms were replaced in the meantime and all must be sent again */
  async #sent(
    kb: KnowledgeBase,
    target: MoveTarget,
    progress: MoveProgress,
    signal: AbortSignal,
  ): Promise<boolean> {
    const settled = await this.#settled(kb, signal)
    await this.#copies.transaction(target.place, 'write', (run) => {
      return openTables(run, settled, target, progress.definitionOf(settled))
    })
    let pass = await this.#sender.pass(settled, target, progress, signal)
    for (let count = 1; count < PASSES_MAX && pass.sentCount > LAST_CHUNKS; count += 1) {
      pass = await this.#sender.pass(settled, target, progress, signal)
    }
    await this.#sender.index(settled, target)
    const timeoutError = () => {
      const what = `${target.place.source.name} took too long for the last changes of ${kb.name}`
      return new AppError('timeout', `${what}, which hold up its writes: resume the job`)
    }
    return this.#chunks.holding(kb, () => {
      return withDeadline({ timeoutMs: HELD_MS_MAX, signal, timeoutError }, (limit) => {
        return abortable(this.#finished(settled, pass, { target, progress, signal: limit }), limit)
      })
    })
  }

  /** Sends the last changes and switches, while writes wait. @returns like `#sent` */
  async #finished(
    kb: KnowledgeBase,
    last: Pass,
    given: {
      readonly target: MoveTarget
      readonly progress: MoveProgress
      readonly signal: AbortSignal
    },
  ): Promise<boolean> {
    const { target, progress, signal } = given
    // Writes that began before the comparison may still commit.
    const isAsOf = async ({ row }: Pass) => Bun.deepEquals(await this.#sender.rowOf(kb), row)
    for (let pass = last; ; ) {
      const now = this.#parts.state.current(kb)
      if (!isSettled(now) || contentOf(now) !== contentOf(kb)) return false
      if (!(await isAsOf(pass))) pass = await this.#sender.pass(now, target, progress, signal)
      const state = await this.#sender.finish(now, target, progress.definitionOf(now))
      signal.throwIfAborted()
      if (state.chunkCount === pass.chunkCount) {
        if (await this.#switched(pass.row, target, state)) return true
      } else if (await isAsOf(pass)) {
        const counts = `${state.chunkCount} of ${pass.chunkCount}`
        throw new AppError('source_failed', `${counts} chunks of ${kb.name} have arrived`)
      }
    }
  }

  /** Waits until no re-embedding or keyword rebuild is running for this knowledge base. */
  async #settled(kb: KnowledgeBase, signal: AbortSignal): Promise<KnowledgeBase> {
    for (;;) {
      const now = this.#parts.state.current(kb)
      if (isSettled(now)) return now
      await sleep(SETTLE_MS, signal)
    }
  }

  /** @returns false, without switching, if the row was changed in the meantime */
  async #switched(
    row: KnowledgeBaseRow,
    { place, attachment, isCopied }: MoveTarget,
    state: RemoteState,
  ): Promise<boolean> {
    const { secrets } = this.#parts
    const copy: Copy = { ...newCopy(state.revision), state, definition: state.definition }
    return this.#change(row, copy, async (connection, now, kb) => {
      if (!Bun.deepEquals(now, row)) return null
      const attached = { knowledgeBaseId: row.id, attachment, isCopied, revision: state.revision }
      await queriesOver(connection).insert(attachments).values(attached)
      // All servers that share the tables must create the same terms.
      const params = { ...storedParamsOf(row.sealedParams, secrets), language: kb.language }
      return {
        remote: { attachment, isCopied },
        vectorDatabase: place.source.name,
        vectorDatabaseTable: place.table,
        sealedParams: sealedParamsOf(params, secrets),
      }
    })
  }

  /** Of a partially copied base. @returns the revision that the rows correspond to */
  async #filled(kb: KnowledgeBase, progress: MoveProgress, signal: AbortSignal): Promise<number> {
    const place = this.#copies.placeOf(kb)
    let revision: number | null = null
    let chunks = 0
    for (let afterKey = -1n; ; ) {
      signal.throwIfAborted()
      const { state, page } = await this.#copies.alone(kb, (copy) => {
        copy.isLeaving = true
        return this.#copies.transaction(place, 'read', async (run) => {
          const state = await remoteState(run, place)
          return { state, page: await this.#rows.page(kb, { run, place, state }, afterKey) }
        })
      })
      revision ??= state.revision
      chunks += page.keys.length
      await progress.report({ chunks, total: Math.max(chunks, state.chunkCount) })
      if (page.lastKey === null) return revision
      afterKey = page.lastKey
    }
  }

  /** While other servers cannot write. @param filled null if a full copy exists */
  async #broughtHome(
    kb: KnowledgeBase,
    names: Pick<KnowledgeBase, 'vectorDatabase' | 'vectorDatabaseTable'>,
    filled: number | null,
  ): Promise<void> {
    const place = this.#copies.placeOf(kb)
    await this.#copies.alone(kb, (copy) => {
      return this.#copies.transaction(place, 'write', async (run) => {
        const state = await remoteState(run, place, true)
        copy.revision = filled ?? copy.revision
        if (state.revision !== copy.revision) {
          await this.#rows.since(kb, copy, { run, place, state })
        }
        await this.#change(kb, null, async (connection) => {
          const own = eq(attachments.knowledgeBaseId, kb.id)
          await queriesOver(connection).delete(attachments).where(own)
          return names
        })
      })
    })
  }

  /** In one catalog write. @param copy to use from then on, null for local rows */
  async #change(
    { id, name }: Pick<KnowledgeBase, 'id' | 'name'>,
    copy: Copy | null,
    work: (
      connection: DuckDBConnection,
      row: KnowledgeBaseRow,
      kb: KnowledgeBase,
    ) => Promise<(Partial<KnowledgeBaseRow> & Pick<KnowledgeBase, 'remote'>) | null>,
  ): Promise<boolean> {
    const { database, state, secrets, now } = this.#parts
    const moved = await database.write(
      async (connection) => {
        const row = await rowOfKnowledgeBase(connection, { id })
        const kb = state.snapshot().knowledgeBases.find((one) => one.id === id)
        if (row === undefined || kb === undefined) throw notFound('knowledge_base', name)
        const changed = await work(connection, row, kb)
        if (changed === null) return null
        const { remote, ...columns } = changed
        const changes = { ...columns, updatedAt: timestampOfMillis(now()) }
        const isOwn = eq(knowledgeBases.id, id)
        await queriesOver(connection).update(knowledgeBases).set(changes).where(isOwn)
        const { projectName } = kb
        const known = { projectName, ...(remote && { remote }) }
        return knowledgeBaseOf({ ...row, ...changes }, known, secrets)
      },
      (kb) => {
        if (kb !== null) this.#copies.moved(kb, copy)
      },
    )
    return moved !== null
  }
}

function isSettled({ nextLanguage, hasOlderTerms, nextEmbeddingModel }: KnowledgeBase): boolean {
  return nextLanguage === null && !hasOlderTerms && nextEmbeddingModel === null
}

function openTables(
  run: RunRemote,
  kb: KnowledgeBase,
  { place, attachment }: MoveTarget,
  definition: string,
): Promise<void> {
  const tables = { attachment, content: contentOf(kb) }
  return openMoveTables(run, place, tables, { definition, dimensions: kb.dimensions })
}

/** Identifies the model and rules behind vectors and terms. */
function contentOf({ vectorsNumber, language }: KnowledgeBase): string {
  return `vectors ${vectorsNumber}, ${language} by ${KEYWORD_RULES}`
}

/** Waits for the grace period. If the signal aborts, it returns early without an error. */
async function afterGrace(signal: AbortSignal): Promise<void> {
  await sleep(GRACE_MS, signal).catch(() => {})
}
