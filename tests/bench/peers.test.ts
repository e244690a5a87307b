import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OpenPeer, Peer, SearchAnswers } from '../../bench/peers/peer.ts'
import { processPeer } from '../../bench/peers/process-peer.ts'
import { recallPlot } from '../../bench/peers/recall-plot.ts'
import { markdownTable, peerRows } from '../../bench/peers/report.ts'
import { runRounds, tasksOf } from '../../bench/peers/rounds.ts'
import { nearestTables } from '../../bench/peers/true-nearest.ts'
import { madeVectors, type VectorSet } from '../../bench/peers/vector-set.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-peers-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const IN_PROCESS = {
  name: 'fake',
  label: 'Fake',
  reach: 'in process',
  hasFilter: true,
  settings: [{ label: 'ef 8', value: 8 }],
} as const

test('the truth is what sorting every row finds, for each filter', () => {
  const rows = Float32Array.from({ length: 40 * 4 }, (_, at) => Math.sin(at * at))
  const queries = [Float32Array.of(1, 0, 0, 0), Float32Array.of(0.5, -0.5, 0.5, 0.5)]
  const isEven = (row: number) => row % 2 === 0
  const [all, even] = nearestTables({ rows, queries, k: 5 }, [() => true, isEven])
  const sorted = queries.map((query) => {
    const similarity = (row: number) => {
      return query.reduce((sum, part, at) => sum + part * (rows[row * 4 + at] ?? 0), 0)
    }
    return Array.from({ length: 40 }, (_, row) => row).sort((a, b) => {
      return similarity(b) - similarity(a)
    })
  })
  expect(all).toEqual(sorted.map((order) => order.slice(0, 5)))
  expect(even).toEqual(sorted.map((order) => order.filter(isEven).slice(0, 5)))
})

test('the vectors are the same on every run, of length one', () => {
  const one = madeVectors(20, 2)
  expect(madeVectors(20, 2)).toEqual(one)
  const [query = new Float32Array()] = one.queries
  expect(Math.hypot(...query)).toBeCloseTo(1, 5)
  expect(one.truth[1000].map((rows) => rows.length)).toEqual([10, 10])
})

/** Knows the truth but loses the last row of each search with a filter. */
function forgetfulPeer(set: VectorSet): { readonly peer: Peer; readonly open: OpenPeer } {
  const open: OpenPeer = {
    versions: 'fake 1',
    pid: process.pid,
    load: () => Promise.resolve(),
    close: () => Promise.resolve(),
    search: ({ from, count, keep }) => {
      const found = Array.from({ length: count }, (_, at) => {
        const rows = set.truth[keep][(from + at) % set.queries.length] ?? []
        return keep === 1000 ? rows : rows.slice(0, -1)
      })
      const answers: SearchAnswers = {
        latenciesMs: found.map((_, at) => at),
        elapsedMs: 500,
        found,
      }
      return Promise.resolve(answers)
    },
  }
  return { peer: { ...IN_PROCESS, open: () => Promise.resolve(open) }, open }
}

test('rounds are added up: latencies, rate, recall, and rows that are missing', async () => {
  const set: VectorSet = { ...madeVectors(10_000, 3), folder }
  const loaded = forgetfulPeer(set)
  const rounds: number[] = []
  const results = await runRounds(tasksOf([loaded]), { set, rounds: 2 }, (round) => {
    rounds.push(round)
  })
  const loading = {
    name: 'fake',
    versions: '',
    loadSeconds: 1.23,
    memoryMb: 12.3,
    diskMb: Number.NaN,
  }
  const [row] = peerRows(results, [loading])
  expect(rounds).toEqual([1, 2])
  expect(row).toMatchObject({ label: 'Fake, ef 8', searches: 120, p50Ms: 29, p99Ms: 59, recall: 1 })
  expect(row?.perSecond).toBe(320)
  expect(row?.filtered.map(({ recall, rowsMin }) => [recall, rowsMin])).toEqual([
    [expect.closeTo(0.9), 9],
    [expect.closeTo(0.9), 9],
    [expect.closeTo(0.9), 9],
  ])
  expect(row === undefined ? '' : markdownTable([row]).split('\n').at(-1)).toBe(
    '| Fake, ef 8 | in process | 1.2 s | 12 MB | – MB | 29 / 59 ms | 320 | 1.000 ' +
      '| 29 ms, 0.900, 9 rows | 29 ms, 0.900, 9 rows | 29 ms, 0.900, 9 rows |',
  )
})

test('a peer that cannot be imported says why, and one that ends meanwhile as well', async () => {
  const set: VectorSet = { ...madeVectors(20, 1), folder }
  const peerOf = async (script: string) => {
    const path = join(folder, `${Bun.hash(script)}.ts`)
    await Bun.write(path, script)
    return processPeer({ ...IN_PROCESS, script: path, python: process.execPath })
  }
  const places = { set, folder }
  const missing = await peerOf("throw new Error('No module named faiss')")
  await expect(missing.open(places)).rejects.toThrow('it ended')
  const brief = await peerOf(`console.log('{"versions":"1"}'); process.stdin.once('data', () => {
    console.error('out of memory'); process.exit(3) })`)
  const open = await brief.open(places)
  expect(open.versions).toBe('1')
  await expect(open.load()).rejects.toThrow('it ended: out of memory')
  await open.close()
})

test('the plot names every point, with any label', () => {
  const svg = recallPlot(
    [
      { label: 'Eider', p50Ms: 4, recall: 1, group: 'own' },
      { label: 'a < b & c', p50Ms: 0.2, recall: 0.91, group: 'approximate' },
    ],
    'Nearest',
  )
  expect(svg).toContain('>Eider</text>')
  expect(svg).toContain('>a &lt; b &amp; c</text>')
  expect(svg).not.toContain('NaN')
  expect(svg.match(/<circle/g)?.length).toBe(5)
})
