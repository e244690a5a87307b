import { type EiderClient, eiderClient } from '../../scripts/eider-client.ts'
import { startServer } from '../../scripts/server-process.ts'
import { runLoad } from '../load.ts'
import { sampleTexts } from '../sample-texts.ts'
import { PROJECT } from '../scenario.ts'
import type { OpenPeer, Peer, PeerPlaces, SearchAnswers, SearchRequest } from './peer.ts'
import { startStubVectors } from './stub-vectors.ts'
import { BUCKETS, K, type VectorSet } from './vector-set.ts'

export interface EiderPeerOptions extends Omit<Peer, 'open'> {
  /** Built after the rows have been inserted. */
  readonly index?: 'ivf'
}

export const KNOWLEDGE_BASE = 'passages'
const ROWS_PER_INSERT = 2000
const WORDS = 98

/** The product as its users access it: SQL over HTTP, with JSON parsed on both sides. */
export function eiderPeer({ index, ...peer }: EiderPeerOptions): Peer {
  return { ...peer, open: (places) => openEider(places, index) }
}

async function openEider(
  { set, folder }: PeerPlaces,
  index: EiderPeerOptions['index'],
): Promise<OpenPeer> {
  const stub = startStubVectors(set)
  const server = await startServer({ dataDirectory: folder }).catch((error) => {
    stub.stop()
    throw error
  })
  const client = eiderClient(server.baseUrl)
  const nearest = nearestOf(client)
  return {
    versions: `Eider, Bun ${Bun.version}`,
    pid: server.pid,
    load: async () => {
      await fillWithVectors(client, set.rowCount, stub.model)
      if (index !== undefined) await indexed(client, index)
    },
    search: (request) => searched(request, set, nearest),
    close: async () => {
      await server.stop()
      stub.stop()
    },
  }
}

const INDEX_MS_MAX = 600_000
const POLL_MS = 200

async function indexed(client: EiderClient, type: string): Promise<void> {
  await client.sql(`CREATE INDEX ON KNOWLEDGE_BASE ${KNOWLEDGE_BASE} WITH (type = '${type}')`)
  const deadline = performance.now() + INDEX_MS_MAX
  while (performance.now() < deadline) {
    const { rows } = await client.sql('SHOW INDEXES')
    // The server may decline to use lists, which also counts as built.
    if (!JSON.stringify(rows).includes('"building"')) return
    await Bun.sleep(POLL_MS)
  }
  throw new Error(`No index after ${INDEX_MS_MAX / 1000} s`)
}

/** Fills a knowledge base with a document per row: `row 17`, 98 more words, its bucket. The stub has the vectors. */
export async function fillWithVectors(
  client: EiderClient,
  rowCount: number,
  embeddingModel: Readonly<Record<string, unknown>>,
): Promise<void> {
  await client.request('POST', `${PROJECT}/knowledge_bases`, {
    knowledge_base: {
      name: KNOWLEDGE_BASE,
      content_columns: ['content'],
      metadata_columns: ['bucket'],
      id_column: 'id',
      embedding_model: embeddingModel,
    },
  })
  for (let from = 0; from < rowCount; from += ROWS_PER_INSERT) {
    await insertRows(client, from, Math.min(from + ROWS_PER_INSERT, rowCount))
  }
}

/** @param to the exclusive end */
export async function insertRows(client: EiderClient, from: number, to: number): Promise<void> {
  const texts = await sampleTexts()
  const rows = Array.from({ length: to - from }, (_, at) => {
    const row = from + at
    const content = `row ${row} ${texts.text(row, WORDS)}`
    return { id: String(row), bucket: row % BUCKETS, content }
  })
  await client.request('PUT', `${PROJECT}/knowledge_bases/${KNOWLEDGE_BASE}`, {
    knowledge_base: { rows },
  })
}

export type Nearest = (query: readonly number[], keep: number) => Promise<readonly number[]>

/** Returns the row indexes that one search found. */
export function nearestOf(client: EiderClient): Nearest {
  return async (query, keep) => {
    const filter = keep === BUCKETS ? '' : `AND bucket < ${keep}`
    const answer = await client.request('POST', '/sql/query', {
      query: `SELECT id FROM ${KNOWLEDGE_BASE} WHERE content = :q ${filter} LIMIT ${K}`,
      params: { q: query },
    })
    // The contract defines this form, and a failed statement has no data.
    const { data, error_message } = answer as Record<string, unknown>
    if (!Array.isArray(data)) throw new Error(`SQL: ${error_message}`)
    return data.map((row: unknown) => Number(Array.isArray(row) ? row[0] : Number.NaN))
  }
}

/** Runs a closed loop of searches by clients in this process. */
export async function searched(
  { clients, count, durationMs, from, keep }: SearchRequest,
  { queries }: VectorSet,
  nearest: Nearest,
): Promise<SearchAnswers> {
  const found: (readonly number[] | null)[] = Array.from({ length: count }, () => null)
  const asked = Array.from({ length: count }, (_, at) => {
    return [...(queries[(from + at) % queries.length] ?? [])]
  })
  const load = { clients, requestsMax: count, durationMs }
  const { latenciesMs, elapsedMs } = await runLoad(load, async (at) => {
    found[at] = await nearest(asked[at] ?? [], keep)
  })
  return { latenciesMs, elapsedMs, found }
}
