import { afterAll, beforeAll, expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KB = '/api/projects/mindsdb/knowledge_bases'
const SELECT =
  "SELECT id, metadata.round, round, chunk_content FROM kb WHERE content = 'twin tea' LIMIT 2"

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  await t.send('POST', KB, { knowledge_base: { name: 'kb' } })
  const others = Array.from({ length: 50 }, (_, index) => ({ id: `o${index}`, content: 'coffee' }))
  await put([...others, ...twins(0)])
  // The database is asked for the columns.
  await t.rows(SELECT)
})
afterAll(() => t.close())

async function put(rows: readonly object[]): Promise<void> {
  const { status } = await t.send('PUT', `${KB}/kb`, { knowledge_base: { rows } })
  expect(status).toBe(200)
}

function twins(round: number): readonly object[] {
  return ['a', 'b'].map((id) => ({ id, content: `twin tea ${round % 7}`, round }))
}

/** Writes both rows, either as new chunks or only their metadata. */
async function write(round: number): Promise<void> {
  if (round % 2 === 0) await put(twins(round))
  else
    await t.send('POST', '/api/sql/query', {
      query: `UPDATE kb SET round = ${round} WHERE id IN ('a', 'b')`,
    })
}

test('no answer shows half of a write, and each client sees its own writes', async () => {
  let written = 0
  let isDone = false
  let answers = 0
  const search = async () => {
    while (!isDone) {
      const least = written
      const rows = await t.rows(SELECT)
      answers += 1
      // Requests over a socket arrive one by one.
      await setImmediate()
      const rounds = rows.map(([, round]) => round)
      expect(rows.map(([id]) => id).sort()).toEqual(['a', 'b'])
      expect(rounds[0]).toBe(rounds[1])
      expect(rows[0]?.[2]).toBe(rows[1]?.[2])
      expect(Number(rounds[0])).toBeGreaterThanOrEqual(least)
    }
  }
  const searches = Promise.all([search(), search(), search()])
  for (let round = 1; round <= 12; round += 1) {
    await write(round)
    written = round
    const [[, round1] = []] = await t.rows(SELECT)
    expect(round1).toBe(round)
    expect(await t.rows("SELECT id, round FROM kb WHERE id = 'a'")).toEqual([['a', round]])
  }
  isDone = true
  await searches
  expect(answers).toBeGreaterThan(12)
})
