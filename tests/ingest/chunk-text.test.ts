import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  chunkSentences,
  chunkText,
  type SpanLimits,
  type TextSpan,
} from '../../src/ingest/chunking/chunk-text.ts'

type ChunkSize = Omit<SpanLimits, 'tokens'>
const DEFAULT: ChunkSize = { chunkSizeChars: 1000, chunkOverlapChars: 200 }

function spansOf(text: string, size: ChunkSize): readonly TextSpan[] {
  return [...chunkText(text, { ...size, tokens: null })]
}

function textsOf(text: string, chunkSizeChars: number, chunkOverlapChars: number) {
  return spansOf(text, { chunkSizeChars, chunkOverlapChars }).map(({ startChar, endChar }) => {
    return text.slice(startChar, endChar)
  })
}

function ends(text: string): readonly string[] {
  return spansOf(text, DEFAULT).map(({ startChar, endChar }) => `${startChar}to${endChar}`)
}

describe('where a text is split', () => {
  test('a text that fits is one unchanged span', () => {
    expect(ends(` ${'a'.repeat(998)}\n`)).toEqual(['0to1000'])
    expect(ends('a')).toEqual(['0to1'])
  })

  test('an empty or blank text has no span', () => {
    expect(ends('')).toEqual([])
    expect(ends(' \n\t ')).toEqual([])
    expect(ends(' \n'.repeat(5000))).toEqual([])
  })

  test('a text without any boundary is cut at the size', () => {
    expect(ends('a'.repeat(2500))).toEqual(['0to1000', '800to1800', '1600to2500'])
  })

  test('at paragraphs before lines, lines before sentences, sentences before words', () => {
    expect(textsOf('One two.\n\nThree\nfour five six', 19, 0)).toEqual([
      'One two.',
      'Three\nfour five six',
    ])
    expect(textsOf('aaaa bbbb.\ncc. dd ee ff gg', 18, 0)).toEqual(['aaaa bbbb.', 'cc. dd ee ff gg'])
    expect(textsOf('One two three. Four five six', 20, 0)).toEqual([
      'One two three.',
      'Four five six',
    ])
    expect(textsOf('one two three four five six', 20, 0)).toEqual([
      'one two three four',
      'five six',
    ])
  })

  test('at separators that were chosen, the first of them first', () => {
    const limits = {
      chunkSizeChars: 12,
      chunkOverlapChars: 0,
      tokens: null,
      separators: [';', ' '],
    }
    const text = 'one two;three four five;six'
    const found = [...chunkText(text, limits)].map((span) =>
      text.slice(span.startChar, span.endChar),
    )
    expect(found).toEqual(['one two;', 'three four', 'five;six'])
  })

  test('a word that ends exactly at the size is kept whole', () => {
    expect(textsOf('aaaa bbbb cccc', 9, 0)).toEqual(['aaaa bbbb', 'cccc'])
    expect(textsOf('aaaa bbbb    cccc', 9, 0)).toEqual(['aaaa bbbb', 'cccc'])
  })

  test('an overlap begins at a boundary', () => {
    expect(textsOf('One. Two three. Four five six seven', 24, 12)).toEqual([
      'One. Two three.',
      'Two three. Four five six',
      'five six seven',
    ])
  })

  test('a sentence in a script without spaces ends at its full stop', () => {
    expect(textsOf('春眠不覚暁。処処聞啼鳥。夜来風雨声。', 9, 0)).toEqual([
      '春眠不覚暁。',
      '処処聞啼鳥。',
      '夜来風雨声。',
    ])
  })

  test('never inside a surrogate pair or between a letter and its accent', () => {
    expect(textsOf('🦆🦆🦆', 3, 0)).toEqual(['🦆', '🦆', '🦆'])
    expect(textsOf('🦆🦆', 1, 0)).toEqual(['🦆', '🦆'])
    expect(textsOf('abce\u0301fg', 4, 0)).toEqual(['abc', 'e\u0301fg'])
    expect(textsOf('ab👩‍🚀cd', 5, 0)).toEqual(['ab', '👩‍🚀', 'cd'])
  })

  test('white space between two spans belongs to none of them', () => {
    const spans = spansOf(`${'a'.repeat(900)}${' '.repeat(5000)}${'b'.repeat(900)}`, DEFAULT)
    expect(spans).toEqual([
      { startChar: 0, endChar: 900 },
      { startChar: 5900, endChar: 6800 },
    ])
  })
})

const pieces = fc.constantFrom(
  'a',
  'word',
  ' ',
  '  ',
  '\n',
  '\n\n',
  '\r\n',
  '. ',
  '。',
  '🦆',
  'e\u0301',
  '\ud800',
  '\u0000',
  '\u3000',
  '👩‍🚀',
  '"',
)
const texts = fc.array(pieces, { maxLength: 120 }).map((parts) => parts.join(''))
const sizes = fc
  .record({ chunkSizeChars: fc.integer({ min: 1, max: 40 }), share: fc.double({ min: 0, max: 1 }) })
  .map(({ chunkSizeChars, share }) => ({
    chunkSizeChars,
    chunkOverlapChars: Math.floor((chunkSizeChars - 1) * (Number.isNaN(share) ? 0 : share)),
  }))

describe('of every text and size', () => {
  test('spans go forward, are within the size and cover all but white space', () => {
    fc.assert(
      fc.property(texts, sizes, (text, size) => {
        const spans = spansOf(text, size)
        let covered = 0
        for (const { startChar, endChar } of spans) {
          expect(text.slice(startChar, endChar).trim()).not.toBe('')
          // Only a single surrogate pair can be longer than the smallest size.
          expect(endChar - startChar).toBeLessThanOrEqual(Math.max(size.chunkSizeChars, 2))
          expect(text.slice(covered, startChar).trim()).toBe('')
          expect(endChar).toBeGreaterThan(covered)
          covered = endChar
        }
        expect(text.slice(covered).trim()).toBe('')
      }),
      { numRuns: 3000 },
    )
  })

  test('no span begins or ends inside a surrogate pair', () => {
    fc.assert(
      fc.property(texts, sizes, (text, size) => {
        const isInside = (at: number) =>
          /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
        for (const { startChar, endChar } of spansOf(text, size)) {
          expect([isInside(startChar), isInside(endChar)]).toEqual([false, false])
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('two neighbours share at most the overlap', () => {
    fc.assert(
      fc.property(texts, sizes, (text, size) => {
        const spans = spansOf(text, size)
        for (const [index, { startChar }] of spans.entries()) {
          const shared = (spans[index - 1]?.endChar ?? 0) - startChar
          expect(shared).toBeLessThanOrEqual(size.chunkOverlapChars)
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('the number of spans grows with the length only, for every overlap', () => {
    const text = 'word '.repeat(20_000)
    const spans = spansOf(text, { chunkSizeChars: 1000, chunkOverlapChars: 999 })
    expect(spans.length).toBeLessThan((4 * text.length) / 1000)
  })
})

test.each([
  ['Dr. Lee came at 3.5 p.m. today.\nShe left. (He stayed.) Why?', 4],
  ['A line without a full stop\n\nThe next paragraph. 茶を飲む。水を飲む。', 4],
  ['कहानी। अगली कहानी। هل تشرب؟ نعم.', 4],
])('%j has its sentences, also where lines break', (text, count) => {
  const limits = { ...DEFAULT, tokens: null }
  const windows = [...chunkSentences(text, { windowSize: 1, windowOverlap: 0 }, limits)]
  expect(windows.map(({ startChar, endChar }) => text.slice(startChar, endChar))).toHaveLength(
    count,
  )
})
