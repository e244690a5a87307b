import type { Document, Row, TextSyntax } from '../../core/domain/document.ts'
import { type Chunk, embeddedText } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { EmbedderReach, EmbedderRegistry } from '../../core/domain/ports/model-ports.ts'
import type { ChunkStore, CutCounts } from '../../core/domain/ports/store-ports.ts'
import { AppError } from '../../core/errors.ts'
import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import { chunkDocuments } from '../chunking/chunker.ts'
import {
  columnMappingOf,
  contentId,
  documentOfRow,
  documentRow,
  LAYOUT_COLUMN,
  layoutValue,
} from '../sources/document-of-row.ts'
import { rowsOfFiles } from '../sources/file-rows.ts'
import type { InsertDeps } from '../sources/insert-request.ts'

export interface PreviewRequest {
  /** How to chunk, and for which model. Nothing is stored. */
  readonly kb: Pick<
    KnowledgeBase,
    | 'preprocessing'
    | 'language'
    | 'embeddingModel'
    | 'contentColumns'
    | 'metadataColumns'
    | 'idColumn'
  >
  readonly source:
    | {
        readonly kind: 'text'
        readonly text: string
        readonly syntax: TextSyntax
        readonly title: string | null
      }
    | { readonly kind: 'rows'; readonly rows: readonly Row[] }
    | { readonly kind: 'file'; readonly name: string }
  readonly limit: number
}

export interface Preview {
  readonly chunks: readonly PreviewedChunk[]
  readonly chunkCount: number
  /** Null if the model's input limit is unknown. */
  readonly tokensMax: number | null
  readonly warnings: readonly string[]
}

export interface PreviewedChunk {
  readonly chunk: Chunk
  readonly embedded: string
}

/** Reads only the start of a long source. @throws AppError `file_not_found`, `insert_failed` */
export async function preview(
  request: PreviewRequest,
  deps: Pick<InsertDeps, 'snapshot' | 'files' | 'chunker' | 'embedders'>,
  signal: AbortSignal,
): Promise<Preview> {
  const { kb, limit } = request
  const { reach = null } = deps.embedders.embedder(kb.embeddingModel)
  const { documents, isWhole } = await documentsOf(request, deps, signal)
  const target = { kb, reach, chunker: deps.chunker }
  const chunks: PreviewedChunk[] = []
  const counts = { chunkCount: 0, cutCount: 0 }
  for (const chunked of await chunkDocuments(documents, target, signal)) {
    if (chunked instanceof AppError) throw chunked
    for (const { chunk } of chunked.chunks) {
      counts.chunkCount += 1
      if (chunk.isCut === true) counts.cutCount += 1
      if (chunks.length < limit) chunks.push({ chunk, embedded: embeddedText(chunk) })
    }
  }
  const warnings = [
    ...(reach === null ? [] : cutWarning(counts, reach)),
    ...(isWhole ? [] : [partWarning()]),
  ]
  return { chunks, chunkCount: counts.chunkCount, tokensMax: reach?.tokensMax ?? null, warnings }
}

function partWarning(): string {
  const limits = `${INGEST_LIMITS.previewRows} rows and ${INGEST_LIMITS.previewChars} characters`
  return `A preview reads the first ${limits}: there is more`
}

async function documentsOf(
  { kb, source }: PreviewRequest,
  deps: Pick<InsertDeps, 'snapshot' | 'files'>,
  signal: AbortSignal,
): Promise<{ readonly documents: readonly Document[]; readonly isWhole: boolean }> {
  const mapping = columnMappingOf(kb)
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const documents: Document[] = []
  let chars = 0
  let rowIndex = 0
  for await (const row of previewedRows({ kb, source }, deps, signal)) {
    await slice.yieldIfSpent(signal)
    if (rowIndex >= INGEST_LIMITS.previewRows || chars >= INGEST_LIMITS.previewChars) {
      return { documents, isWhole: false }
    }
    const read = documentOfRow(row, rowIndex, mapping)
    rowIndex += 1
    if (read.texts.length === 0) continue
    const texts = read.texts.map((text) => {
      const part = text.text.slice(0, INGEST_LIMITS.previewChars - chars).toWellFormed()
      chars += text.text.length
      return { ...text, text: part }
    })
    documents.push({ ...read, texts, id: read.id ?? (await contentId(texts, slice, signal)) })
  }
  return { documents, isWhole: chars <= INGEST_LIMITS.previewChars }
}

async function* previewedRows(
  { kb, source }: Pick<PreviewRequest, 'kb' | 'source'>,
  deps: Pick<InsertDeps, 'snapshot' | 'files'>,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  if (source.kind === 'rows') yield* source.rows
  else if (source.kind === 'file') yield* rowsOfFiles({ kb, files: [source.name] }, deps, signal)
  else {
    const { text: content, syntax, title } = source
    const columns = { title, [LAYOUT_COLUMN]: layoutValue({ syntax, parts: null }) }
    yield documentRow({ id: 'preview', content, columns }, columnMappingOf(kb))
  }
}

/** Returns warnings about a knowledge base's stored chunks. Cheap unless something was written. */
export async function chunkWarnings(
  kb: KnowledgeBase,
  given: {
    readonly chunks: Pick<ChunkStore, 'cutCounts'>
    readonly embedders: Pick<EmbedderRegistry, 'embedder'>
  },
): Promise<readonly string[]> {
  const { chunks, embedders } = given
  try {
    const { reach } = embedders.embedder(kb.embeddingModel)
    return reach === undefined ? [] : cutWarning(await chunks.cutCounts(kb), reach)
  } catch (error) {
    // The model cannot be called, or the knowledge base was dropped. Other requests report that.
    if (error instanceof AppError) return []
    throw error
  }
}

/** No warning if the model can read every chunk completely. */
function cutWarning(
  { cutCount, chunkCount }: CutCounts,
  { tokensMax }: EmbedderReach,
): readonly string[] {
  if (cutCount === 0) return []
  const share = `${cutCount} of ${chunkCount} chunks are longer than the ${tokensMax} tokens`
  const what = 'that the embedding model reads, and what comes after these is in no vector'
  const how = 'set a smaller chunk_size or leave it out, and insert the documents again'
  return [`${share} ${what}: ${how}`]
}
