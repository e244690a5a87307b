import { nameMeant, notAvailable } from '../../core/domain/agents/agent.ts'
import { byteSize, firstBytes } from '../../core/domain/agents/agent-limits.ts'
import { pageAt } from '../../core/domain/agents/completion-event.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { fullName, literal } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { type DataReader, sqlName } from '../data/agent-data.ts'
import { passagesOf, type ShownPassage } from '../evidence/shown-passages.ts'
import { type ArgumentSpecs, readArguments } from './named-arguments.ts'

/** How many characters of a document are on one page. */
const PAGE_CHARS = 8_000
const NEIGHBOURS = 2
const NEIGHBOURS_MAX = 10
/** Chunks in one answer. */
const CHUNKS_MAX = 100

export const READ_DOCUMENT = {
  knowledge_base: {
    type: 'string',
    isRequired: true,
    description: 'A knowledge base (project.kb)',
  },
  document_id: { type: 'string', description: 'The id of a document, to read it page by page' },
  chunk_id: { type: 'string', description: 'A chunk_id, to read the text around that chunk' },
  page: {
    type: 'integer',
    min: 1,
    max: 1_000_000,
    description: `With document_id: which page of ${PAGE_CHARS} characters, from 1`,
  },
  neighbours: {
    type: 'integer',
    min: 1,
    max: NEIGHBOURS_MAX,
    description: `With chunk_id: how many chunks before and after it; ${NEIGHBOURS} if not given`,
  },
  column: { type: 'string', description: 'Which content column, for documents that have several' },
} as const satisfies ArgumentSpecs

export interface ReadDocument {
  readonly text: string
  readonly passages: readonly ShownPassage[]
}

/** A document's text, reassembled from its chunks, with each chunk's id before its part. */
export async function readDocument(
  input: string,
  reader: DataReader,
  signal: AbortSignal,
  bytesMax: number,
): Promise<ReadDocument> {
  const { knowledge_base, ...wanted } = readArguments(input, READ_DOCUMENT)
  const { knowledgeBases } = reader.scope.allowed
  const names = knowledgeBases.map(fullName)
  const name = nameMeant(knowledge_base, reader.scope.project, names)
  const kb = knowledgeBases.find((one) => fullName(one) === name)
  if (kb === undefined) throw new AppError('sql_forbidden', notAvailable(knowledge_base, names))
  const span = wantedSpan(kb, wanted)
  const document = `${sqlName(kb)} WHERE id = ${literal(span.documentId)}`
  const ofColumn =
    span.column === null ? '' : ` AND metadata->>'content_column' = ${literal(span.column)}`
  const size = `SELECT metadata->>'content_column' AS name, count(*) AS chunks, max(CAST(metadata->>'end_char' AS BIGINT)) AS chars FROM ${document}${ofColumn} GROUP BY 1 ORDER BY min(chunk_id)`
  const columns = (await reader.read(size, signal)).rows
  const [column] = columns
  if (column === undefined) throw noDocument(kb, span)
  const [columnName, chunkCount, chars] = column.map(String)
  const within = `${document} AND metadata->>'content_column' = ${literal(columnName ?? '')} AND ${span.condition}`
  const select = `SELECT id, chunk_id, chunk_content, metadata FROM ${within} ORDER BY CAST(metadata->>'chunk_index' AS BIGINT) LIMIT ${CHUNKS_MAX}`
  const found = await reader.read(select, signal, CHUNKS_MAX)
  const passages = passagesOf(found, [kb], true)
  const others = columns.slice(1).map(([other]) => String(other))
  const pages = Math.max(1, Math.ceil(Number(chars) / PAGE_CHARS))
  const head = [
    `Document ${span.documentId} of ${fullName(kb)}, column ${columnName}: ${chars} characters in ${chunkCount} chunks`,
    ...(span.page === null
      ? []
      : [
          `Page ${span.page} of ${pages}${span.page < pages ? `; the next one: page ${span.page + 1}` : ''}`,
        ]),
    ...(others.length === 0 ? [] : [`Other columns: ${others.join(', ')}`]),
    ...(passages.length === 0 ? [`This page does not exist: the document has ${pages}`] : []),
  ]
  return stitched(
    `${head.join('\n')}\n`,
    {
      passages,
      starts: found.rows.map(([, chunkId]) => Number(CHUNK_ID.exec(String(chunkId))?.[5] ?? 0)),
    },
    span,
    bytesMax,
  )
}

interface WantedSpan {
  readonly documentId: string
  /** null means the first column. */
  readonly column: string | null
  readonly condition: string
  /** null means the page that contains a given chunk. */
  readonly page: number | null
  readonly fromChar: number
  readonly untilChar: number
}

interface Wanted {
  readonly document_id: string | null
  readonly chunk_id: string | null
  readonly page: number | null
  readonly neighbours: number | null
  readonly column: string | null
}

const CHUNK_ID = /^(.*):([^:]*):(\d+)of(\d+):(\d+)to(\d+)$/s

function wantedSpan(kb: KnowledgeBase, wanted: Wanted): WantedSpan {
  const { document_id: documentId, chunk_id: chunkId, column } = wanted
  if (chunkId !== null) {
    const [, id, ofColumn, number] =
      CHUNK_ID.exec(chunkId.trim().replace(/^\[(.*)\]$/s, '$1')) ?? []
    if (id === undefined || ofColumn === undefined) {
      const message = `"${chunkId.slice(0, 200)}" is not a chunk_id: use one that a search in ${fullName(kb)} returned`
      throw new AppError('invalid_request', message)
    }
    const index = Number(number) - 1
    const reach = wanted.neighbours ?? NEIGHBOURS
    const condition = `CAST(metadata->>'chunk_index' AS BIGINT) BETWEEN ${index - reach} AND ${index + reach}`
    return {
      documentId: id,
      column: ofColumn,
      condition,
      page: null,
      fromChar: 0,
      untilChar: Infinity,
    }
  }
  if (documentId === null) {
    throw new AppError(
      'invalid_request',
      'Give document_id to read a document, or chunk_id to read the text around a chunk',
    )
  }
  const page = wanted.page ?? 1
  const fromChar = (page - 1) * PAGE_CHARS
  const untilChar = page * PAGE_CHARS
  const condition = `CAST(metadata->>'start_char' AS BIGINT) < ${untilChar} AND CAST(metadata->>'end_char' AS BIGINT) > ${fromChar}`
  return { documentId, column, condition, page, fromChar, untilChar }
}

function noDocument(kb: KnowledgeBase, { documentId }: WantedSpan): AppError {
  const message = `${fullName(kb)} has no document "${documentId.slice(0, 200)}" with such a column. Its ids are in the column id: SELECT DISTINCT id FROM ${sqlName(kb)} LIMIT 20`
  return new AppError('document_not_found', message)
}

const CUT = '\n(cut here for lack of space. Continue with the chunk_id of the last one.)'

/** Chunks overlap, so each adds only what the previous ones lack. */
function stitched(
  head: string,
  {
    passages,
    starts,
  }: { readonly passages: readonly ShownPassage[]; readonly starts: readonly number[] },
  { fromChar, untilChar }: WantedSpan,
  bytesMax: number,
): ReadDocument {
  const shown: ShownPassage[] = []
  let text = head
  let end = fromChar
  for (const [index, passage] of passages.entries()) {
    const start = starts[index] ?? 0
    const content = passage.text ?? ''
    const until = Math.min(content.length, untilChar - start)
    const from = Math.max(0, end - start)
    const own = content.slice(from, until).toWellFormed()
    if (own.trim() === '') continue
    const { pages = null, heading = null } = passage.place ?? {}
    const page = pages === null ? '' : `page ${pageAt(pages, from)}`
    const place = [page, heading ?? ''].filter((part) => part !== '')
    const next = `\n[${passage.chunkId}]${place.length === 0 ? '' : ` (${place.join(', ')})`}\n${own}\n`
    shown.push(passage)
    if (byteSize(text) + byteSize(next) > bytesMax - byteSize(CUT)) {
      text = `${firstBytes(`${text}${next}`, bytesMax - byteSize(CUT))}${CUT}`
      break
    }
    text += next
    end = Math.max(end, start + content.length)
  }
  return { text, passages: shown }
}
