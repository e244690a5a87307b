import { expect, test } from 'bun:test'
import type { TextLayout, TextSyntax } from '../../src/core/domain/document.ts'
import type { Preprocessing } from '../../src/core/domain/knowledge-base.ts'
import type { CutChunk } from '../../src/core/domain/ports/document-ports.ts'
import { chunkTexts } from '../../src/ingest/chunking/chunk-texts.ts'
import { chunkableText, chunkedDocuments } from '../../src/ingest/chunking/chunker.ts'
import { uncutDocument } from '../../src/query/documents/text-of-chunks.ts'
import { wordPieces } from '../ingest/insert-fixture.ts'

interface Cutting {
  readonly type?: Preprocessing['type']
  readonly syntax?: TextSyntax
  readonly size?: number
}

/** Returns chunks as the store returns them. */
function cut(text: string, { type = 'auto', syntax, size = 40 }: Cutting = {}): CutChunk[] {
  const layout: TextLayout | null =
    syntax === undefined ? null : { title: null, syntax, parts: null }
  const documentText = { column: 'content', text, ...(layout === null ? {} : { layout }) }
  const preprocessing = { type, chunkSizeChars: size, chunkOverlapChars: 0, sent: null }
  const rules = { preprocessing, language: 'english', reach: null } as const
  const chunked = chunkTexts([chunkableText(documentText)], rules, wordPieces)
  const document = { id: 'd', rowIndex: 0, texts: [documentText], metadata: { '2023': 5 } }
  const [found] = chunkedDocuments([document], chunked, preprocessing)
  if (found === undefined || found instanceof Error) throw found
  return found.chunks.map(({ chunk }, index) => ({
    key: BigInt(index),
    documentId: 'd',
    chunkId: chunk.chunkId,
    content: chunk.content,
    context: chunk.context ?? '',
    layout: chunk.layout ?? null,
    between: chunk.between ?? null,
    own: document.metadata,
    metadata: {
      chunk_index: chunk.chunkIndex,
      content_column: chunk.contentColumn,
      start_char: chunk.startChar,
      end_char: chunk.endChar,
      original_doc_id: 'd',
      original_row_index: '0',
      ...chunk.facts,
      source: chunk.source,
      ...document.metadata,
    },
  }))
}

const PROSE = '  A tea.  Two spaces.\tA tab.\r\nA line by itself.\n\n\nA paragraph. And its end.'
const MARKDOWN =
  '# Teas\nThe last line of it.\n## Assam\nStrong tea from Assam.\n## Green\n\n| a | b |\n| - | - |\n' +
  `${Array.from({ length: 6 }, (_, at) => `| tea ${at} | price ${at} |`).join('\n')}\n\nEnd.\n`
const CODE = `def brew(leaf):\n${Array.from({ length: 9 }, (_, at) => `    cup_${at} = leaf * ${at}`).join('\n')}\n\n\nx = 1\ny = 2\n`
const CSV = Array.from({ length: 9 }, (_, at) => `green tea ${at};${at * 3};2024-01-0${at}`).join(
  '\n',
)

test.each([
  ['prose', PROSE, {}],
  ['prose in one chunk', PROSE, { size: 500 }],
  ['prose of a file', PROSE, { syntax: 'text' }],
  ['Markdown', MARKDOWN, { syntax: 'markdown' }],
  ['Markdown of a row', MARKDOWN, { type: 'markdown_chunking' }],
  ['code', CODE, { syntax: 'code' }],
  ['code of a row', CODE, { type: 'code_chunking' }],
  ['lines of a table', CSV, { syntax: 'text' }],
  ['carriage returns', CODE.replaceAll('\n', '\r\n'), { syntax: 'code' }],
  ['Markdown with carriage returns', MARKDOWN.replaceAll('\n', '\r\n'), { syntax: 'markdown' }],
  ['sentences', PROSE, { type: 'text_chunking', size: 12 }],
] as const)('%s is put together as it was', (_, text, how: Cutting) => {
  const chunks = cut(text, how)
  const [joined] = uncutDocument('d', chunks).texts
  // If a row is one chunk, the text that follows it is not kept.
  const isWhole = chunks.length > 1 || text.startsWith(' ')
  expect(joined?.text).toBe(isWhole ? text : text.trimEnd())
  // The order in which they are found does not matter.
  expect(uncutDocument('d', chunks.toReversed()).texts[0]?.text).toBe(joined?.text ?? '')
})

test('text stored by an earlier version is refused unless no white space is missing', () => {
  const earlier = (text: string, how: Cutting) => {
    return cut(text, how).map((chunk) => ({ ...chunk, between: null, layout: null }))
  }
  const [whole] = uncutDocument('d', earlier(CODE, { syntax: 'code', size: 500 })).texts
  expect(whole?.text).toBe(CODE.trimEnd())
  for (const [text, how] of [
    [CODE, { syntax: 'code' }],
    [MARKDOWN, { syntax: 'markdown' }],
    [PROSE, { syntax: 'text' }],
    [PROSE, {}],
  ] as const) {
    expect(() => uncutDocument('d', earlier(text, how))).toThrow(
      'The white space between its chunks',
    )
  }
})

test('columns whose names are numbers come with the document, in any position', () => {
  expect(uncutDocument('d', cut(CODE, { syntax: 'code' })).metadata).toEqual({ '2023': 5 })
})

test('a document whose chunks have metadata of their own is refused, where null does not count', () => {
  const [first, second, ...others] = cut(CODE, { syntax: 'code' })
  if (first === undefined || second === undefined) throw new Error('two chunks')
  const withOwn = (own: CutChunk['own']) => [first, { ...second, own }, ...others]
  expect(uncutDocument('d', withOwn({ '2023': 5, none: null })).texts[0]?.text).toBe(CODE)
  expect(() => uncutDocument('d', withOwn({ '2023': 5, status: 'x' }))).toThrow(
    'Its chunks have metadata of their own',
  )
})
