import { describe, expect, test } from 'bun:test'
import { DEFAULT_JSON_CHUNKING, type Preprocessing } from '../../src/core/domain/knowledge-base.ts'
import { chunkTexts } from '../../src/ingest/chunking/chunk-texts.ts'
import { chunkableText, chunkedDocuments } from '../../src/ingest/chunking/chunker.ts'
import { wordPieces } from './insert-fixture.ts'

function chunks(
  type: Preprocessing['type'],
  text: string,
  chunkSizeChars = 1000,
  chunkOverlapChars = 0,
) {
  const document = { id: 'd', rowIndex: 0, texts: [{ column: 'body', text }], metadata: {} }
  const json = type === 'json_chunking' ? { json: DEFAULT_JSON_CHUNKING } : {}
  const preprocessing = { type, chunkSizeChars, chunkOverlapChars, ...json, sent: null }
  const rules = { preprocessing, language: 'english', reach: null } as const
  const chunked = chunkTexts([{ text }], rules, wordPieces)
  const [found] = chunkedDocuments([document], chunked, preprocessing)
  if (found === undefined || found instanceof Error) throw found
  return found.chunks.map(({ chunk }) => chunk)
}

describe('text', () => {
  test('chunk ids hold document, column, position and offsets', () => {
    expect(chunks('text_chunking', 'aaaa bbbb cccc', 9)).toEqual([
      {
        documentId: 'd',
        chunkId: 'd:body:1of2:0to9',
        contentColumn: 'body',
        content: 'aaaa bbbb',
        startChar: 0,
        endChar: 9,
        chunkIndex: 0,
        source: 'TextChunkingPreprocessor',
        between: ' ',
      },
      {
        documentId: 'd',
        chunkId: 'd:body:2of2:10to14',
        contentColumn: 'body',
        content: 'cccc',
        startChar: 10,
        endChar: 14,
        chunkIndex: 1,
        source: 'TextChunkingPreprocessor',
      },
    ])
  })
})

describe('slides', () => {
  test('are never in one chunk, but for headings alone; each knows its number and its own headings', () => {
    const slides = ['# Teas', '# Green\n\nSencha.', 'A slide without a title.', '# Black\n\nAssam.']
    const starts = slides.map((_, at) => slides.slice(0, at).join('\n\n').length + (at > 0 ? 2 : 0))
    const parts = { unit: 'slide', starts } as const
    const layout = { title: null, syntax: 'markdown', parts } as const
    const texts = [{ column: 'body', text: slides.join('\n\n'), layout }]
    const document = { id: 'd', rowIndex: 0, texts, metadata: {} }
    const preprocessing = {
      type: 'auto',
      chunkSizeChars: 1000,
      chunkOverlapChars: 0,
      sent: null,
    } as const
    const rules = { preprocessing, language: 'english', reach: null } as const
    const chunked = chunkTexts(texts.map(chunkableText), rules, wordPieces)
    const [found] = chunkedDocuments([document], chunked, preprocessing)
    if (found === undefined || found instanceof Error) throw found
    expect(found.chunks.map(({ chunk }) => [chunk.content, chunk.facts])).toEqual([
      [
        '# Teas\n\n# Green\n\nSencha.',
        { heading: 'Green', slide: 1, slide_end: 2, slide_starts: [8] },
      ],
      ['A slide without a title.', { slide: 3, slide_end: 3 }],
      ['# Black\n\nAssam.', { heading: 'Black', slide: 4, slide_end: 4 }],
    ])
  })
})

describe('Markdown', () => {
  const text =
    '# Ducks\n\n## Eider\nA sea duck.\n\n```\n# no heading\n```\n## Mallard\nGreen head.\n'

  test('each section is a chunk; a heading alone stays with the next one', () => {
    const found = chunks('markdown_chunking', text, 55)
    expect(found.map(({ content }) => content)).toEqual([
      '# Ducks\n\n## Eider\nA sea duck.\n\n```\n# no heading\n```',
      '## Mallard\nGreen head.',
    ])
    expect(found.every((one) => text.slice(one.startChar, one.endChar) === one.content)).toBe(true)
    expect(found[0]?.source).toBe('MarkdownChunkingPreprocessor')
  })

  test('a long section is cut as text is', () => {
    const long = `intro\n# A\n${'word '.repeat(20)}\n# B\nend`
    const found = chunks('markdown_chunking', long, 40)
    expect(found.length).toBeGreaterThan(3)
    expect(found.every((one) => long.slice(one.startChar, one.endChar) === one.content)).toBe(true)
    expect(found.at(-1)?.content).toBe('# B\nend')
  })

  const blocks = ['```js\nlet a = 1\n\nlet b = 2\n```', '| a | b |\n|---|---|\n| 1 | 2 |']
  test.each(blocks)('%j is whole, also before text that is cut', (block) => {
    const long = `Before.\n\n${block}\n\n${'Words after. '.repeat(8)}`
    const found = chunks('markdown_chunking', long, 80, 40)
    const [start, end] = [long.indexOf(block), long.indexOf(block) + block.length]
    const having = found.filter(({ startChar, endChar }) => startChar < end && endChar > start)
    expect(having.map(({ content }) => content)).toEqual([`Before.\n\n${block}`])
    expect(found.every((one) => long.slice(one.startChar, one.endChar) === one.content)).toBe(true)
  })
})

describe('JSON', () => {
  test('one chunk for each element, a line for each value', () => {
    const text = JSON.stringify([
      { name: 'eider', size: { cm: 60 }, tags: ['sea', 'duck'], nests: [{ at: 'coast' }], x: null },
      'plain',
      null,
    ])
    const found = chunks('json_chunking', text)
    expect(found.map(({ content }) => content)).toEqual([
      'name: eider\nsize.cm: 60\ntags: sea, duck\nnests[0].at: coast',
      'plain',
    ])
    expect(found[1]).toMatchObject({
      chunkId: 'd:body:2of2:0to5',
      source: 'JSONChunkingPreprocessor',
    })
  })

  test('an object is one chunk', () => {
    expect(chunks('json_chunking', '{"a":1,"b":true}').map((one) => one.content)).toEqual([
      'a: 1\nb: true',
    ])
  })

  test('invalid or endlessly nested JSON is an error and no chunk', () => {
    expect(() => chunks('json_chunking', 'not json')).toThrow(
      /The content is neither valid JSON nor a valid Python literal/,
    )
    const deep = `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`
    expect(() => chunks('json_chunking', deep)).toThrow(/nested deeper than 200 levels/)
  })
})
