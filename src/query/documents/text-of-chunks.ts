/** Reassembles the texts of documents from their chunks. */

import type { Document, DocumentText, Row, TextLayout } from '../../core/domain/document.ts'
import { areAlike, chunkFacts, ownMetadata } from '../../core/domain/document.ts'
import type { CutChunk, StoredChunk } from '../../core/domain/ports/document-ports.ts'
import { AppError } from '../../core/errors.ts'
import { oneLine } from '../../core/short-text.ts'

/** The preprocessor whose chunks have derived text, which does not occur in the original. */
const MADE_OF_TEXT = 'JSONChunkingPreprocessor'

const MADE_JOINT = '\n\n'

/** A range in UTF-16 code units. */
export interface TextPlace {
  readonly start: number
  readonly end: number
}

/** White space in place of text between chunks that no chunk contains. */
function filled(length: number): string {
  return length === 1 ? ' ' : '\n'.repeat(length)
}

/** A text assembled chunk by chunk, with the same offsets as the original. */
export class JoinedText {
  #pieces: string[] = []
  /** The chunk that ends last so far. */
  #last = { content: '', end: 0 }
  /** False if the chunks leave out part of the text, or if a chunk is not part of it. */
  isExact = true
  /** False if a chunk differs from the part of the text that it was cut from. */
  isCutAsStored = true
  readonly #fill: (length: number) => string

  constructor(fill = filled) {
    this.#fill = fill
  }

  get text(): string {
    return this.#pieces.join('')
  }

  /** @returns where the chunk is in the text */
  add(chunk: StoredChunk): TextPlace {
    return chunk.metadata.source === MADE_OF_TEXT ? this.#append(chunk) : this.#join(chunk)
  }

  /** Appends derived text as a new line, because it has no position in the original. */
  #append({ content }: StoredChunk): TextPlace {
    const joint = this.#pieces.length === 0 ? '' : MADE_JOINT
    const start = this.#last.end + joint.length
    this.#pieces.push(joint, content)
    this.#last = { content, end: start + content.length }
    this.isExact = false
    this.isCutAsStored = false
    return { start, end: this.#last.end }
  }

  #join(chunk: StoredChunk): TextPlace {
    const { content } = chunk
    const [start, end] = [chunkStart(chunk), chunkEnd(chunk)]
    const { end: known } = this.#last
    if (start > known) {
      // White space between chunks is not part of any chunk.
      this.#pieces.push(this.#fill(start - known))
      this.isExact = false
    }
    const isPart = content.length === end - start
    this.isCutAsStored &&= isPart && this.#isRepeated(content, known - start)
    this.isExact &&= isPart
    this.#pieces.push(content.slice(Math.max(0, known - start)))
    if (end > known) this.#last = { content, end }
    return { start, end }
  }

  /** Whether the overlap with the previous chunk is the same in both. */
  #isRepeated(content: string, length: number): boolean {
    if (length <= 0) return true
    const { content: before } = this.#last
    const shared = content.slice(0, length)
    return before.slice(before.length - length).startsWith(shared)
  }
}

function chunkStart({ metadata }: StoredChunk): number {
  return Number(metadata.start_char)
}

function chunkEnd({ metadata }: StoredChunk): number {
  return Number(metadata.end_char)
}

/** The sort key of a chunk. Chunks made from JSON have an order but no position. */
function sortPlace(chunk: StoredChunk): number {
  return chunk.metadata.source === MADE_OF_TEXT ? 0 : chunkStart(chunk)
}

function indexOf({ metadata }: StoredChunk): number {
  return Number(metadata.chunk_index)
}

/** Groups chunks by content column, in text order. */
export function chunksByColumn<T extends StoredChunk>(
  chunks: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  const byColumn = Map.groupBy(chunks, ({ metadata }) => String(metadata.content_column))
  for (const [column, ofColumn] of byColumn) {
    byColumn.set(
      column,
      ofColumn.toSorted((a, b) => sortPlace(a) - sortPlace(b) || indexOf(a) - indexOf(b)),
    )
  }
  return byColumn
}

/** From all of its chunks. @throws AppError `insert_failed` if they do not allow it */
export function uncutDocument(id: string, chunks: readonly CutChunk[]): Document {
  if (!areAlike(chunks.map(({ own }) => own))) {
    const message = 'Its chunks have metadata of their own, which new chunks would not have'
    throw new AppError('insert_failed', message)
  }
  const own = ownMetadata(chunks[0]?.metadata ?? {})
  const texts = [...chunksByColumn(chunks)].map(([column, ofColumn]): DocumentText => {
    const text = uncutText(ofColumn)
    const layout = wholeLayout(ofColumn, own)
    return layout === null ? { column, text } : { column, text, layout }
  })
  return { id, rowIndex: 0, texts, metadata: own }
}

function uncutText(chunks: readonly CutChunk[]): string {
  if (chunks.some(({ metadata }) => metadata.source === MADE_OF_TEXT)) {
    throw untold('Its chunks were made of JSON, and the JSON itself is not stored')
  }
  const between = chunks.find((chunk) => chunk.between !== null)?.between ?? ''
  let at = 0
  const joined = new JoinedText((length) => {
    at += length
    return between.slice(at - length, at)
  })
  for (const chunk of chunks) joined.add(chunk)
  const areAll = chunks.every(({ chunkId }) => countIn(chunkId) === chunks.length)
  if (!areAll || !joined.isCutAsStored) {
    throw untold('A chunk of it was changed or deleted on its own, so its text is incomplete')
  }
  if (at > between.length) throw untold('The white space between its chunks is not stored')
  return joined.text + between.slice(at)
}

/** Reads the total from a chunk id, `<id>:<column>:<n>of<total>:<start>to<end>`. */
function countIn(chunkId: string): number {
  return Number(/:\d+of(\d+):\d+to\d+$/.exec(chunkId)?.[1])
}

/** Facts that mark the start of a file's part; only the file's layout has these starts. */
const PLACE_COLUMNS = ['page', 'slide', 'chapter', 'cell'] as const

/** Returns null for a document without a known layout. */
function wholeLayout(chunks: readonly CutChunk[], own: Row): TextLayout | null {
  const known = chunks.find(({ layout }) => layout !== null)
  if (known !== undefined) return known.layout
  // The chunk was stored by an earlier version or imported.
  const facts = chunks.map(({ metadata }) => chunkFacts(metadata))
  const has = (name: string) => facts.some((one) => one[name] !== undefined)
  const part = PLACE_COLUMNS.find(has)
  if (part !== undefined) throw untold(`Where each ${part} of it begins is not stored`)
  const title = contextTitle(chunks, own)
  const isMarkdown =
    has('heading') || chunks.some(({ metadata }) => metadata.source === MARKDOWN_CHUNKS)
  if (isMarkdown) return { title, syntax: 'markdown', parts: null }
  if (!has('line')) return null
  return { title, syntax: own.format === 'code' ? 'code' : 'text', parts: null }
}

const MARKDOWN_CHUNKS = 'MarkdownChunkingPreprocessor'

/** Returns the title if the chunks were embedded together with it. */
function contextTitle(chunks: readonly CutChunk[], { title }: Row): string | null {
  if (typeof title !== 'string' || title === '') return null
  const begin = oneLine(title)
  return chunks.some(({ context }) => context.startsWith(begin)) ? title : null
}

function untold(why: string): AppError {
  return new AppError('insert_failed', `${why}: add the document again`)
}
