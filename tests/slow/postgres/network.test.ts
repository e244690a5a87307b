/** Knowledge bases in a PostgreSQL server that is far away, or that no longer responds. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { slowProxy } from '../../support/slow-proxy.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { connection, KB, meaninglessEmbedders, must, postgresApps, run } from './apps.ts'
import { corpus } from './corpus.ts'

const { server, close } = await postgresApps()
const proxy = server && (await slowProxy(server))
const STORAGE = 'storage = {"database": "pg", "table": "kb", "copy": false}'
const TIMEOUT_MS = 2000
const ROUND_TRIP_MS = 50

describe.skipIf(server === null)('a network', () => {
  let eider: TestApp

  beforeAll(async () => {
    const environment = {
      EIDER_NETWORK_ALLOW: '127.0.0.1',
      EIDER_QUERY_MS: String(TIMEOUT_MS),
    }
    eider = await createTestApp({ environment })
    await must(eider, connection({ ...server?.parameters, port: proxy?.port }))
    await must(eider, `CREATE KNOWLEDGE_BASE kb USING ${STORAGE}, language = 'english'`)
    const knowledge_base = { rows: corpus(200) }
    expect((await eider.send('PUT', KB, { knowledge_base })).status).toBe(200)
  })

  afterAll(async () => {
    await eider.close()
    await close()
    await proxy?.close()
  })

  test.each([
    ['', 1],
    ['AND price < 20', 1],
    ['AND hybrid_search_alpha = 0', 1],
    [`AND hybrid_search = true AND hybrid_search_fusion = 'rrf'`, 1],
    ['AND hybrid_search = true', 2],
  ])('of 50 ms: a search %s waits for %d round trips', async (condition, tripCount) => {
    if (proxy === null) return
    const search = `SELECT id FROM kb WHERE content = 'green tea' ${condition} LIMIT 5`
    const [near, far] = [await fastestMs(search, 0), await fastestMs(search, ROUND_TRIP_MS)]
    const trips = (far - near) / ROUND_TRIP_MS
    expect(trips).toBeGreaterThan(tripCount - 0.5)
    expect(trips).toBeLessThan(tripCount + 0.7)
  })

  async function fastestMs(search: string, roundTripMs: number): Promise<number> {
    if (proxy !== null) proxy.delayMs = roundTripMs / 2
    const taken: number[] = []
    for (let count = 0; count < 15; count += 1) {
      const start = performance.now()
      await eider.rows(search)
      taken.push(performance.now() - start)
    }
    if (proxy !== null) proxy.delayMs = 0
    return Math.min(...taken)
  }

  test('carries few rows, even if thousands have equal words and other meanings', async () => {
    if (proxy === null) return
    const embedders = meaninglessEmbedders(64)
    const environment = { EIDER_NETWORK_ALLOW: '127.0.0.1' }
    const [remote, embedded] = [
      await createTestApp({ environment, embedders }),
      await createTestApp({ embedders }),
    ]
    await must(remote, connection({ ...server?.parameters, port: proxy.port }))
    const storage = 'storage = {"database": "pg", "table": "odd", "copy": false}'
    await must(remote, `CREATE KNOWLEDGE_BASE kb USING ${storage}, language = 'english'`)
    await must(embedded, `CREATE KNOWLEDGE_BASE kb USING language = 'english'`)
    const rows = Array.from({ length: 3000 }, (_, n) => ({
      id: `d${n}`,
      content: `${n % 3 === 0 ? 'smoked' : 'steamed'} green tea ${n}`,
    }))
    const knowledge_base = { rows }
    for (const one of [remote, embedded]) {
      expect((await one.send('PUT', KB, { knowledge_base })).status).toBe(200)
    }
    for (const text of ['green tea', 'smoked tea']) {
      for (const mode of ['', 'AND hybrid_search_feedback = false']) {
        const search = `SELECT id FROM kb
          WHERE content = '${text}' AND hybrid_search = true ${mode} LIMIT 10`
        const before = proxy.passedBytes
        expect(await remote.rows(search)).toEqual(await embedded.rows(search))
        expect(proxy.passedBytes - before).toBeLessThan(1024 ** 2)
      }
    }
    await remote.close()
    await embedded.close()
  }, 120_000)

  test('that is silent: an error within the time limit, and no restart', async () => {
    if (proxy === null) return
    const search = `SELECT id FROM kb WHERE content = 'green tea' LIMIT 5`
    const found = await eider.rows(search)
    proxy.isSilent = true
    const start = performance.now()
    const failures = await Promise.all([1, 2, 3].map(() => run(eider, search)))
    for (const failure of failures) expect(failure).toMatch(/Data source pg .*(longer than|answer)/)
    // Eider tries a new connection before it gives up.
    expect(performance.now() - start).toBeLessThan(20_000)
    proxy.isSilent = false
    expect(await run(eider, search)).toBe(null)
    expect(await eider.rows(search)).toEqual(found)
  }, 60_000)
})
