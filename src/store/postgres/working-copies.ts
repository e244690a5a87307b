/**
 * Knowledge bases in PostgreSQL: the rows there are the truth. Each Eider keeps a copy in its own tables, which it brings up
 * to date before it reads, so that every statement finds what any Eider has written.
 */
import type { DuckDBConnection } from '@duckdb/node-api'
import { findDataSource } from '../../core/domain/access/catalog-snapshot.ts'
import { chunkTables } from '../../core/domain/chunk.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type {
  KnowledgeBaseStorages,
  RemoteDatabases,
  RemoteMode,
  RunRemote,
  StoragePlace,
} from '../../core/domain/ports/storage-ports.ts'
import { AppError } from '../../core/errors.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { NOTHING_COMES } from '../documents/chunk-writes.ts'
import type { ComputedWrite, RemoteWrites } from '../documents/remote-writes.ts'
import type { StoredChunks } from '../documents/stored-chunks.ts'
import {
  type OpenTables,
  removeChunkRows,
  replaceChunkRows,
  rewriteChunkRows,
  vectorsOfRows,
} from '../documents/write-chunk-rows.ts'
import { runWithKeys } from '../duckdb/typed-values.ts'
import {
  allKeys,
  incomingOf,
  type KeyedRows,
  removedSince,
  rowsSince,
  sendChange,
} from './remote-rows.ts'
import {
  createRemoteTables,
  dropRemoteTables,
  enter,
  type RemoteState,
  remoteFailure,
  remoteState,
} from './remote-tables.ts'

/** A copy of this many chunks takes minutes and some gigabytes on disk. */
const COPIED_CHUNKS_MAX = 500_000
/** Other writers that may be faster, one after the other. */
const ATTEMPTS_MAX = 20
/** Other servers' writes arrive within this time, even without requests. */
const POLL_MS = 1000

interface Copy {
  readonly isOwner: boolean
  /** Of the rows when they were last copied. */
  revision: number
  /** Writes from here, one after the other. */
  readonly writes: SerialQueue
  refreshing: Promise<void> | null
  /** Begins when that is over, for those who came while it was reading. */
  following: Promise<void> | null
}

export class WorkingCopies implements KnowledgeBaseStorages, RemoteWrites {
  readonly #parts: StoreParts
  readonly #copies = new Map<number, Copy>()
  readonly #closing = new AbortController()
  #chunks: StoredChunks | null = null
  #databases: RemoteDatabases | null = null
  #poll: ReturnType<typeof setInterval> | null = null

  private constructor(parts: StoreParts) {
    this.#parts = parts
  }

  static async open(parts: StoreParts): Promise<WorkingCopies> {
    const copies = new WorkingCopies(parts)
    const stored = await parts.database.write(async (connection) => {
      await connection.run(`DELETE FROM eider.storages
        WHERE knowledge_base_id NOT IN (SELECT id FROM eider.knowledge_bases)`)
      const sql = 'SELECT knowledge_base_id, is_owner, revision FROM eider.storages'
      return (await connection.runAndReadAll(sql)).getRows()
    })
    for (const [id, isOwner, revision] of stored) {
      copies.#copies.set(Number(id), newCopy(isOwner === true, Number(revision)))
    }
    return copies
  }

  /** Where the copies are. */
  copyInto(chunks: StoredChunks): void {
    this.#chunks = chunks
    chunks.setRemote(this)
  }

  /** From now on the other databases can be reached. */
  connect(databases: RemoteDatabases): void {
    this.#databases = databases
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

  isRemote({ id }: Pick<KnowledgeBase, 'id'>): boolean {
    return this.#copies.has(id)
  }

  revisionOf({ id }: Pick<KnowledgeBase, 'id'>): number {
    return this.#copies.get(id)?.revision ?? 0
  }

  /** Within the transaction that creates a knowledge base. */
  async note(connection: DuckDBConnection, id: number, isOwner: boolean): Promise<void> {
    await connection.run('INSERT INTO eider.storages VALUES ($1, $2, true, 0)', [id, isOwner])
  }

  /** After its commit. */
  noted(id: number, isOwner: boolean): void {
    this.#copies.set(id, newCopy(isOwner, 0))
  }

  async create(place: StoragePlace, definition: string, dimensions: number | null): Promise<void> {
    await this.#transaction(place, 'write', (run) => {
      return createRemoteTables(run, place, { definition, dimensions })
    })
  }

  definitionOf(place: StoragePlace): Promise<string> {
    return this.#transaction(place, 'read', async (run) => {
      await enter(run, place)
      return (await remoteState(run, place)).definition
    })
  }

  async drop(kb: KnowledgeBase): Promise<void> {
    const copy = this.#copies.get(kb.id)
    if (copy?.isOwner === true) await this.remove(this.#placeOf(kb))
  }

  async remove(place: StoragePlace): Promise<void> {
    await this.#transaction(place, 'write', (run) => dropRemoteTables(run, place))
  }

  async fresh(kb: KnowledgeBase): Promise<KnowledgeBase> {
    const copy = this.#copies.get(kb.id)
    if (copy === undefined) return kb
    await this.#refreshed(kb, copy)
    return this.#current(kb)
  }

  async store<T>(kb: KnowledgeBase, compute: () => Promise<ComputedWrite<T>>): Promise<T> {
    const copy = this.#copies.get(kb.id)
    if (copy === undefined) throw new Error('it is stored here')
    return copy.writes.run(async () => {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
        await this.#refreshed(kb, copy)
        const { result, marks, change } = await compute()
        const { removedKeys, rows, rewritten } = change
        const isNothing = removedKeys.length + rows.length + rewritten.length === 0
        const place = this.#placeOf(kb)
        const isStored =
          isNothing ||
          (await this.#transaction(place, 'write', async (run) => {
            await enter(run, place)
            return sendChange(run, place, change)
          }))
        if (!isStored) continue
        await this.#here().writeMarks(marks)
        return result
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
      const copy = this.#copies.get(kb.id)
      // A server that cannot be reached says so to those who ask.
      if (copy?.refreshing === null) this.#refreshed(kb, copy).catch(() => {})
    }
  }

  async #refresh(kb: KnowledgeBase, copy: Copy): Promise<void> {
    const place = this.#placeOf(kb)
    await this.#transaction(place, 'read', async (run) => {
      await enter(run, place)
      const state = await remoteState(run, place)
      if (state.revision === copy.revision) return
      if (state.chunkCount > COPIED_CHUNKS_MAX) throw tooLarge(kb, state)
      // A server restored from a backup is behind its copies: all rows are copied again.
      const isBehind = state.revision < copy.revision
      if (isBehind) await this.#emptied(kb)
      const from = isBehind ? 0 : copy.revision
      const removed = await removedSince(run, place, { from, to: state.revision })
      const gone = removed ?? { allBut: new Set(await allKeys(run, place)) }
      await this.#copyRows(kb, state, {
        gone,
        batches: rowsSince(run, place, { ...state, revision: from }),
      })
      copy.revision = state.revision
    })
  }

  async #emptied(kb: KnowledgeBase): Promise<void> {
    await this.#here().copyHere(kb, NOTHING_COMES, async (tables) => {
      const removedKeys = await keysWithout(tables, new Set())
      await removeChunkRows(tables.connection, tables, removedKeys)
      const copied = { rowCount: 0, postingCount: 0 }
      return { result: null, newRows: [], removedKeys, copied }
    })
  }

  /** In batches, each a separate write. The revision comes with the last one, so that an interrupted copy continues. */
  async #copyRows(
    kb: KnowledgeBase,
    state: RemoteState,
    { gone, batches }: { gone: Gone; batches: AsyncGenerator<KeyedRows, void, void> },
  ): Promise<void> {
    const apply = (batch: KeyedRows, isLast: boolean, removed: Gone) => {
      return this.#here().copyHere(kb, incomingOf(state), async (tables) => {
        if (isLast) await noteRevision(tables, kb, state.revision)
        return copiedRows(tables, batch, removed, state.nextChunkKey)
      })
    }
    let removed = gone
    let waiting: KeyedRows = { keys: [], rows: [] }
    for await (const batch of batches) {
      if (waiting.keys.length > 0) {
        await apply(waiting, false, removed)
        removed = []
      }
      waiting = batch
    }
    await apply(waiting, true, removed)
  }

  async #transaction<T>(
    place: StoragePlace,
    mode: RemoteMode,
    work: (run: RunRemote) => Promise<T>,
  ): Promise<T> {
    const { source } = place
    if (source.parameters.storage !== true) {
      const how = `ALTER DATABASE ${source.name} PARAMETERS {"storage": true} lets Eider write there`
      throw new AppError('invalid_database', `Database ${source.name} is read-only here: ${how}`)
    }
    if (this.#databases === null) throw new Error('the other databases are not connected')
    return this.#databases.transaction(source, mode, this.#closing.signal, async (run) => {
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

  #current(kb: KnowledgeBase): KnowledgeBase {
    return this.#parts.state.snapshot().knowledgeBases.find(({ id }) => id === kb.id) ?? kb
  }

  #here(): StoredChunks {
    if (this.#chunks === null) throw new Error('the copies have no place')
    return this.#chunks
  }
}

function newCopy(isOwner: boolean, revision: number): Copy {
  return { isOwner, revision, writes: new SerialQueue(), refreshing: null, following: null }
}

/** Keys of chunks that are gone; or, where too much has happened, all that are not. */
type Gone = readonly bigint[] | { readonly allBut: ReadonlySet<bigint> }

async function copiedRows(
  tables: OpenTables,
  { keys, rows }: KeyedRows,
  gone: Gone,
  nextChunkKey: number,
) {
  const removedKeys = 'allBut' in gone ? await keysWithout(tables, gone.allBut) : gone
  const there = await keysAmong(tables, keys)
  const at = (isThere: boolean) =>
    keys.flatMap((key, index) => (there.has(key) === isThere ? index : []))
  const pick = <T>(from: readonly T[], places: readonly number[]) =>
    places.flatMap((one) => from[one] ?? [])
  const [known, fresh] = [at(true), at(false)]
  const freshRows = pick(rows, fresh)
  const freshKeys = pick(keys, fresh)
  await replaceChunkRows(tables, freshRows, removedKeys, freshKeys)
  // A text never changes under its key.
  await rewriteChunkRows(tables, pick(rows, known), pick(keys, known))
  const { vectors } = vectorsOfRows(freshRows, 0, tables.dimensions ?? 0) ?? {}
  const changes = {
    removedKeys: BigInt64Array.from(removedKeys),
    rewrittenKeys: BigInt64Array.from(pick(keys, known)),
    ...(vectors === undefined ? {} : { keys: BigInt64Array.from(freshKeys), vectors }),
  }
  const postingCount = freshRows.reduce((sum, { terms }) => sum + terms.keys.length, 0)
  const copied = { rowCount: rows.length, postingCount, nextChunkKey, changes }
  return { result: null, newRows: [], removedKeys, copied }
}

/** The keys whose chunks are here. */
async function keysAmong(
  tables: OpenTables,
  keys: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  if (keys.length === 0) return new Set()
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks} WHERE chunk_key IN ($keys)`
  const rows = await (await runWithKeys(tables.connection, sql, { keys })).getRows()
  return new Set(rows.map(([key]) => BigInt(String(key))))
}

async function keysWithout(
  tables: OpenTables,
  kept: ReadonlySet<bigint>,
): Promise<readonly bigint[]> {
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks}`
  const rows = (await tables.connection.runAndReadAll(sql)).getRows()
  return rows.map(([key]) => BigInt(String(key))).filter((key) => !kept.has(key))
}

async function noteRevision(
  { connection }: OpenTables,
  { id }: KnowledgeBase,
  revision: number,
): Promise<void> {
  await connection.run('UPDATE eider.storages SET revision = $2 WHERE knowledge_base_id = $1', [
    id,
    revision,
  ])
}

function tooLarge({ name }: KnowledgeBase, { chunkCount }: RemoteState): AppError {
  const what = `${name} has ${chunkCount} chunks in PostgreSQL, and at most ${COPIED_CHUNKS_MAX} are copied`
  return new AppError('sql_too_costly', `${what}: divide it into several knowledge bases`)
}
