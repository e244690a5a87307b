/** One page of the list, as its address says. */
import { findWords, listChunks, listDocuments } from '../../../api/documents.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { counted } from '../../../format/numbers.ts'
import { type ListAddress, PAGE_ROWS } from './list-address.ts'
import type { Row } from './listed-rows.tsx'

/** As many as a search by words gives. */
const FOUND_MAX = 10_000

export interface Page {
  readonly rows: readonly Row[]
  /** Null: nobody counted. */
  readonly total: number | null
  readonly next: string | null
}

/** @throws ApiError */
export async function readPage(
  of: KnowledgeBaseName,
  shown: ListAddress,
  signal: AbortSignal,
): Promise<Page> {
  const { words, within, filters, page, cursor } = shown
  const isChunks = shown.shows === 'chunks'
  if (words !== '' && within === 'text') {
    const count = Math.min(FOUND_MAX, page * PAGE_ROWS + 1)
    const search = { words, filters, count, isPerDocument: !isChunks }
    const { results } = await findWords(of, search, signal)
    const rows = results.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS).map(chunkRow)
    return { rows, total: null, next: results.length > page * PAGE_ROWS ? '' : null }
  }
  const offset = cursor === undefined ? (page - 1) * PAGE_ROWS : undefined
  const part = { limit: PAGE_ROWS, filters, named: words, cursor, offset }
  if (isChunks) {
    const { items, total, next } = await listChunks(of, part, signal)
    return { rows: items.map(chunkRow), total, next }
  }
  const { items, total, next } = await listDocuments(of, part, signal)
  const rows = items.map(({ id, title, metadata, chunk_count, characters }) => {
    const facts = `${counted(chunk_count, 'chunk')} · ${counted(characters, 'character')}`
    return { key: id, id, title: title ?? id, facts, metadata }
  })
  return { rows, total, next }
}

interface FoundChunk {
  readonly id: string
  readonly chunk_id: string
  readonly chunk_content: string
  readonly metadata: Readonly<Record<string, unknown>>
}

function chunkRow({ id, chunk_id: chunkId, chunk_content: text, metadata }: FoundChunk): Row {
  const { start_char: start, end_char: end, content_column: column, title } = metadata
  const hasPlace = typeof start === 'number' && typeof end === 'number'
  return {
    key: chunkId,
    id,
    title: typeof title === 'string' && title !== '' ? title : id,
    facts: hasPlace ? `characters ${start}–${end}` : '',
    metadata: {},
    excerpt: text.slice(0, 400),
    ...(hasPlace
      ? { place: { start, end, column: typeof column === 'string' ? column : undefined, chunkId } }
      : {}),
  }
}
