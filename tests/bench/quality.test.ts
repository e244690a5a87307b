import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beirCollection } from '../../bench/quality/beir-collection.ts'
import { measuredMode } from '../../bench/quality/measured-mode.ts'
import { searchModes } from '../../bench/quality/search-mode.ts'
import type { EiderClient } from '../../scripts/eider-client.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-quality-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function collectionOf(name: string, files: Readonly<Record<string, string>>) {
  const path = join(folder, name)
  await mkdir(join(path, 'qrels'), { recursive: true })
  for (const [file, text] of Object.entries(files)) await Bun.write(join(path, file), text)
  return beirCollection(path)
}

const CORPUS = '{"_id":"1","title":"Tea","text":"leaves"}\n{"_id":"2","title":"","text":"milk"}'
const QUERIES = '{"_id":"q1","text":"drink"}\n\n{"_id":"q2","text":"nobody judged this"}\n'

test('a collection is read with its judged questions only', async () => {
  const { documents, questions } = await collectionOf('good', {
    'corpus.jsonl': CORPUS,
    'queries.jsonl': QUERIES,
    'qrels/test.tsv': 'query-id\tcorpus-id\tscore\r\nq1\t1\t2\r\nq1\t2\t0\r\n',
  })
  expect(documents).toEqual([
    { id: '1', content: 'Tea\nleaves', title: null },
    { id: '2', content: 'milk', title: null },
  ])
  expect(questions.map(({ id, text }) => [id, text])).toEqual([['q1', 'drink']])
  expect([...(questions[0]?.judgments ?? [])]).toEqual([
    ['1', 2],
    ['2', 0],
  ])
})

test.each([
  ['corpus.jsonl', '{"_id":"1","text":"a"}\n{"_id":', 'corpus.jsonl:2: no JSON'],
  ['corpus.jsonl', '{"_id":1,"text":"a"}', 'corpus.jsonl:1: no text in _id'],
  ['corpus.jsonl', 'null', 'corpus.jsonl:1: no text in _id, text'],
  ['queries.jsonl', '{"_id":"q1"}', 'queries.jsonl:1: no text in text'],
  ['qrels/test.tsv', 'h\th\th\nq1\t1\n', 'test.tsv:2: no grade'],
  ['qrels/test.tsv', 'q1\t1\tInfinity', 'test.tsv:1: no grade'],
])('%s with the text %p is refused with its place', async (file, text, said) => {
  const files = {
    'corpus.jsonl': CORPUS,
    'queries.jsonl': QUERIES,
    'qrels/test.tsv': 'q1\t1\t1',
    [file]: text,
  }
  await expect(collectionOf(`bad-${Bun.hash(said)}`, files)).rejects.toThrow(said)
})

test('a folder without a collection is refused with the file that is missing', async () => {
  await expect(beirCollection(join(folder, 'nowhere'))).rejects.toThrow('corpus.jsonl')
})

test('modes are names and weights', () => {
  expect(searchModes('default, keyword,0.3').map(({ fields }) => fields)).toEqual([
    {},
    { mode: 'keyword' },
    { alpha: 0.3 },
  ])
  for (const list of ['', 'fuzzy', '1.5', 'vector,']) {
    expect(() => searchModes(list)).toThrow('No mode')
  }
})

/** A server that gives this answer to every search. */
const clientOf = (answer: unknown): EiderClient => ({
  request: () => Promise.resolve(answer),
  sql: () => Promise.reject(new Error('not expected')),
  ask: () => {
    throw new Error('not expected')
  },
})
const [VECTOR = { name: '', fields: {} }] = searchModes('vector')
const QUESTIONS = [{ id: 'q', text: 'drink', judgments: new Map([['b', 1]]) }]

test('documents are rated in their order', async () => {
  const asked: unknown[] = []
  const client = clientOf({ results: [{ id: 'a' }, { id: 'b' }] })
  const noting: EiderClient = {
    ...client,
    request: (method, path, body) => {
      asked.push(body)
      return client.request(method, path, body)
    },
  }
  const { near, deep } = await measuredMode(noting, VECTOR, QUESTIONS)
  expect(near.reciprocalRank).toBe(1 / 2)
  expect(deep.recall).toBe(1)
  expect(asked).toEqual([
    { query: 'drink', mode: 'vector', k: 100, per_document: true, columns: [] },
  ])
})

test('an answer without results is reported', async () => {
  await expect(measuredMode(clientOf({}), VECTOR, QUESTIONS)).rejects.toThrow('no results')
})
