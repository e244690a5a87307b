/** What it takes to embed all chunks again, by what is stored and by how fast it goes here. */
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { request } from '../../../api/request.ts'
import { quoted, runSql } from '../../../api/sql.ts'
import { counted, shownBytes, shownCount, shownDuration } from '../../../components/numbers.ts'

interface StoredChunks {
  readonly chunks: number
  readonly bytes: number
  /** Of one vector; null: nobody tried. */
  readonly dimensions: number | null
  /** How long the built-in model takes for one; null: it was not tried. */
  readonly msPerChunk: number | null
}

/** Enough to be measured, and less than a moment. */
const TRIED_CHUNKS = 48
const CALL_TEXTS_MAX = 256
const CALL_BYTES_MAX = 262_144
/** Of texts in Latin letters; others have more. */
const BYTES_PER_TOKEN = 4
const BYTES_PER_NUMBER = 4

/** @throws SqlError, ApiError */
export async function readStoredChunks(
  of: KnowledgeBaseName,
  kb: KnowledgeBase,
  signal?: AbortSignal,
): Promise<StoredChunks> {
  const from = `${quoted(of.project)}.${quoted(of.name)}`
  const { rows } = await runSql({
    sql: `SELECT count(*), coalesce(sum(strlen(chunk_content)), 0) FROM ${from}`,
    project: of.project,
    signal,
  })
  const [chunks = 0, bytes = 0] = rows[0] ?? []
  const stored = { chunks: Number(chunks), bytes: Number(bytes) }
  // Others cost money: they are not tried without being asked.
  if (kb.embedding_model.provider !== 'builtin' || stored.chunks === 0) {
    return { ...stored, dimensions: null, msPerChunk: null }
  }
  return { ...stored, ...(await tried(of, signal)) }
}

interface EmbeddingAnswer {
  readonly data: readonly { readonly embedding: readonly number[] }[]
}

async function tried(of: KnowledgeBaseName, signal: AbortSignal | undefined) {
  const { rows } = await runSql({
    sql: `SELECT chunk_content FROM ${quoted(of.project)}.${quoted(of.name)} LIMIT ${TRIED_CHUNKS}`,
    project: of.project,
    signal,
  })
  const input = rows.map(([content]) => String(content))
  const begun = performance.now()
  const { data } = await request<EmbeddingAnswer>('/v1/embeddings', {
    method: 'POST',
    json: { model: `${of.project}.${of.name}`, input },
    signal,
  })
  const ms = performance.now() - begun
  return { dimensions: data[0]?.embedding.length ?? null, msPerChunk: ms / input.length }
}

/** The figures of a change to a model of a provider, one a line. */
export function costLines(stored: StoredChunks, provider: string): readonly string[] {
  const { chunks, bytes, dimensions, msPerChunk } = stored
  if (chunks === 0) return ['There are no chunks yet: the model changes at once and costs nothing']
  const tokens = Math.max(1, Math.round(bytes / BYTES_PER_TOKEN))
  const vectors = dimensions === null ? null : chunks * dimensions * BYTES_PER_NUMBER
  return [
    `${counted(chunks, 'chunk')} are embedded again: ${shownBytes(bytes)} of text, about ${shownCount(tokens)} tokens`,
    provider === 'builtin' ? timeLine(chunks, msPerChunk) : callLine(chunks, bytes),
    vectors === null
      ? 'Until it is done, the vectors of both models are on disk'
      : `Until it is done, the vectors of both models are on disk: ${shownBytes(vectors)} each at ${shownCount(dimensions ?? 0)} numbers a vector`,
    'Searches and inserts use the current model meanwhile. The new one takes over when every chunk has its new vector',
  ]
}

/** Of a model that is called. */
export function callLine(chunks: number, bytes: number): string {
  const calls = Math.max(Math.ceil(chunks / CALL_TEXTS_MAX), Math.ceil(bytes / CALL_BYTES_MAX))
  return `About ${counted(calls, 'call')} to the provider, four at a time, at its price per token. How long it takes is shown once it runs`
}

/** Of the built-in model. */
export function timeLine(chunks: number, msPerChunk: number | null): string {
  if (msPerChunk === null) return 'It runs on this server and costs no calls'
  const rate = shownCount(Math.max(1, Math.round(1000 / msPerChunk)))
  return `About ${shownDuration(chunks * msPerChunk)} on this server, at ${rate} chunks a second as just tried`
}
