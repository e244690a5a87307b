/** Shows a knowledge base as a vector store in OpenAI's API. */

import { type Static, t } from 'elysia'
import { findQualified } from '../../../core/domain/access/catalog-snapshot.ts'

import { requireNamespace } from '../../../core/domain/access/principal.ts'
import type { KnowledgeBase, Preprocessing } from '../../../core/domain/knowledge-base.ts'
import { DEFAULT_PROJECT, fullName } from '../../../core/domain/names.ts'
import type { StoredDocument } from '../../../core/domain/ports/document-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { isObject } from '../../../core/json.ts'
import type { RouteContext } from '../request/route-context.ts'
import { integer, open, orNull } from '../request/schema-words.ts'
import type { Place } from '../routes/operation.ts'
import { attachedFiles, FILE_COUNTS, fileCounts } from './attached-files.ts'
import type { Attributes } from './attributes.ts'
import { secondsOf } from './list-page.ts'

export const CHUNKING_SCHEMA = t.Union([
  open({ type: t.Literal('auto') }),
  open({
    type: t.Literal('static'),
    static: open({
      max_chunk_size_tokens: integer({ minimum: 100, maximum: 4096 }),
      chunk_overlap_tokens: integer({ minimum: 0, maximum: 2048 }),
    }),
  }),
])

export const STORE_SCHEMA = t.Object({
  id: t.String({ description: 'project.knowledge_base' }),
  object: t.Literal('vector_store'),
  created_at: integer({ description: 'Seconds since 1970' }),
  last_active_at: integer({
    description: 'Time of the last change to its definition or documents',
  }),
  name: t.String(),
  description: orNull(t.String()),
  status: t.Union([t.Literal('in_progress'), t.Literal('completed')]),
  usage_bytes: integer({ description: 'Size of its vectors' }),
  file_counts: t.Object({ ...FILE_COUNTS, completed: integer({ description: 'Documents' }) }),
  metadata: t.Record(t.String(), t.Union([t.String(), t.Number(), t.Boolean()])),
  expires_after: t.Null(),
  expires_at: t.Null(),
})

/** By `project.name`, or `name` in the default project. @throws AppError `forbidden` */
export function storeAt(
  given: Omit<Place<{ readonly vector_store_id: string }>, 'request'>,
): KnowledgeBase {
  const { snapshot, principal } = given
  const id = given.params.vector_store_id
  const dot = id.indexOf('.')
  const projectName = dot === -1 ? DEFAULT_PROJECT : id.slice(0, dot)
  requireNamespace(principal, projectName)
  const kb = findQualified(snapshot, snapshot.knowledgeBases, projectName, id.slice(dot + 1))
  if (kb !== undefined) return kb
  const message = `No vector store has the id "${id.slice(0, 200)}"; it is project.knowledge_base, and GET /v1/vector_stores lists them`
  throw new AppError('knowledge_base_not_found', message, { param: 'vector_store_id' })
}

/** Reads `params` carefully, because other clients may have written anything into it. */
export function storeFactsOf(kb: KnowledgeBase): {
  readonly name: string
  readonly description: string | null
  readonly metadata: Attributes
} {
  const sent = kb.params.vector_store
  const { name, description, metadata } = isObject(sent) ? sent : {}
  const pairs = Object.entries(isObject(metadata) ? metadata : {}).filter(([, value]) => {
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  })
  return {
    name: typeof name === 'string' ? name : kb.name,
    description: typeof description === 'string' ? description : null,
    // Each entry was checked above.
    metadata: Object.fromEntries(pairs) as Attributes,
  }
}

export async function findDocument(
  documents: RouteContext['deps']['documents'],
  { kb, id }: { readonly kb: KnowledgeBase; readonly id: string },
  signal: AbortSignal,
): Promise<StoredDocument | undefined> {
  const order = { documentId: id, limit: 1, afterKey: 0n, offset: 0 }
  return (await documents.list(kb, order, signal)).items[0]
}

const BYTES_PER_NUMBER = 4

/** The size of the vectors of this many chunks. */
export function vectorBytes({ dimensions }: KnowledgeBase, chunkCount: number): number {
  return chunkCount * (dimensions ?? 0) * BYTES_PER_NUMBER
}

export async function storeRecord(
  { deps }: RouteContext,
  kb: KnowledgeBase,
  signal: AbortSignal,
): Promise<Static<typeof STORE_SCHEMA>> {
  const one = { limit: 1, afterKey: 0n, offset: 0 }
  const [documents, chunks, files] = await Promise.all([
    deps.documents.list(kb, one, signal),
    deps.documents.chunks(kb, one, signal),
    deps.attachments.of(kb).then(attachedFiles),
  ])
  const comeAgain = [...files.values()].filter(
    (file) => file.isAgain && file.status !== 'completed',
  )
  let countedTwice = 0
  for (const { id } of comeAgain) {
    if ((await findDocument(deps.documents, { kb, id }, signal)) !== undefined) countedTwice += 1
  }
  const counts = { ...fileCounts(files.values()), completed: documents.total - countedTwice }
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return {
    id: fullName(kb),
    object: 'vector_store',
    created_at: secondsOf(kb.createdAt),
    last_active_at: secondsOf(kb.updatedAt),
    ...storeFactsOf(kb),
    status: counts.in_progress > 0 ? 'in_progress' : 'completed',
    usage_bytes: vectorBytes(kb, chunks.total),
    file_counts: { ...counts, total },
    expires_after: null,
    expires_at: null,
  }
}

/** Typical of English and most other text in Latin script. */
const CHARS_PER_TOKEN = 4

type SentChunking = Static<typeof CHUNKING_SCHEMA>

/** For OpenAI's chunking strategy; null is the default. @throws AppError `invalid_request` */
export function preprocessingFieldOf(
  sent: SentChunking | null | undefined,
): Readonly<Record<string, unknown>> | null {
  if (sent === null || sent === undefined || sent.type === 'auto') return null
  const { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap } = sent.static
  if (overlap > size / 2) {
    const message =
      'Field "chunking_strategy.static.chunk_overlap_tokens" is at most half of max_chunk_size_tokens'
    throw new AppError('invalid_request', message, { param: 'chunking_strategy' })
  }
  const chars = { chunk_size: size * CHARS_PER_TOKEN, chunk_overlap: overlap * CHARS_PER_TOKEN }
  return { type: 'auto', auto_config: chars }
}

export const SHOWN_CHUNKING_SCHEMA = t.Union([
  t.Object({ type: t.Literal('other') }),
  t.Object({
    type: t.Literal('static'),
    static: t.Object({ max_chunk_size_tokens: integer(), chunk_overlap_tokens: integer() }),
  }),
])

export function chunkingRecord({
  isSizeChosen,
  chunkSizeChars,
  chunkOverlapChars,
}: Preprocessing): Static<typeof SHOWN_CHUNKING_SCHEMA> {
  if (isSizeChosen !== true) return { type: 'other' }
  const tokens = (chars: number) => Math.round(chars / CHARS_PER_TOKEN)
  return {
    type: 'static',
    static: {
      max_chunk_size_tokens: tokens(chunkSizeChars),
      chunk_overlap_tokens: tokens(chunkOverlapChars),
    },
  }
}
