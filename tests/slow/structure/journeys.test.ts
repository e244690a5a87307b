/**
 * Counts the files of `src/` that take part in one request of each kind: what a reader has to know
 * to follow it. The first request runs code that loads once, and background work falls into some of
 * the others, so a file counts if all other requests run it.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerProcess, startServer } from '../server/server-process.ts'
import { type InstrumentedSource, instrumentedSource } from './instrumented-source.ts'

const KNOWLEDGE_BASES = '/api/projects/mindsdb/knowledge_bases'
const ROUNDS = 5
/** Work in the background, such as the memory watch, does so about ten times a second. */
const IDLE_MS = 1000
const AGENTS = '/api/projects/mindsdb/agents'

interface Journey {
  readonly name: string
  /**
   * The limit of files, which should only decrease, unless a new feature needs more. It is four to
   * five more than observed, because on a busy machine background work can affect every round.
   */
  readonly filesMax: number
  readonly method: string
  readonly path: string
  readonly body: (round: number) => object
}

const JOURNEYS: readonly Journey[] = [
  {
    name: 'PUT of one row',
    filesMax: 98,
    method: 'PUT',
    path: `${KNOWLEDGE_BASES}/teas`,
    body: (round) => {
      const content = `Sencha is a green tea, number ${round}`
      return { knowledge_base: { rows: [{ id: round, content, price: round }] } }
    },
  },
  {
    name: 'SELECT with a search',
    filesMax: 83,
    method: 'POST',
    path: '/api/sql/query',
    body: (round) => {
      const search = `content = 'green tea ${round}' AND price < 100`
      return { query: `SELECT id, chunk_content, relevance FROM teas WHERE ${search} LIMIT 5` }
    },
  },
  {
    name: 'POST search',
    filesMax: 96,
    method: 'POST',
    path: `${KNOWLEDGE_BASES}/teas/search`,
    body: (round) => ({ query: `green tea ${round}`, k: 5 }),
  },
  {
    name: 'a question to an agent',
    filesMax: 147,
    method: 'POST',
    path: `${AGENTS}/sommelier/completions`,
    body: (round) => ({ messages: [{ question: `Which tea is number ${round}?`, answer: '' }] }),
  },
]

const folder = mkdtempSync(join(tmpdir(), 'eider-journeys-'))
let source: InstrumentedSource
let server: ServerProcess

beforeAll(async () => {
  source = await instrumentedSource(folder, join(import.meta.dir, '../../..'))
  server = await startServer({ EIDER_DATA_DIR: join(folder, 'data') }, source.mainPath)
  await server.send('POST', KNOWLEDGE_BASES, { knowledge_base: { name: 'teas' } })
  const data = { knowledge_bases: ['mindsdb.teas'] }
  await server.send('POST', AGENTS, { agent: { name: 'sommelier', data } })
})

afterAll(async () => {
  server?.kill('SIGTERM')
  await server?.exited
  rmSync(folder, { recursive: true, force: true })
})

for (const { name, filesMax, method, path, body } of JOURNEYS) {
  test(`${name} takes at most ${filesMax} files`, async () => {
    source.clear()
    await Bun.sleep(IDLE_MS)
    const background = source.ran()
    const rounds: (readonly string[])[] = []
    for (let round = 0; round <= ROUNDS; round++) {
      source.clear()
      expect((await server.send(method, path, body(round))).status).toBe(200)
      if (round > 0) rounds.push(source.ran())
    }
    const [first = [], ...others] = rounds
    const ran = first.filter((file) => {
      return others.every((other) => other.includes(file)) && !background.includes(file)
    })
    expect(ran).toContain('src/api/http/server.ts')
    if (ran.length > filesMax) throw new Error(`${ran.length} files:\n${ran.join('\n')}`)
  })
}
