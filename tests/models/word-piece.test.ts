import { expect, test } from 'bun:test'
import { builtinEmbedderOptions } from '../../src/models/builtin/builtin-embedder.ts'
import { WordPiece } from '../../src/models/builtin/word-piece.ts'
import { cpuMsOf } from '../support/cpu-time.ts'
import reference from './fixtures/word-piece.json'

const vocabulary = await Bun.file(`${builtinEmbedderOptions().modelFolder}/vocab.txt`).text()
const wordPiece = new WordPiece(vocabulary)

const cases: readonly { text: string; ids: unknown }[] = reference.cases.map(([text, ids]) => {
  return { text: String(text), ids }
})

// The IDs were computed with Hugging Face's `tokenizers` (BertWordPieceTokenizer, cut at 256).
test('gives the reference ids for all kinds of writing and for random text', () => {
  expect(cases.length).toBeGreaterThan(90)
  for (const { text, ids } of cases) {
    expect<unknown>({ text, ids: wordPiece.encode(text, 256) }).toEqual({ text, ids })
  }
})

test.each(reference.repeated)('gives the reference ids for "$repeat" $count times', (one) => {
  const text = one.repeat.repeat(one.count) + one.tail
  expect([...wordPiece.encode(text, 256)]).toEqual(one.ids)
})

test('never gives more tokens than asked for, and always both marks', () => {
  for (const tokensMax of [2, 3, 10]) {
    const ids = wordPiece.encode('hundreds of words '.repeat(50), tokensMax)
    expect(ids).toHaveLength(tokensMax)
    expect([ids.at(0), ids.at(-1)]).toEqual([101, 102])
  }
})

test('a long word of accented letters takes no noticeable time', () => {
  const work = () => {
    expect([...wordPiece.encode('é'.repeat(100_000), 256)]).toEqual([101, 100, 102])
  }
  expect(cpuMsOf(work)).toBeLessThan(1500)
})

test('an accent across the border of two stretches is still stripped', () => {
  const padding = ' '.repeat(4095)
  expect(wordPiece.encode(`${padding}e\u0301te`, 256)).toEqual(wordPiece.encode('ete', 256))
})

test('what is too long for once comes in parts of about equal length that begin at words', () => {
  const ids = wordPiece.encode('hydrogenation matters '.repeat(20), 1000)
  const parts = wordPiece.encodeInParts('hydrogenation matters '.repeat(20), 1000, 50)
  const inner = parts.map((part) => part.slice(1, -1))
  expect(inner.flat()).toEqual(ids.slice(1, -1))
  expect(parts.map((part) => [part.at(0), part.at(-1)])).toEqual(parts.map(() => [101, 102]))
  expect(new Set(inner.map(([first]) => first)).size).toBeLessThanOrEqual(2)
  const lengths = inner.map((part) => part.length)
  expect(Math.max(...lengths)).toBeLessThanOrEqual(50)
  expect(Math.min(...lengths)).toBeGreaterThan(25)
  expect(wordPiece.encodeInParts('short', 1000, 50)).toEqual([wordPiece.encode('short', 1000)])
})
