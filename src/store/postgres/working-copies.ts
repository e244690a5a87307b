/**
 * Knowledge bases in PostgreSQL: the rows there are authoritative. Each Eider keeps a copy in its own tables and updates
 * it before it reads, so that every statement sees the writes of every Eider.
 */
import { findDataSource, isHere } from '../../core/domain/access/catalog-snapshot.ts'
import type { VectorIndexDefinition } from '../../core/domain/index-definition.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { ContentCounts } from '../../core/domain/ports/document-ports.ts'
import type {
  KnowledgeBaseStorages,
  RemoteBegin,
  RemoteDatabases,
  RunRemote,
  StoragePlace,
} from '../../core/domain/ports/storage-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import type { RemoteChange, RemoteWrites } from '../documents/remote-writes.ts'
import type { StoredChunks } from '../documents/stored-chunks.ts'
import { type Copy, isRecent, newCopy, POLL_MS } from './copied-rows.ts'
import { remoteCounts, sendChange, type TouchedRows } from './remote-rows.ts'
import { indexRemote, type RemotePlace, SEARCH_SETTINGS } from './remote-search.ts'
import {
  attach,
  createRemoteTables,
  detach,
  dropRemoteTables,
  OPENING,
  type RemoteState,
  remoteFailure,
  remoteState,
  replaceDefinition,
  requireExtension,
} from './remote-tables.ts'
import { RowCopier } from './row-copier.ts'

/** How often other writers may be faster, in a row. */
const ATTEMPTS_MAX = 20

/** Takes over a definition that another Eider has stored. */
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
      return (await connection.runAndReadAll(sql)).getRows()
    })
    for (const [id, revision] of stored) {
      copies.#copies.set(Number(id), newCopy(Number(revision)))
    }
    return copies
  }

  /** From here on, other databases can be reached. @param adopt called when a definition there is another one */
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
    await this.#transaction(place, 'write', (run) => {
      return createRemoteTables(run, place, { definition, dimensions })
    })
  }

  definitionOf(place: StoragePlace): Promise<string> {
    return this.#transaction(place, 'read', async (run) => {
      await requireExtension(run, place)
      return (await remoteState(run, place)).definition
    })
  }

  async drop(kb: KnowledgeBase): Promise<void> {
    const { remote } = kb
    if (remote === undefined) return
    const place = this.#placeOf(kb)
    await this.#transaction(place, 'write', (run) => detach(run, place, remote.attachment))
  }

  async remove(place: StoragePlace): Promise<void> {
    await this.#transaction(place, 'write', (run) => dropRemoteTables(run, place))
  }

  async fresh(kb: KnowledgeBase): Promise<KnowledgeBase> {
    if (kb.remote === undefined) return kb
    const copy = this.#copyOf(kb)
    if (isHere(kb) || !isRecent(copy)) await this.#refreshed(kb, copy)
    return this.#current(kb)
  }

  /** Where not all rows are here: has these here, as its place holds them, while the work runs. */
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
  async #withFound<T>(
    kb: KnowledgeBase,
    keys: readonly bigint[],
    work: () => Promise<T>,
  ): Promise<T> {
    const copy = this.#copyOf(kb)
    return inUse(copy, async () => {
      if (await this.#rows.found(kb, copy, keys)) return work()
      return this.withRows(kb, { ids: [], keys }, work)
    })
  }

  async redefine(kb: KnowledgeBase, definition: string): Promise<void> {
    if (kb.remote === undefined) return
    const copy = this.#copyOf(kb)
    if (copy.state === null) throw new Error('a definition is changed after it was read')
    const place = this.#placeOf(kb)
    const change = { from: copy.state.definition, to: definition }
    // If it fails, the next refresh takes over what is stored there.
    copy.definition = null
    const isDone = await this.#transaction(place, 'write', (run) => {
      return replaceDefinition(run, place, change)
    })
    copy.refreshedMs = Number.NEGATIVE_INFINITY
    if (isDone) return
    const message = `Another server has just changed ${kb.name}: look at it, and try again`
    throw new AppError('too_busy', message)
  }

  async index(kb: KnowledgeBase, definition: VectorIndexDefinition | null): Promise<void> {
    if (isHere(kb)) return
    const place = this.#placeOf(kb)
    await this.#transaction(place, 'write', (run) => indexRemote(run, place, definition))
    this.#copyOf(kb).refreshedMs = Number.NEGATIVE_INFINITY
  }

  /** Counts of a knowledge base without a copy, by its database. */
  countsOf(kb: KnowledgeBase): Promise<ContentCounts> {
    const place = this.#placeOf(kb)
    return this.#transaction(place, 'read', (run) => remoteCounts(run, place))
  }

  /** For a search's statements, each in its own transaction. */
  remoteOf(kb: KnowledgeBase): RemotePlace {
    const place = this.#placeOf(kb)
    const copy = this.#copyOf(kb)
    return {
      place,
      run: (sql, values) => this.#transaction(place, 'read', (own) => own(sql, values)),
      isIndexed: copy.state?.isIndexed === true,
      found: (rows) => copy.found.add(rows, copy.state),
      withRows: (keys, work) => this.#withFound(kb, keys, work),
    }
  }

  async store<W extends { readonly change: RemoteChange }>(
    kb: KnowledgeBase,
    compute: (revision: number) => Promise<W>,
  ): Promise<W> {
    const copy = this.#copyOf(kb)
    return copy.writes.run(async () => {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
        await this.#refreshed(kb, copy)
        const computed = await compute(copy.revision)
        const { change } = computed
        const { removedKeys, rows, rewritten } = change
        const isNothing = removedKeys.length + rows.length + rewritten.length === 0
        const place = this.#placeOf(kb)
        const isStored =
          isNothing ||
          (await this.#transaction(place, 'write', (run) => sendChange(run, place, change)))
        if (!isStored) continue
        // The written rows may have brought other columns.
        copy.refreshedMs = Number.NEGATIVE_INFINITY
        return computed
      }
      const message = `Other servers write to ${kb.name} all the time: try again`
      throw new AppError('too_busy', message)
    })
  }

  /** A copy that started before the request may lack later writes. */
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
        return begin()
      })
    return copy.following
  }

  #refreshAll(): void {
    for (const kb of this.#parts.state.snapshot().knowledgeBases) {
      if (kb.remote === undefined) continue
      const copy = this.#copyOf(kb)
      // A server that cannot be reached says so to those who ask.
      if (copy.refreshing === null) this.#refreshed(kb, copy).catch(() => {})
    }
  }

  async #refresh(kb: KnowledgeBase, copy: Copy): Promise<void> {
    const place = this.#placeOf(kb)
    const state = await this.#transaction(place, 'read', async (run) => {
      const state = await remoteState(run, place)
      if (!isHere(kb)) await this.#rows.touched(kb, copy, { run, place, state })
      else await this.#rows.all(kb, copy, { run, place, state })
      return state
    })
    await this.#takeOver(kb, copy, state)
  }

  /** What other Eiders have defined. */
  async #takeOver(kb: KnowledgeBase, copy: Copy, state: RemoteState): Promise<void> {
    const { attachment = '' } = kb.remote ?? {}
    if (!state.attachments.includes(attachment)) {
      const place = this.#placeOf(kb)
      await this.#transaction(place, 'write', (run) => attach(run, place, attachment))
    }
    if (copy.definition !== state.definition) await this.#adopt(kb, state.definition)
    copy.definition = state.definition
  }

  async #transaction<T>(
    place: StoragePlace,
    mode: RemoteBegin['mode'],
    work: (run: RunRemote) => Promise<T>,
  ): Promise<T> {
    const { source } = place
    if (source.parameters.storage !== true) {
      const how = `ALTER DATABASE ${source.name} PARAMETERS {"storage": true} lets Eider write there`
      throw new AppError('invalid_database', `Database ${source.name} is read-only here: ${how}`)
    }
    if (this.#databases === null) throw new Error('the other databases are not connected')
    const begin = { mode, opening: OPENING + (mode === 'read' ? SEARCH_SETTINGS : '') }
    return this.#databases.transaction(source, begin, this.#closing.signal, async (run) => {
      try {
        return await work(run)
      } catch (error) {
        throw remoteFailure(error, place)
      }
    })
  }

  #placeOf({ vectorDatabase, vectorDatabaseTable: table }: KnowledgeBase): StoragePlace {
    const source = findDataSource(this.#parts.state.snapshot(), vectorDatabase)
    if (source !== undefined) return { source, table }
    throw new AppError('database_not_found', `Database ${vectorDatabase} is not there any more`)
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
    return this.#parts.state.snapshot().knowledgeBases.find(({ id }) => id === kb.id) ?? kb
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
