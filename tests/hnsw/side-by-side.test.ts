import { expect, test } from 'bun:test'
import { HnswFixture, openDatabase } from './hnsw-fixture.ts'

test('graphs of one instance can be searched, extended and dropped in parallel', async () => {
  const database = await openDatabase()
  const fixtures = [1, 2, 3].map(() => new HnswFixture(database))
  await Promise.all(fixtures.map((fixture) => fixture.load(fixture.batch(1, 250))))
  const work = fixtures.map(async (fixture, place) => {
    for (let round = 0; round < 3; round++) {
      fixture.add(1000 * (round + 1), 10)
      expect(await fixture.recall()).toBeGreaterThan(0.9)
    }
    if (place === 0) await fixture.index.close()
    else expect(await fixture.recall()).toBeGreaterThan(0.9)
  })
  await Promise.all(work)
  for (const { index } of fixtures) await index.close()
  await database.close()
})
