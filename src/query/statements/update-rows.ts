import type { ChunkChange } from '../../domain/chunk.ts'
import type { Row, RowValue } from '../../domain/document.ts'
import { DEFAULT_CONTENT_COLUMNS, type KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { ResultValue } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import { findColumn } from '../../ingest/column-rule.ts'
import { type NewTexts, replaceTexts } from '../../ingest/replace-texts.ts'
import type { Assignment, RowStatement } from '../../sql/statements/row-statements.ts'
import type { QueryDeps } from '../query-deps.ts'
import { type MatchingChunk, matchingChunks, namesIn } from './matching-chunks.ts'
import type { RowRequest } from './row-request.ts'

type Update = Extract<RowStatement, { kind: 'update' }>

/** What a SET column is to the knowledge base. */
type Target =
  | { readonly kind: 'content'; readonly column: string }
  | { readonly kind: 'metadata'; readonly name: string }
  /** The whole object: its keys are set, others stay. */
  | { readonly kind: 'metadata_object' }

/**
 * Computes the new values by a SELECT, then changes just the chunks that it found: metadata in place; a new content of
 * the chunk where WHERE names `chunk_id`, else of its whole document, which is cut and embedded anew.
 * @returns how many chunks changed
 * @throws AppError `sql_not_supported` for what cannot be set, `insert_failed` for a content that cannot be stored
 */
export async function updateRows(
  request: RowRequest<Update>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<number> {
  const { statement, kb } = request
  const targets = statement.assignments.map((assignment) => targetOf(assignment, kb))
  const expressions = ['id', 'chunk_content', ...statement.assignments.map(({ value }) => value)]
  const chunks = await matchingChunks(request, { expressions, deps }, signal)
  if (chunks.length === 0) return 0
  const changes = chunks.map((chunk) => changeOf(chunk, targets))
  const isOfContent = targets.some((target) => target.kind === 'content')
  const isOfChunks = statement.where !== null && namesIn(statement.where).includes('chunk_id')
  if (!isOfContent || isOfChunks) return changeChunks(kb, changes, { deps, signal })
  const store = { chunks: deps.chunks, embedder: deps.embedders.embedder(kb.embeddingModel) }
  return replaceTexts({ kb, changes: documentsOf(changes) }, store, signal)
}

interface Change {
  readonly chunkKey: bigint
  readonly documentId: string
  readonly oldContent: string
  /** Content column → new text. */
  readonly texts: ReadonlyMap<string, string>
  readonly metadata: Row
}

const FIXED_COLUMNS = new Set(['id', 'chunk_id', 'relevance', 'distance'])

function targetOf({ column }: Assignment, kb: KnowledgeBase): Target {
  const [first = '', second, ...rest] = column
  if (rest.length > 0) throw notSettable(column.join('.'), 'a name has at most two parts')
  if (second !== undefined) {
    if (first.toLowerCase() === 'metadata') return metadataTarget(second, kb)
    return targetOf({ column: [second], value: '' }, kb)
  }
  const key = first.toLowerCase()
  if (key === 'metadata') return { kind: 'metadata_object' }
  const contentColumns = kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS
  const content = findColumn(contentColumns, first)
  if (content !== undefined) return { kind: 'content', column: content }
  if (key === 'content' || key === 'chunk_content') {
    const [only, ...others] = contentColumns
    if (only !== undefined && others.length === 0) return { kind: 'content', column: only }
    throw notSettable(first, `the content columns are ${contentColumns.join(', ')}`)
  }
  const isId = kb.idColumn !== null && key === kb.idColumn.toLowerCase()
  if (FIXED_COLUMNS.has(key) || isId) throw notSettable(first, 'it is not a value of the document')
  return metadataTarget(first, kb)
}

function metadataTarget(name: string, kb: KnowledgeBase): Target {
  if (kb.metadataColumns === null) return { kind: 'metadata', name }
  const declared = findColumn(kb.metadataColumns, name)
  if (declared !== undefined) return { kind: 'metadata', name: declared }
  throw notSettable(name, `the metadata columns are ${kb.metadataColumns.join(', ') || 'none'}`)
}

function notSettable(name: string, why: string): AppError {
  return new AppError('sql_not_supported', `Column ${name} cannot be set: ${why}`)
}

function changeOf({ chunkKey, values }: MatchingChunk, targets: readonly Target[]): Change {
  const [documentId, oldContent, ...assigned] = values
  const texts = new Map<string, string>()
  const metadata: Record<string, RowValue> = {}
  for (const [index, target] of targets.entries()) {
    const value = assigned[index] ?? null
    if (target.kind === 'content') texts.set(target.column, textOf(value))
    else if (target.kind === 'metadata') metadata[target.name] = value
    else Object.assign(metadata, objectOf(value))
  }
  return {
    chunkKey,
    documentId: String(documentId),
    oldContent: String(oldContent),
    texts,
    metadata,
  }
}

function textOf(value: ResultValue): string {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  if (text !== null && String(text).trim() !== '') return String(text)
  throw new AppError('insert_failed', 'The new content is empty; to take rows away use DELETE')
}

function objectOf(value: ResultValue): Row {
  const object = typeof value === 'string' ? parsed(value) : value
  if (typeof object === 'object' && object !== null && !Array.isArray(object)) {
    // What JSON holds is a row's values.
    return object as Row
  }
  throw new AppError('insert_failed', 'metadata is set to a JSON object')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function changeChunks(
  kb: KnowledgeBase,
  changes: readonly Change[],
  { deps, signal }: { readonly deps: QueryDeps; readonly signal: AbortSignal },
): Promise<number> {
  const texts = new Set<string>()
  for (const { texts: own, oldContent } of changes) {
    for (const text of own.values()) if (text !== oldContent) texts.add(text)
  }
  const vectors = new Map<string, Float32Array>()
  if (texts.size > 0) {
    const wanted = [...texts]
    const found = await deps.embedders.embedder(kb.embeddingModel).embed(wanted, signal)
    for (const [index, text] of wanted.entries()) {
      const vector = found[index]
      if (vector !== undefined) vectors.set(text, vector)
    }
  }
  const stored = changes.map(({ chunkKey, texts: own, oldContent, metadata }): ChunkChange => {
    const [text] = own.values()
    if (text === undefined || text === oldContent) return { chunkKey, metadata }
    const vector = vectors.get(text)
    if (vector === undefined) {
      throw new AppError('provider_failed', 'The embedding model gave too few vectors')
    }
    return { chunkKey, metadata, content: { text, vector } }
  })
  return deps.chunks.changeChunks(kb, stored)
}

/** @throws AppError `insert_failed` where the chunks of a document get different texts */
function documentsOf(changes: readonly Change[]): readonly NewTexts[] {
  const documents = new Map<string, NewTexts>()
  for (const { documentId, texts, metadata } of changes) {
    const known = documents.get(documentId)
    for (const [column, text] of texts) {
      if (known === undefined || known.texts.get(column) === text) continue
      const how = 'name the chunk by chunk_id in WHERE'
      const message = `The chunks of document ${documentId} get different texts; ${how}`
      throw new AppError('insert_failed', message)
    }
    documents.set(documentId, { documentId, texts, metadata })
  }
  return [...documents.values()]
}
