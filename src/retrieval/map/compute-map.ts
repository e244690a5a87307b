/** Computes a map: the main thread reads vectors and texts, and a worker thread does the rest. */

import { chunkTables } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { RunLimits } from '../../core/domain/ports/engine-ports.ts'
import type {
  RowReader,
  VectorBatch,
  VectorRows,
  VectorSource,
} from '../../core/domain/ports/retrieval-ports.ts'
import type { ChunkMap, MapProgress } from '../../core/domain/ports/search-ports.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'
import { WorkerHost } from '../../core/runtime/worker-host.ts'
import {
  type FromMapThread,
  rowsAt,
  type ToMapThread,
  WAY,
  type WantedTexts,
} from './map-protocol.ts'
import type { RegionText } from './region-words.ts'

/** If there are more chunks, this many are sampled evenly. */
const POINTS_MAX = 200_000
/** How many vectors are enough to find the principal components. */
const SAMPLE_MAX = 4_000
/** How much of each text to read for naming its region. */
const TEXT_CHARS = 600
const TEXTS_AT_ONCE = 500
const READING: RunLimits = { timeoutMs: 60_000 }

export interface ComputeMapDeps {
  readonly vectors: VectorSource
  readonly reader: RowReader
  readonly workerUrl: string
  readonly nowMs: () => number
}

/** @param onProgress throw an error to stop @throws errors of reading; the signal's reason */
export async function computeMap(
  kb: KnowledgeBase,
  deps: ComputeMapDeps,
  signal: AbortSignal,
  onProgress: (progress: MapProgress) => void,
): Promise<ChunkMap> {
  const startMs = deps.nowMs()
  const sample = await deps.vectors.readAll(kb, (rows) => sampleOf(rows, signal))
  if (sample.rowsMax === 0) return emptyMap(kb, sample.revision)
  const thread = new MapWorker(deps.workerUrl, signal, onProgress)
  try {
    const { revision: _, ...first } = sample
    await thread.ask({ kind: 'sample', ...first }, [first.values.buffer])
    const read = await deps.vectors.readAll(kb, (rows) => {
      return sendRows(rows, { thread, rowsMax: sample.rowsMax, onProgress }, signal)
    })
    const wanted = await thread.ask({ kind: 'place' })
    if (wanted.kind !== 'placed') throw unexpected(wanted)
    const texts = await regionTexts(kb, wanted, deps, signal)
    const named = await thread.ask({ kind: 'name', texts, language: kb.language })
    if (named.kind !== 'named') throw unexpected(named)
    const { kind: __, ...placed } = named
    const seconds = (deps.nowMs() - startMs) / 1000
    return { ...placed, ...read, version: versionOf(kb, read.revision), seconds }
  } finally {
    await thread.close()
  }
}

export function versionOf({ id, vectorsNumber }: KnowledgeBase, revision: number): string {
  return `${id}-${vectorsNumber}-${revision}`
}

function emptyMap(kb: KnowledgeBase, revision: number): ChunkMap {
  const none = new Uint16Array()
  return {
    version: versionOf(kb, revision),
    ...{ revision, chunkCount: 0, seconds: 0, keys: new BigInt64Array() },
    ...{ x: none, y: none, regionOf: none, regions: [] },
  }
}

async function sampleOf({ revision, count, dimensions, batches }: VectorRows, signal: AbortSignal) {
  const sampleCount = Math.min(count, SAMPLE_MAX)
  const values = new Float32Array(sampleCount * dimensions)
  let row = 0
  let taken = 0
  for await (const batch of batches) {
    signal.throwIfAborted()
    for (let at = 0; at < batch.keys.length; at++, row++) {
      if (taken >= sampleCount || !isChosen(row, count, sampleCount)) continue
      values.set(batch.vectors.subarray(at * dimensions, (at + 1) * dimensions), taken * dimensions)
      taken += 1
    }
  }
  // Allow for chunks added since the first reading.
  const rowsMax = count === 0 ? 0 : Math.min(POINTS_MAX, Math.ceil(count * 1.1) + 1_000)
  return { revision, dimensions, rowsMax, values: values.slice(0, taken * dimensions) }
}

/** Chooses `wanted` of `count` rows evenly, and always the same ones. */
function isChosen(row: number, count: number, wanted: number): boolean {
  if (count <= wanted) return true
  return Math.floor(((row + 1) * wanted) / count) > Math.floor((row * wanted) / count)
}

interface Sending {
  readonly thread: MapWorker
  readonly rowsMax: number
  readonly onProgress: (progress: MapProgress) => void
}

async function sendRows(
  { revision, count, dimensions, batches }: VectorRows,
  { thread, rowsMax, onProgress }: Sending,
  signal: AbortSignal,
) {
  const wanted = Math.min(count, rowsMax)
  let row = 0
  let sent = 0
  for await (const batch of batches) {
    signal.throwIfAborted()
    const isWanted = (at: number) => sent < wanted && isChosen(row + at, count, wanted)
    const part = chosenRows(batch, dimensions, isWanted)
    row += batch.keys.length
    sent += part.keys.length
    if (part.keys.length > 0) await thread.ask({ kind: 'rows', ...part }, [part.values.buffer])
    onProgress({ stage: 'reading', share: (WAY.reading[1] * row) / Math.max(1, count) })
  }
  return { revision, chunkCount: count }
}

/** Copies the rows, because a batch is valid only until the next one. */
function chosenRows(
  { keys, vectors }: VectorBatch,
  dimensions: number,
  isWanted: (at: number) => boolean,
) {
  const rows = [...keys.keys()].filter(isWanted)
  if (rows.length === keys.length) return { keys: keys.slice(), values: vectors.slice() }
  return rowsAt(rows, { keys, values: vectors }, dimensions)
}

async function regionTexts(
  kb: KnowledgeBase,
  { keys, regions }: WantedTexts,
  { reader }: ComputeMapDeps,
  signal: AbortSignal,
): Promise<readonly RegionText[]> {
  const { chunks } = chunkTables(kb)
  const regionOf = new Map(Array.from(keys, (key, at) => [key, regions[at] ?? 0]))
  const texts: RegionText[] = []
  for (let from = 0; from < keys.length; from += TEXTS_AT_ONCE) {
    const sql = `SELECT chunk_key, left(chunk_content, ${TEXT_CHARS}) FROM ${chunks} WHERE chunk_key IN ($keys)`
    const values = { keys: [...keys.subarray(from, from + TEXTS_AT_ONCE)] }
    const found = await reader.run({ sql, values }, READING, signal)
    for await (const batch of found.batches) {
      for (const [key, text] of batch) {
        const region = regionOf.get(BigInt(String(key)))
        if (region !== undefined) texts.push({ region, text: String(text) })
      }
    }
  }
  return texts
}

function unexpected({ kind }: FromMapThread): Error {
  return new Error(`the thread of a map answered "${kind}" to something else`)
}

class MapWorker {
  readonly #host: WorkerHost
  readonly #signal: AbortSignal
  readonly #stopListening: () => void
  #waiting: PromiseWithResolvers<FromMapThread> | null = null
  #end: Error | null = null

  constructor(url: string, signal: AbortSignal, onProgress: (progress: MapProgress) => void) {
    this.#signal = signal
    this.#host = new WorkerHost({
      url,
      // Only a `MapThread` sends messages.
      onMessage: (data) => this.#heard(data as FromMapThread, onProgress),
      onEnd: (cause) => this.#fail(new Error('the thread of a map ended', { cause })),
    })
    this.#stopListening = onAbort(signal, () => this.#fail(signal.reason))
  }

  async ask(
    message: ToMapThread,
    transfer: readonly ArrayBufferLike[] = [],
  ): Promise<FromMapThread> {
    this.#signal.throwIfAborted()
    if (this.#end !== null) throw this.#end
    this.#waiting = Promise.withResolvers()
    this.#host.post(
      message,
      transfer.filter((one) => one instanceof ArrayBuffer),
    )
    return this.#waiting.promise
  }

  async close(): Promise<void> {
    this.#stopListening()
    await this.#host.terminate()
  }

  #heard(message: FromMapThread, onProgress: (progress: MapProgress) => void): void {
    if (message.kind !== 'progress') {
      this.#waiting?.resolve(message)
      return
    }
    try {
      onProgress(message.progress)
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #fail(error: Error): void {
    this.#end = error
    this.#waiting?.reject(error)
  }
}
