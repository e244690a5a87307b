import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { TextSyntax } from '../../../src/core/domain/document.ts'
import type { Preprocessing } from '../../../src/core/domain/knowledge-base.ts'
import { type ChunkedTexts, chunkTexts } from '../../../src/ingest/chunking/chunk-texts.ts'
import {
  BuiltinEmbedder,
  builtinEmbedderOptions,
} from '../../../src/models/builtin/builtin-embedder.ts'
import { WordPiece } from '../../../src/models/builtin/word-piece.ts'
import { wordPieces } from '../../ingest/insert-fixture.ts'

const REACH = new BuiltinEmbedder().reach
const wordPiece = new WordPiece(
  await Bun.file(`${builtinEmbedderOptions().modelFolder}/vocab.txt`).text(),
)

interface Source {
  readonly text: string
  readonly syntax: TextSyntax
  readonly title: string | null
}

function chunked(
  source: Source,
  preprocessing: Partial<Preprocessing> = {},
  reach: typeof REACH | null = REACH,
): ChunkedTexts {
  const usual = { type: 'auto', chunkSizeChars: 1000, chunkOverlapChars: 200, sent: null } as const
  const rules = {
    preprocessing: { ...usual, ...preprocessing },
    language: 'english',
    reach,
  } as const
  return chunkTexts([source], rules, wordPieces)
}

/**
 * Returns the first character that is in no chunk and not white space, or null if there is none.
 */
function uncovered(text: string, { starts, ends }: ChunkedTexts): string | null {
  const spans = [...starts].map((start, index) => [start, ends[index] ?? 0] as const)
  let at = 0
  for (const [start, end] of spans.toSorted((one, other) => one[0] - other[0])) {
    if (text.slice(at, start).trim() !== '') break
    at = Math.max(at, end)
  }
  const rest = text.slice(at).trimStart()
  return rest === '' ? null : `${at}: ${rest.slice(0, 40)}`
}

/** Returns chunks that are too long for the model, together with the text embedded before them. */
function tooLong(text: string, { starts, ends, contexts, strings }: ChunkedTexts) {
  const counter = wordPieces()
  return [...starts].flatMap((start, index) => {
    const context = strings[contexts[index] ?? 0] ?? ''
    const content = text.slice(start, ends[index])
    const tokens = counter.count(`${context}\n${content}`)
    return tokens > REACH.tokensMax - REACH.frameTokens
      ? [{ tokens, content: content.slice(0, 60) }]
      : []
  })
}

function expectWhole(source: Source): void {
  const found = chunked(source)
  expect(uncovered(source.text, found)).toBe(null)
  expect(tooLong(source.text, found)).toEqual([])
}

const WORDS = [
  'the',
  'Antidisestablishmentarianism',
  'e.g.',
  'z. B.',
  '3.14',
  'foo_bar(baz)',
  '東京都',
  'の',
  '。',
  '「はい。」',
  'สวัสดีครับยินดีต้อนรับ',
  'привет',
  'مرحبا؟',
  'नमस्ते।',
  '😀',
  '👩‍👩‍👧',
  'e\u0301',
  '\u00a0',
  '한국어',
  '½',
  'ﬁ',
  '[CLS]',
  '`',
  '|',
  '#',
  '\ud800',
]
const LINES = [
  '# One',
  '## Two',
  '### Three',
  '###### Six',
  '#',
  'Title\n=====',
  '| a | b |',
  '|---|---|',
  '| 1 | 2 |',
  '```js',
  '```',
  '~~~',
  '- item',
  '    indented',
  '\tdef f(x):',
  'class A {',
  '}',
  '@decorator',
  '// note',
  '',
  '',
  '---',
  '> quote',
]
const line = fc.oneof(
  fc.constantFrom(...LINES),
  fc.array(fc.constantFrom(...WORDS), { maxLength: 60 }).map((words) => words.join(' ')),
  fc.array(fc.constantFrom(...WORDS), { maxLength: 80 }).map((words) => words.join('')),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
)
const source: fc.Arbitrary<Source> = fc.record({
  text: fc.array(line, { maxLength: 60 }).map((lines) => lines.join('\n').toWellFormed()),
  syntax: fc.constantFrom<TextSyntax>('text', 'markdown', 'code'),
  title: fc.option(fc.array(fc.constantFrom(...WORDS), { maxLength: 100 }).map((w) => w.join(' '))),
})

test('every character of every layout is in a chunk that the model reads whole', () => {
  fc.assert(fc.property(source, expectWhole), { numRuns: 400 })
})

test('every token of a chunk is in one of the parts that the model reads, each at once', () => {
  const tokensMax = REACH.tokensMax - REACH.frameTokens
  fc.assert(
    fc.property(source, ({ text }) => {
      const parts = wordPiece.encodeInParts(text, tokensMax, REACH.tokensAtOnce)
      const inner = parts.map((ids) => ids.slice(1, -1))
      expect(inner.flat()).toEqual(wordPiece.encode(text, REACH.tokensMax).slice(1, -1))
      for (const ids of inner) expect(ids.length).toBeLessThanOrEqual(REACH.tokensAtOnce)
    }),
    { numRuns: 400 },
  )
})

test('of every size and kind, every character is in a chunk of that size', () => {
  const options = fc.record({
    type: fc.constantFrom<Preprocessing['type']>(
      'auto',
      'text_chunking',
      'markdown_chunking',
      'code_chunking',
    ),
    chunkSizeChars: fc.integer({ min: 1, max: 400 }),
    chunkOverlapChars: fc.integer({ min: 0, max: 100 }),
  })
  fc.assert(
    fc.property(source, options, (one, sizes) => {
      const found = chunked(one, { ...sizes, isSizeChosen: true }, null)
      expect(uncovered(one.text, found)).toBe(null)
      const lengths = [...found.starts].map((start, index) => (found.ends[index] ?? 0) - start)
      // What appears as one character may be longer than a tiny chunk.
      if (sizes.chunkSizeChars >= 32)
        expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(sizes.chunkSizeChars)
    }),
    { numRuns: 300 },
  )
})

test.each(['text', 'markdown', 'code'] as const)('no extreme loses anything: %s', (syntax) => {
  const deep = Array.from(
    { length: 20 },
    (_, level) => `${'#'.repeat((level % 6) + 1)} Heading number ${level} ${'long '.repeat(30)}\n`,
  )
  const extremes = [
    'x'.repeat(100_000),
    'ß'.repeat(100_000),
    '漢'.repeat(20_000),
    'ก'.repeat(20_000),
    '😀'.repeat(5_000),
    '1234567890 '.repeat(5_000),
    deep.join(''),
    `${deep.join('\n')}The only text.`,
    `| ${'column | '.repeat(50_000)}\n|${'---|'.repeat(50_000)}\n| ${'value | '.repeat(50_000)}\n`,
    `| a | b |\n|---|---|\n${'| some value | another 漢字 value |\n'.repeat(2_000)}`,
    `\`\`\`\n${'const a = "b"; // comment\n'.repeat(2_000)}`,
    Array.from({ length: 300 }, (_, depth) => `${' '.repeat(depth)}if (a${depth}) {\n`).join(''),
    `class A:\n${'    def f(self):\n        return 1\n\n'.repeat(1_000)}`,
    `${' '.repeat(10_000)}a${'\n'.repeat(10_000)}b`,
    'A heading\n=========\n\n# Last',
  ]
  for (const text of extremes) expectWhole({ text, syntax, title: 'A manual' })
})
