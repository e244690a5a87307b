/**
 * Keeps the local copies of knowledge bases whose original rows are in PostgreSQL. Each server
 * updates its copy before reading, so that every statement sees the writes of all servers.
 */

import { findDataSource, isHere } from '../../core/domain/access/catalog-snapshot.ts'
import type { VectorIndexDefinition } from '../../core/domain/index-definition.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { ContentCounts } from '../../core/domain/ports/document-ports.ts'
import type { RunLimits, SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import type {
  KnowledgeBaseStorages,
  RemoteBegin,
  RemoteDatabases,
  RunRemote,
  StoragePlace,
} from '../../core/domain/ports/storage-ports.ts'
import { AppError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { abortable, silence } from '../../core/runtime/cancellation.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { MovedKnowledgeBase } from '../documents/chunk-writes.ts'
import type { RemoteChange, RemoteWrites } from '../documents/remote-writes.ts'
import type { StoredChunks } from '../documents/stored-chunks.ts'
import { type Copy, isRecent, newCopy, noteChange, noteRefresh, POLL_MS } from './copied-rows.ts'
import { requireComplete } from './move-tables.ts'
import { adoptLeftovers, remoteCounts, sendChange, type TouchedRows } from './remote-rows.ts'
import {
  efSearch,
  INDEX_LIMITS,
  indexRemote,
  type RemotePlace,
  SEARCH_SETTINGS,
  type SearchEnd,
  SPREAD_SETTINGS,
} from './remote-search.ts'
import {
  attach,
  createRemoteTables,
  detach,
  dropRemoteTables,
  type RemoteState,
  remoteFailure,
  remoteState,
  remoteTables,
  replaceDefinition,
  requireExtension,
  SEARCH_PATH,
} from './remote-tables.ts'
import { type FoundKeys, RowCopier } from './row-copier.ts'

/** The time limit for reading the state of a knowledge base, which is one row. */
const STATE_MS = 10_000
/** Give up a write after other writers were faster this often. */
const ATTEMPTS_MAX = 20
/** Applies a definition that another server has stored. */
type Adopt = (kb: KnowledgeBase, definition: string) => Promise<void>

export class WorkingCopies implements KnowledgeBaseStorages, RemoteWrites {
  readonly #parts: StoreParts
  readonly #rows: RowCopier
  readonly #copies = new Map<number, Copy>()
  readonly #closing = new AbortController()
  #databases: RemoteDatabases | null = null
  #adopt: Adopt = async () => {}
  #poll: ReturnType<typeof setInterval> | null = null

  private constructor(parts: StoreParts, chunks: StoredChunks) {
    this.#parts = parts
    this.#rows = new RowCopier(chunks)
    chunks.setRemote(this)
  }

  static async open(parts: StoreParts, chunks: StoredChunks): Promise<WorkingCopies> {
    const copies = new WorkingCopies(parts, chunks)
    const stored = await parts.database.write(async (connection) => {
      await connection.run(`DELETE FROM eider.attachments
        WHERE knowledge_base_id NOT IN (SELECT id FROM eider.knowledge_bases)`)
      const sql = 'SELECT knowledge_base_id, revision FROM eider.attachments'
      return allRows(connection, sql)
    })
    for (const [id, revision] of stored) {
      copies.#copies.set(Number(id), newCopy(Number(revision)))
    }
    return copies
  }

  /** Makes other databases available. @param adopt called if a definition there has changed */
  connect(databases: RemoteDatabases, adopt: Adopt): void {
    this.#databases = databases
    this.#adopt = adopt
    this.#poll = setInterval(() => this.#refreshAll(), POLL_MS)
    this.#poll.unref()
  }

  async close(): Promise<void> {
    if (this.#poll !== null) clearInterval(this.#poll)
    this.#closing.abort(new AppError('shutting_down', 'The server is shutting down'))
    const running = [...this.#copies.values()].flatMap(({ refreshing, writes }) => {
      return [refreshing, writes.idle()]
    })
    await Promise.allSettled(running)
  }

  async create(place: StoragePlace, definition: string, dimensions: number | null): Promise<void> {
    const work = (run: RunRemote) => createRemoteTables(run, place, { definition, dimensions })
    await this.transaction(place, 'write', work)
  }

  definitionOf(place: StoragePlace): Promise<string> {
    return this.transaction(place, 'read', async (run) => {
      await requireExtension(run, place)
      const state = await remoteState(run, place)
      requireComplete(place, state)
      return state.definition
    })
  }

  async drop(kb: KnowledgeBase): Promise<void> {
    const { remote } = kb
    if (remote === undefined) return
    const place = this.placeOf(kb)
    // Runs alone, because a refresh that finds it detached would attach it again.
    await this.alone(kb, async (copy) => {
      await this.transaction(place, 'write', (run) => detach(run, place, remote.attachment))
      copy.isDetached = true
    })
  }

  async remove(place: StoragePlace): Promise<void> {
    await this.transaction(place, 'write', (run) => dropRemoteTables(run, place))
  }

  async fresh(kb: KnowledgeBase): Promise<KnowledgeBase> {
    if (this.#current(kb).remote === undefined) return this.#current(kb)
    const copy = this.#copyOf(kb)
    if (isHere(kb) || !isRecent(copy)) await this.#refreshed(kb, copy)
    return this.#current(kb)
  }

  /** Fetches these rows if they are not here, and keeps them while the work runs. */
  async withRows<T>(
    kb: KnowledgeBase,
    rows: TouchedRows,
    work: (kb: KnowledgeBase) => Promise<T>,
  ): Promise<T> {
    const copy = this.#copyOf(kb)
    return inUse(copy, async () => {
      copy.touched.add(rows)
      try {
        return await work(await this.fresh(kb))
      } finally {
        copy.touched.delete(rows)
      }
    })
  }

  /** The same for chunks that a search has just found. */
  async #withFound<T>(kb: KnowledgeBase, found: FoundKeys, work: () => Promise<T>): Promise<T> {
    const copy = this.#copyOf(kb)
    return inUse(copy, async () => {
      if (await this.#rows.found(kb, copy, found)) return work()
      return this.withRows(kb, { ids: [], keys: found.keys }, work)
    })
  }

  async redefine(kb: KnowledgeBase, definition: string): Promise<void> {
    if (kb.remote === undefined) return
    const copy = this.#copyOf(kb)
    if (copy.state === null) throw new Error('a definition is changed after it was read')
    const place = this.placeOf(kb)
    const change = { from: copy.state.definition, to: definition }
    // If this fails, the next refresh applies the definition that is stored in the database.
    copy.definition = null
    const work = (run: RunRemote) => replaceDefinition(run, place, change)
    const isDone = await this.transaction(place, 'write', work)
    noteChange(copy)
    if (isDone) return
    const message = `Another server has just changed ${kb.name}: check it, and try again`
    throw new AppError('too_busy', message)
  }

  async index(kb: KnowledgeBase, definition: VectorIndexDefinition | null): Promise<void> {
    if (isHere(kb)) return
    const place = this.placeOf(kb)
    const work = (run: RunRemote) => indexRemote(run, place, definition)
    await this.transaction(place, 'write', work, INDEX_LIMITS)
    noteChange(this.#copyOf(kb))
  }

  /** Returns the counts of a partially copied knowledge base, which its database computes. */
  countsOf(kb: KnowledgeBase): Promise<ContentCounts> {
    const place = this.placeOf(kb)
    return this.transaction(place, 'read', (run) => remoteCounts(run, place))
  }

  /** Runs each statement of a search in its own transaction. @param until ends the search early */
  remoteOf(kb: KnowledgeBase, until: SearchEnd = {}): RemotePlace {
    const place = this.placeOf(kb)
    const copy = this.#copyOf(kb)
    const parts = copy.state?.parts ?? []
    const common = parts.length === 0 ? SEARCH_SETTINGS : SPREAD_SETTINGS
    const settings = { ...common, ...efSearch(until.nearCount) }
    const all = remoteTables(place).chunks
    const run: RunRemote = (sql, values = []) => {
      return this.#select(place, { settings, ...until }, { sql, values })
    }
    return {
      ...{ place, run, parts, chunks: all },
      isIndexed: copy.state?.isIndexed === true,
      withRows: (keys, work, chunks = all) => this.#withFound(kb, { run, chunks, keys }, work),
    }
  }

  async store<W extends { readonly change: RemoteChange }>(
    kb: KnowledgeBase,
    compute: (revision: number) => Promise<W>,
  ): Promise<W> {
    const copy = this.#copyOf(kb)
    return copy.writes.run(async () => {
      if (this.#current(kb).remote === undefined) throw new MovedKnowledgeBase()
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
        await this.#refreshed(kb, copy)
        const computed = await compute(copy.revision).catch(async (error) => {
          // On several nodes, one of the keys may belong to a leftover row that a search has found.
          const isSpread = (copy.state?.parts.length ?? 0) > 0
          if (isSpread && (await this.#hasAdopted(kb))) return null
          throw error
        })
        if (computed === null) continue
        const { change } = computed
        const { removedKeys, rows, rewritten } = change
        const isNothing = removedKeys.length + rows.length + rewritten.length === 0
        const place = this.placeOf(kb)
        const isStored =
          isNothing ||
          (await this.transaction(place, 'write', (run) => sendChange(run, place, change)))
        if (!isStored) continue
        noteChange(copy)
        return computed
      }
      const message = `Other servers write to ${kb.name} all the time: try again`
      throw new AppError('too_busy', message)
    })
  }

  #hasAdopted(kb: KnowledgeBase): Promise<boolean> {
    const place = this.placeOf(kb)
    return this.transaction(place, 'write', async (run) => {
      return adoptLeftovers(run, place, await remoteState(run, place, true))
    })
  }

  /** Runs work while no write of this server and no refresh is running. */
  alone<T>(kb: KnowledgeBase, work: (copy: Copy) => Promise<T>): Promise<T> {
    const copy = this.#copyOf(kb)
    return copy.writes.run(async () => {
      while (copy.refreshing !== null) await copy.refreshing.catch(() => {})
      const { promise, resolve } = Promise.withResolvers<void>()
      copy.refreshing = promise
      try {
        return await work(copy)
      } finally {
        copy.refreshing = null
        resolve()
      }
    })
  }

  /** Call after the rows have moved. @param copy the copy to use; null if stored locally now */
  moved(kb: KnowledgeBase, copy: Copy | null): void {
    if (copy === null) this.#copies.delete(kb.id)
    else this.#copies.set(kb.id, copy)
    this.#parts.state.put('knowledgeBases', kb)
  }

  /** A refresh that began before the request may miss later writes, so a second one follows it. */
  #refreshed(kb: KnowledgeBase, copy: Copy): Promise<void> {
    const begin = () => {
      const running = this.#refresh(kb, copy).finally(() => {
        if (copy.refreshing === running) copy.refreshing = null
      })
      copy.refreshing = running
      return running
    }
    if (copy.refreshing === null) return begin()
    copy.following ??= copy.refreshing
      .catch(() => {})
      .then(() => {
        copy.following = null
        return this.#refreshed(kb, copy)
      })
    return copy.following
  }

  #refreshAll(): void {
    for (const kb of this.#parts.state.snapshot().knowledgeBases) {
      if (kb.remote === undefined) continue
      const copy = this.#copyOf(kb)
      // If the server cannot be reached, requests that need the copy report the error.
      if (copy.refreshing === null) this.#refreshed(kb, copy).catch(() => {})
    }
  }

  async #refresh(known: KnowledgeBase, copy: Copy): Promise<void> {
    const kb = this.#current(known)
    if (kb.remote === undefined) return
    const { changeCount } = copy
    const place = this.placeOf(kb)
    const state = await this.transaction(place, 'read', async (run) => {
      const state = await abortable(remoteState(run, place), silence(STATE_MS))
      if (!isHere(kb)) await this.#rows.touched(kb, copy, { run, place, state })
      else await this.#rows.all(kb, copy, { run, place, state })
      return state
    })
    noteRefresh(copy, changeCount)
    await this.#takeOver(kb, copy, state)
  }

  /** Applies definitions changed by other servers. */
  async #takeOver(kb: KnowledgeBase, copy: Copy, state: RemoteState): Promise<void> {
    const { attachment = '' } = kb.remote ?? {}
    if (!copy.isDetached && !state.attachments.includes(attachment)) {
      const place = this.placeOf(kb)
      await this.transaction(place, 'write', (run) => attach(run, place, attachment))
    }
    if (copy.definition !== state.definition) await this.#adopt(kb, state.definition)
    copy.definition = state.definition
  }

  /** @throws AppError with the next step */
  async transaction<T>(
    place: StoragePlace,
    mode: RemoteBegin['mode'],
    work: (run: RunRemote) => Promise<T>,
    limits?: RunLimits,
  ): Promise<T> {
    const { databases, ...begin } = this.#begin(place)
    const all = { ...begin, mode, ...(limits && { limits }) }
    return databases.transaction(place.source, all, this.#closing.signal, work)
  }

  async #select(
    place: StoragePlace,
    { settings, signal, limits }: SearchEnd & Pick<RemoteBegin, 'settings'>,
    select: SourceSelect,
  ): ReturnType<RunRemote> {
    const { databases, ...begin } = this.#begin(place)
    const ends = signal === undefined ? [] : [signal]
    const either = AbortSignal.any([this.#closing.signal, ...ends])
    const all = {
      ...begin,
      settings: { ...begin.settings, ...settings },
      ...(limits && { limits }),
    }
    return databases.select(place.source, all, either, select)
  }

  #begin(place: StoragePlace) {
    const { source } = place
    if (source.parameters.storage !== true) {
      const how = `ALTER DATABASE ${source.name} PARAMETERS {"storage": true} lets Eider write there`
      throw new AppError('invalid_database', `Database ${source.name} is read-only here: ${how}`)
    }
    if (this.#databases === null) throw new Error('the other databases are not connected')
    return {
      databases: this.#databases,
      settings: { search_path: SEARCH_PATH },
      failure: (error: unknown) => remoteFailure(error, place),
    }
  }

  placeOf({ vectorDatabase, vectorDatabaseTable: table }: KnowledgeBase): StoragePlace {
    const source = findDataSource(this.#parts.state.snapshot(), vectorDatabase)
    if (source !== undefined) return { source, table }
    throw new AppError('database_not_found', `Database ${vectorDatabase} no longer exists`)
  }

  #copyOf({ id, remote }: KnowledgeBase): Copy {
    const known = this.#copies.get(id)
    if (known !== undefined) return known
    if (remote === undefined) throw new Error('it is stored here')
    const copy = newCopy(0)
    this.#copies.set(id, copy)
    return copy
  }

  #current(kb: KnowledgeBase): KnowledgeBase {
    return this.#parts.state.current(kb)
  }
}

async function inUse<T>(copy: Copy, work: () => Promise<T>): Promise<T> {
  copy.userCount += 1
  try {
    return await work()
  } finally {
    copy.userCount -= 1
  }
}
