import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openSqlFixture, type SqlFixture } from '../sql/sql-fixture.ts'

let fixture: SqlFixture

beforeAll(async () => {
  fixture = await openSqlFixture()
})

afterAll(() => fixture.close())

const COUNT = 'SELECT count(*) FROM kb'

async function count(): Promise<number> {
  const [, value] = (await fixture.answer(COUNT)).split('\n')
  return Number(value)
}

test('a count is up to date after each write', async () => {
  const distinct = async () =>
    Number((await fixture.answer('SELECT count(DISTINCT chunk_id) FROM kb')).split('\n')[1])
  const writes = [
    "INSERT INTO kb (id, content) VALUES ('new 1', 'text 301'), ('new 2', 'text 302')",
    "INSERT INTO kb (id, content) VALUES ('new 1', 'text 303')",
    "DELETE FROM kb WHERE id = 'new 2'",
    "DELETE FROM kb WHERE id = 'nobody'",
    "UPDATE kb SET content = 'text 304' WHERE id = 'new 1'",
    'DELETE FROM kb WHERE price < 3',
  ]
  for (const write of writes) {
    expect(await fixture.answer(write)).not.toStartWith('error')
    expect(await count()).toBe(await distinct())
  }
})

test('counts during a write are from before or after it', async () => {
  const counts = new Set<number>()
  const first = await count()
  for (let round = 0; round < 10; round += 1) {
    const pair = `('pair ${round} a', 'text 7'), ('pair ${round} b', 'text 8')`
    const write = fixture.answer(`INSERT INTO kb (id, content) VALUES ${pair}`)
    let isOver = false
    const over = write.then(() => {
      isOver = true
    })
    while (!isOver) {
      counts.add(await count())
      await new Promise((resolve) => setImmediate(resolve))
    }
    await over
    expect(await count()).toBe(first + 2 * (round + 1))
  }
  for (const one of counts) expect((one - first) % 2).toBe(0)
})
