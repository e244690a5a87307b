/** What it takes to cut the stored documents anew, as far as some of them tell. */
import { addressOfApi, listDocuments } from '../../../api/documents.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { DocumentTexts, KnowledgeBase } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { counted, shownCount } from '../../../format/numbers.ts'
import { callLine, readStoredChunks, timeLine } from './embedding-cost.ts'
import type { Preview } from './previewed-chunks.tsx'

/** Of the documents that are tried: as many from the first as from the middle of all. */
const TRIED_DOCUMENTS = 8
/** A preview shows no more chunks, and reads about so many characters. */
const PREVIEWED_CHUNKS = 1000
const TRIED_CHARS = 400_000

export interface RechunkCost {
  readonly documents: number
  readonly chunks: number
  readonly bytes: number
  readonly msPerChunk: number | null
  /** Of the documents that were tried; null: they could not be cut. */
  readonly tried: {
    readonly before: number
    readonly after: number
    /** Of those after: texts that no chunk of their document has yet. */
    readonly fresh: number
  } | null
}

/** @throws ApiError, SqlError */
export async function readRechunkCost(
  of: KnowledgeBaseName,
  kb: KnowledgeBase,
  preprocessing: object,
  signal: AbortSignal,
): Promise<RechunkCost> {
  const [stored, { total, documents }] = await Promise.all([
    readStoredChunks(of, kb, signal),
    someDocuments(of, signal),
  ])
  const tried = await tryOut({ of, kb, preprocessing, documents }, signal).catch(() => null)
  signal.throwIfAborted()
  const { chunks, bytes, msPerChunk } = stored
  return { documents: total, chunks, bytes, msPerChunk, tried }
}

async function someDocuments(of: KnowledgeBaseName, signal: AbortSignal) {
  const part = { limit: TRIED_DOCUMENTS, filters: {} }
  const first = await listDocuments(of, part, signal)
  const { total } = first
  const isMore = total > 2 * TRIED_DOCUMENTS
  const offset = Math.floor(total / 2)
  const others = isMore ? await listDocuments(of, { ...part, offset }, signal) : { items: [] }
  const texts: DocumentTexts[] = []
  let chars = 0
  for (const { id } of [...first.items, ...others.items]) {
    const one = await request<DocumentTexts>(`${addressOfApi(of)}${path`/documents/${id}`}`, {
      signal,
    })
    chars += Object.values(one.content).reduce((sum, text) => sum + text.length, 0)
    if (texts.length > 0 && chars > TRIED_CHARS) break
    texts.push(one)
  }
  return { total, documents: texts }
}

interface Trial {
  readonly of: KnowledgeBaseName
  readonly kb: KnowledgeBase
  readonly preprocessing: object
  readonly documents: readonly DocumentTexts[]
}

async function tryOut({ of, kb, preprocessing, documents }: Trial, signal: AbortSignal) {
  const rows = documents.map(({ id, content }) => ({ ...content, [kb.id_column || 'id']: id }))
  const to = path`/api/projects/${of.project}/knowledge_bases/preview`
  const json = { rows, knowledge_base: kb.name, preprocessing, limit: PREVIEWED_CHUNKS }
  const { total, chunks } = await request<Preview>(to, { method: 'POST', json, signal })
  const known = new Set(documents.flatMap(chunkTexts))
  const fresh = chunks.filter(({ content }) => !known.has(content)).length
  const before = documents.reduce((sum, one) => sum + one.chunks.length, 0)
  const share = chunks.length === 0 ? 0 : fresh / chunks.length
  return { before, after: total, fresh: total * share }
}

function chunkTexts({ content, chunks }: DocumentTexts): readonly string[] {
  return chunks.map(({ content_column: column, start_char: start, end_char: end }) => {
    return (content[column] ?? '').slice(start, end)
  })
}

/** One a line. */
export function rechunkLines(
  { documents, chunks, bytes, msPerChunk, tried }: RechunkCost,
  { provider, type }: { readonly provider: string; readonly type: string },
): readonly string[] {
  const read = `${counted(documents, 'document')} are read. Those whose chunks stay the same are left alone`
  return [
    ...(tried === null || tried.before === 0
      ? [read, 'How many chunks that makes shows once it runs']
      : [read, ...chunkLines(tried)]),
    'Ids and metadata stay. Searches go on: each document is found as it was until it is as it will be',
  ]

  function chunkLines({ before, after, fresh }: NonNullable<RechunkCost['tried']>) {
    const then = Math.round((chunks * after) / before)
    const embedded = Math.round((chunks * fresh) / before)
    if (embedded === 0) return ['As far as some documents tell, nothing changes']
    const chunkBytes = (bytes / Math.max(1, chunks)) * (before / Math.max(1, after))
    return [
      `About ${counted(then, 'chunk')} instead of ${shownCount(chunks)}, by a look at some documents`,
      provider === 'builtin'
        ? `About ${shownCount(embedded)} of them are embedded. ${timeLine(embedded, msPerChunk)}`
        : `About ${shownCount(embedded)} of them are embedded. ${callLine(embedded, embedded * chunkBytes)}`,
      ...(type === 'contextual'
        ? [`The chat model is called for each: ${shownCount(then)} calls`]
        : []),
    ]
  }
}
