import { expect, test } from 'bun:test'
import { yieldToEventLoop } from '../../../src/core/runtime/serial-queue.ts'
import { createTestApp } from '../../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const BATCHES = 25
const ROWS_PER_BATCH = 3

/** Adds and removes batches of rows with the phrase while it is searched for. */
async function searchedUnderWrites(environment: Readonly<Record<string, string>>) {
  const t = await createTestApp({ environment })
  await t.send('POST', KBS, { knowledge_base: { name: 'kb', language: 'english' } })
  const put = async (batch: number, content: string) => {
    const rows = Array.from({ length: ROWS_PER_BATCH }, (_, row) => {
      return { id: `${batch}-${row}`, content: `${content}, row ${row}` }
    })
    const { status } = await t.send('PUT', `${KBS}/kb`, { knowledge_base: { rows } })
    expect(status).toBe(200)
  }
  const found = async () => {
    const search = { query: '"green tea"', mode: 'keyword', k: 1000 }
    const { body } = await t.send('POST', `${KBS}/kb/search`, search)
    return (body as { results: { id: string }[] }).results.map(({ id }) => id)
  }
  const written = new Set<number>()
  let isWriting = true
  const search = async () => {
    while (isWriting) {
      // An answer from memory alone would not let the writes run.
      await yieldToEventLoop()
      const before = [...written]
      const ids = await found()
      const counts = new Map<number, number>()
      for (const id of ids) {
        const batch = Number.parseInt(id, 10)
        counts.set(batch, (counts.get(batch) ?? 0) + 1)
      }
      expect([...counts.values()].filter((count) => count !== ROWS_PER_BATCH)).toEqual([])
      expect(before.filter((batch) => written.has(batch) && !counts.has(batch))).toEqual([])
    }
  }
  const write = async () => {
    for (let batch = 0; batch < BATCHES; batch += 1) {
      await put(batch, `much green tea of batch ${batch}`)
      written.add(batch)
      expect((await found()).filter((id) => id.startsWith(`${batch}-`))).toHaveLength(
        ROWS_PER_BATCH,
      )
      if (batch % 4 !== 3) continue
      written.delete(batch)
      await put(batch, `tea that is green, of batch ${batch}`)
      expect((await found()).filter((id) => id.startsWith(`${batch}-`))).toEqual([])
    }
    isWriting = false
  }
  const searches = [search(), search(), search()]
  await write().finally(() => {
    isWriting = false
  })
  await Promise.all(searches)
  await t.close()
}

test('a phrase is searched for in one state of the knowledge base, its own writes among it', () => {
  return searchedUnderWrites({})
}, 180_000)

test('so is it by the database alone', () => {
  return searchedUnderWrites({ EIDER_VECTOR_MEMORY: '0MB', EIDER_ROW_MEMORY: '0MB' })
}, 180_000)
