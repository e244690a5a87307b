import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answerCases } from '../../bench/quality/answer-cases.ts'
import { isQuoted, quotesIn, quotesOf, ratesOf } from '../../bench/quality/answer-rating.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-answers-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const lines = (...values: readonly unknown[]) => values.map((one) => JSON.stringify(one)).join('\n')

async function collection(name: string, start: number): Promise<void> {
  const path = join(folder, name)
  await mkdir(join(path, 'qrels'), { recursive: true })
  const documents = [
    { _id: 'p0', title: '', text: '𝒯ea is green. It has 20 cups.' },
    { _id: 'p1', title: '', text: 'Milk is white. It has 3 cups.' },
  ]
  await Bun.write(join(path, 'corpus.jsonl'), lines(...documents))
  const questions = [
    { _id: 'q0', text: 'how many cups of tea' },
    { _id: 'q1', text: 'how many cups of milk' },
  ]
  await Bun.write(join(path, 'queries.jsonl'), lines(...questions))
  await Bun.write(join(path, 'qrels', 'test.tsv'), 'q0\tp0\t1\nq1\tp1\t1\n')
  const answers = [
    { _id: 'q0', passage: 'p0', answers: [{ text: '20', start }] },
    { _id: 'q1', passage: 'p1', answers: [{ text: '3', start: 22 }] },
  ]
  await Bun.write(join(path, 'answers.jsonl'), lines(...answers))
}

test('collections give questions with a passage, without it, and of elsewhere', async () => {
  await collection('one-a', 21)
  await collection('one-b', 21)
  const { knowledgeBases, cases } = await answerCases(folder, ['one-a', 'one-b'], 10)
  expect(knowledgeBases.map(({ name, documents }) => [name, documents.length])).toEqual([
    ['one_a', 2],
    ['one_a_half', 1],
    ['one_b', 2],
    ['one_b_half', 1],
    ['together', 4],
    ['together_half', 2],
  ])
  expect(cases.map(({ name, kind, questions }) => [name, kind, questions.length])).toEqual([
    ['one-a', 'answered', 2],
    ['one-a', 'removed', 1],
    ['one-a < one-b', 'elsewhere', 2],
    ['one-b', 'answered', 2],
    ['one-b', 'removed', 1],
    ['one-b < one-a', 'elsewhere', 2],
    ['together', 'answered', 4],
    ['together', 'removed', 2],
  ])
  // The file counts code points, while a citation counts code units.
  expect(cases[0]?.questions[0]?.gold).toMatchObject({
    documentId: 'p0',
    spans: [{ start: 22, end: 24 }],
  })
  expect(cases[6]?.questions[1]?.gold?.documentId).toBe('one-b:p0')
})

test('an offset that is not that of the answer is refused', async () => {
  await collection('wrong', 5)
  await expect(answerCases(folder, ['wrong'], 10)).rejects.toThrow('not in its passage at 5')
})

const content = 'Tea is green. It has 20 cups. Milk has 20 too.'
const gold = { documentId: 'p0', spans: [{ start: 21, end: 23 }], content }

test('an answer counts at its position, in the quote as written', () => {
  const answer =
    'Found:\n\n> Tea is *green*. **It has 20\n> cups.**\n— p0 [p0:content:1of1:0to46]\n\n' +
    '> Milk has 20 too.\n— p0 [p0:content:1of1:0to46]'
  const [first, second] = quotesIn(answer, (chunkId) => chunkId.split(':')[0])
  expect(second).toEqual({ documentId: 'p0', text: 'Milk has 20 too.', place: null })
  expect(isQuoted(gold, second === undefined ? [] : [second])).toBe(false)
  expect(isQuoted(gold, [{ documentId: 'p0', text: 'It has 20 cups.', place: null }])).toBe(true)
  expect(isQuoted(gold, [{ documentId: 'p1', text: 'It has 20 cups.', place: null }])).toBe(false)
  expect(first?.text).toBe('Tea is *green*. **It has 20\ncups.**')
})

test('citations with offsets are rated by them', () => {
  const citation = { knowledge_base: 'k', document_id: 'p0', chunk_id: 'c', text: '…' }
  const rest = { page: null, heading: null, relevance: 0.5 }
  const right = { ...citation, ...rest, start: 14, end: 29 }
  const wrong = { ...citation, ...rest, start: 30, end: 46 }
  const rates = ratesOf([
    { gold, quotes: quotesOf([right, wrong]) },
    { gold, quotes: quotesOf([wrong, right]) },
    { gold, quotes: [] },
    { gold, quotes: quotesOf([wrong]) },
  ])
  expect(rates).toMatchObject({ goldFirst: 0.25, goldInThree: 0.5, nothingFound: 0.25, count: 4 })
})
