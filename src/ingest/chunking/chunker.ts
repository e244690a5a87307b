import type { Chunk, ChunkSource } from '../../domain/chunk.ts'
import type { Document, DocumentText } from '../../domain/document.ts'
import type { Preprocessing } from '../../domain/knowledge-base.ts'
import { chunkJson } from './chunk-json.ts'
import { chunkMarkdown, chunkText, type TextSpan } from './chunk-text.ts'

/** A chunk before it has a number. */
interface Piece extends TextSpan {
  readonly content: string
}

/** The chunks of a document, column by column. `null` is a step without a chunk: the caller may pause at each. */
export function* chunksOf(
  document: Document,
  preprocessing: Preprocessing,
): Generator<Chunk | null> {
  for (const text of document.texts) {
    const pieces: Piece[] = []
    for (const piece of piecesOf(text.text, preprocessing)) {
      if (piece !== null) pieces.push(piece)
      yield null
    }
    for (const [index, piece] of pieces.entries()) {
      yield chunkOf(piece, { document, text, index, count: pieces.length, preprocessing })
    }
  }
}

const SOURCES: Readonly<Record<Preprocessing['type'], ChunkSource>> = {
  text_chunking: 'TextChunkingPreprocessor',
  markdown_chunking: 'MarkdownChunkingPreprocessor',
  json_chunking: 'JSONChunkingPreprocessor',
}

function* piecesOf(text: string, preprocessing: Preprocessing): Generator<Piece | null> {
  if (preprocessing.type === 'json_chunking') {
    for (const content of chunkJson(text)) {
      yield content === null ? null : { content, startChar: 0, endChar: content.length }
    }
    return
  }
  const cut = preprocessing.type === 'markdown_chunking' ? chunkMarkdown : chunkText
  for (const span of cut(text, preprocessing)) {
    yield span === null ? null : { ...span, content: text.slice(span.startChar, span.endChar) }
  }
}

interface Place {
  readonly document: Document
  readonly text: DocumentText
  readonly index: number
  readonly count: number
  readonly preprocessing: Preprocessing
}

function chunkOf({ content, startChar, endChar }: Piece, place: Place): Chunk {
  const { document, text, index, count, preprocessing } = place
  const position = `${index + 1}of${count}:${startChar}to${endChar}`
  return {
    documentId: document.id,
    chunkId: `${document.id}:${text.column}:${position}`,
    contentColumn: text.column,
    content,
    startChar,
    endChar,
    chunkIndex: index,
    source: SOURCES[preprocessing.type],
  }
}
