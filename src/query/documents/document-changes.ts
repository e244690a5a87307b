/** Writes whole documents, with the same rules as INSERT, UPDATE and DELETE. */
import { chunkFacts, ownMetadata, type Row } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { StoredChunk, StoredDocument } from '../../core/domain/ports/document-ports.ts'
import { AppError, notFound, wrongField } from '../../core/errors.ts'
import { SingleFlight, TimeSlice } from '../../core/runtime/serial-queue.ts'
import { refuseHugeMetadata, storeRows } from '../../ingest/pipeline/store-rows.ts'
import { columnMappingOf, findColumn, wellFormedRow } from '../../ingest/sources/document-of-row.ts'
import { CHUNK_KEY } from '../../sql/search/ranking.ts'
import { quotedName, selectChunks } from '../search/chunk-search.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import {
  type ListOrder,
  listChunks,
  listCondition,
  listDocuments,
  type Selection,
} from './list-documents.ts'
import { chunksByColumn, JoinedText, type TextPlace } from './text-of-chunks.ts'

export interface SentDocument {
  readonly id: string
  /** The text per content column, or a single text if there is only one content column. */
  readonly content: string | Readonly<Record<string, string | null>>
  readonly metadata: Row
}

type Kb = KnowledgeBase
export type DocumentUses = ReturnType<typeof documentUses>

/** @param depsOf creates the dependencies for one request */
export function documentUses(depsOf: () => QueryDeps) {
  const puts = new SingleFlight()
  const found = async (kb: Kb, id: string, { documents }: QueryDeps): Promise<StoredDocument> => {
    const [document] = await documents.find(kb, [id])
    if (document === undefined) throw notFound('document', id)
    return document
  }
  return {
    list: (kb: Kb, order: ListOrder, signal: AbortSignal) =>
      listDocuments(kb, order, depsOf(), signal),

    chunks: (kb: Kb, order: ListOrder, signal: AbortSignal) =>
      listChunks(kb, order, depsOf(), signal),

    /** Returns vectors by chunk key. */
    vectors: (kb: Kb, keys: readonly bigint[]) => depsOf().documents.vectorsOf(kb, keys),

    /** @throws AppError `document_not_found`, `knowledge_base_not_found` */
    async read(kb: Kb, id: string, signal: AbortSignal): Promise<DocumentTexts> {
      const stored = await depsOf().documents.chunksOf(kb, id)
      const [first] = stored
      if (first === undefined) throw notFound('document', id)
      const slice = new TimeSlice(JOINING_SLICE_MS)
      const texts: DocumentText[] = []
      const chunks: PlacedChunk[] = []
      for (const [column, placed] of chunksByColumn(stored)) {
        const text = new JoinedText()
        for (const chunk of placed) {
          chunks.push(placedChunk(chunk, column, text.add(chunk)))
          await slice.yieldIfSpent(signal)
        }
        texts.push({ column, text: text.text, isExact: text.isExact })
      }
      return { id, metadata: ownMetadata(first.metadata), texts, chunks }
    },

    /**
     * Stores a document, replacing the one with the same id.
     * @returns the stored document, and whether it is new
     * @throws AppError `invalid_request` for an unknown column, `insert_failed` if the document
     * cannot be stored; errors of the embedder and the store
     */
    async put(kb: Kb, sent: SentDocument, signal: AbortSignal) {
      const key = JSON.stringify([kb.id, sent.id])
      // One after the other, so that only the first one finds the document new.
      for (let other = puts.of(key); other !== undefined; other = puts.of(key)) await other
      return puts.run(key, async () => {
        const deps = depsOf()
        const row = sentRow(kb, sent)
        const [known] = await deps.documents.find(kb, [sent.id])
        const counts = { storedDocuments: 0, skippedRows: 0, chunks: 0, readRows: 0 }
        const target = { kb, source: 'document', rows: [row], isUnbounded: false, counts }
        await storeRows(target, deps, signal)
        if (counts.storedDocuments === 0) {
          throw new AppError('insert_failed', 'The document has no text in its content columns')
        }
        return { document: await found(kb, sent.id, deps), isNew: known === undefined }
      })
    },

    /**
     * Changes metadata of a document; null removes a key. Text and vectors stay, so nothing is
     * embedded.
     * @throws AppError `document_not_found`, `invalid_request` for an unknown column,
     * `insert_failed` for a value that does not fit the declared type of its column
     */
    async patch(kb: Kb, { id, metadata: sent }: Pick<SentDocument, 'id' | 'metadata'>) {
      const deps = depsOf()
      const entries = metadataEntries(kb, sent)
      const known = await found(kb, id, deps)
      const metadata = Object.fromEntries(entries)
      const changed = { id: known.id, metadata: { ...known.metadata, ...metadata } }
      refuseHugeMetadata(changed, known.chunkCount)
      if (entries.length === 0) return known
      const change = { documentId: id, columns: [], chunks: [], metadata, nullRemoves: true }
      await deps.chunks.changeDocuments(kb, [change])
      return found(kb, id, deps)
    },

    /** @throws AppError `document_not_found` */
    async remove(kb: Kb, id: string): Promise<void> {
      const deps = depsOf()
      const keys = (await deps.documents.chunksOf(kb, id)).map(({ key }) => key)
      const removed = keys.length === 0 ? 0 : await deps.chunks.removeChunks(kb, keys)
      if (removed === 0) throw notFound('document', id)
    },

    /** In one transaction. @throws AppError `invalid_request` for filters, and like `runSelect` */
    async removeAll(kb: Kb, selection: Selection, signal: AbortSignal) {
      const deps = depsOf()
      const condition = listCondition(kb, selection)
      const name = quotedName(kb)
      const sql = `SELECT ${CHUNK_KEY}, id FROM ${name} WHERE id IN (SELECT id FROM ${name} WHERE ${condition.sql})`
      const request = { sql, params: condition.params, readsChunkKeys: true }
      const keys: bigint[] = []
      const ids = new Set<string>()
      for await (const batch of (await selectChunks(kb, request, deps, signal)).batches) {
        for (const [key, id] of batch) {
          keys.push(BigInt(String(key)))
          ids.add(String(id))
        }
      }
      const chunks = keys.length === 0 ? 0 : await deps.chunks.removeChunks(kb, keys)
      return { documents: chunks === 0 ? 0 : ids.size, chunks }
    },
  }
}

/** @throws AppError `invalid_request` */
function sentRow(kb: KnowledgeBase, { id, content, metadata }: SentDocument): Row {
  if (id.trim() === '') throw new AppError('invalid_request', 'The id of a document is not empty')
  const { contentColumns, idColumns } = columnMappingOf(kb)
  const row: Record<string, Row[string]> = {}
  for (const name of contentColumns) row[name] = null
  const [only = '', ...others] = contentColumns
  if (typeof content === 'string') {
    if (others.length > 0) {
      const columns = contentColumns.join(', ')
      throw wrongField('content', `must be an object with the content columns ${columns}`)
    }
    row[only] = content
  } else {
    for (const [name, text] of Object.entries(content)) {
      const column = findColumn(contentColumns, name)
      if (column === undefined) {
        throw wrongField(`content.${name}`, `is not a content column: ${contentColumns.join(', ')}`)
      }
      row[column] = text
    }
  }
  const [idColumn = 'id'] = idColumns
  return { ...Object.fromEntries(metadataEntries(kb, metadata)), ...row, [idColumn]: id }
}

/** With the column names spelled as in the base. @throws AppError `invalid_request` */
function metadataEntries(kb: KnowledgeBase, metadata: Row): readonly [string, Row[string]][] {
  const { contentColumns, idColumns, metadataColumns } = columnMappingOf(kb)
  const row = wellFormedRow(metadata)
  return Object.entries(row).map(([name, value]) => {
    if (findColumn([...contentColumns, ...idColumns], name) !== undefined) {
      throw wrongField(`metadata.${name}`, 'is not metadata: it is a content column or the id')
    }
    const declared = metadataColumns === null ? name : findColumn(metadataColumns, name)
    if (declared !== undefined) return [declared, value]
    const columns = metadataColumns?.join(', ') || 'none'
    throw wrongField(`metadata.${name}`, `is not a metadata column: ${columns}`)
  })
}

/** A document with its texts, reassembled from its chunks. */
export interface DocumentTexts {
  readonly id: string
  readonly metadata: Row
  readonly texts: readonly DocumentText[]
  readonly chunks: readonly PlacedChunk[]
}

export interface DocumentText {
  readonly column: string
  readonly text: string
  /** False if the chunks leave out part of the text, or if a chunk was changed on its own. */
  readonly isExact: boolean
}

export interface PlacedChunk {
  readonly chunkId: string
  readonly column: string
  /** Where the chunk starts in its column's text, in UTF-16 code units. */
  readonly startChar: number
  readonly endChar: number
  /** The preprocessor that created the chunk. */
  readonly source: string
  /** Facts about this chunk alone, such as `page`. */
  readonly facts: Row
}

const JOINING_SLICE_MS = 4

function placedChunk(chunk: StoredChunk, column: string, { start, end }: TextPlace): PlacedChunk {
  const { chunkId, metadata } = chunk
  const place = { startChar: start, endChar: end }
  return { chunkId, column, ...place, source: String(metadata.source), facts: chunkFacts(metadata) }
}
