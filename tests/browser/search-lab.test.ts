import { expect } from 'bun:test'
import { browserOver, browserTest, settled } from './browser-fixture.ts'

const browser = browserOver()

browserTest(
  'results come while one types; they are filtered, compared, marked and measured',
  async () => {
    const kb = '/api/projects/mindsdb/knowledge_bases'
    const baseUrl = await browser.baseUrl()
    const sent = async (method: string, path: string, json: object) => {
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify(json)
      const answer = await fetch(`${baseUrl}${path}`, { method, headers, body })
      expect(answer.ok).toBe(true)
    }
    await sent('POST', kb, { knowledge_base: { name: 'lab', metadata_columns: ['colour'] } })
    const rows = [
      { id: 'assam', content: 'Black teas from India with milk', colour: 'black' },
      { id: 'sencha', content: 'Green tea of Japan, steamed', colour: 'green' },
      { id: 'rooibos', content: 'A drink for the evening without caffeine', colour: 'red' },
    ]
    await sent('PUT', `${kb}/lab`, { knowledge_base: { rows } })
    await browser.visit('/projects/mindsdb/knowledge_bases/lab/search', {}, async ({ page }) => {
      const region = (name: string) => page.getByRole('region', { name })
      await page.getByText('Type text to search for').waitFor()
      await settled(page)
      await page.getByRole('searchbox', { name: 'Search' }).click()
      await page.keyboard.type('tea milk')
      const results = region('Results')
      await results.locator('mark', { hasText: 'milk' }).waitFor()
      expect(await results.locator('mark').allTextContents()).toContain('teas')
      await results.getByRole('link', { name: 'rooibos' }).waitFor()
      // A value is shown once, and a click filters by it.
      expect(await results.getByText('colour black').count()).toBe(1)

      await page.locator('summary', { hasText: 'Options' }).click()
      await page.getByRole('slider').fill('0')
      await results.getByText('relevance 0.000').first().waitFor()
      await page.getByRole('slider').fill('1')
      await results.getByText('relevance 0.000').first().waitFor({ state: 'detached' })
      expect(await results.getByText(/relevance/).count()).toBe(3)

      await page.getByRole('button', { name: 'Compare' }).click()
      const words = region('Keyword')
      await words.locator('mark', { hasText: 'milk' }).waitFor()
      expect(await words.getByRole('link', { name: 'rooibos' }).count()).toBe(0)
      const vectors = region('Semantic')
      await vectors.getByRole('link', { name: 'rooibos' }).waitFor()
      await page.getByText('No reranking model').waitFor()

      await vectors.getByRole('button', { name: 'colour black' }).click()
      await vectors.getByRole('link', { name: 'rooibos' }).waitFor({ state: 'detached' })
      await page.waitForURL(/filters=/)
      await page.reload()
      await vectors.getByRole('link', { name: 'assam' }).waitFor()
      expect(await page.getByRole('searchbox').inputValue()).toBe('tea milk')
      expect(await vectors.getByRole('listitem').filter({ hasText: 'similarity' }).count()).toBe(1)
      await vectors.getByRole('button', { name: 'Right' }).click()
      await vectors.getByRole('button', { name: '✓ Right' }).waitFor()
      while (!(await isJudged())) await settled(page)

      await page.getByRole('link', { name: 'Measure' }).click()
      await page.getByText('EVALUATE KNOWLEDGE_BASE').first().waitFor()
      await page.getByRole('button', { name: 'Run', exact: true }).first().click()
      await page.getByRole('columnheader', { name: /ndcg_at_k/ }).waitFor()
      await page.getByRole('gridcell', { name: 'tea milk' }).first().waitFor()
      await page.goBack()
      await region('Hybrid').getByRole('button', { name: '✓ Right' }).waitFor()
      await region('Hybrid').getByRole('button', { name: '✓ Right' }).click()
      while (await isJudged()) await settled(page)

      await words.getByRole('button', { name: 'SQL, HTTP' }).click()
      await page.getByRole('link', { name: 'Open in SQL' }).waitFor()
      expect(await page.getByRole('dialog').textContent()).toContain(`content = 'tea milk'`)
    })
  },
)

async function isJudged(): Promise<boolean> {
  const query = 'SELECT count(*) FROM mindsdb.lab_judgments'
  const answer = await browser.send('POST', '/api/sql/query', { query })
  return JSON.stringify(answer).includes('[[1]]')
}

browserTest('on a phone the first result is on the first screen', async () => {
  const kb = '/api/projects/mindsdb/knowledge_bases'
  await browser.send('POST', kb, { knowledge_base: { name: 'small' } })
  const rows = [{ id: 'assam', content: 'Black tea from India with milk' }]
  await browser.send('PUT', `${kb}/small`, { knowledge_base: { rows } })
  const address = '/projects/mindsdb/knowledge_bases/small/search?q=tea'
  await browser.visit(address, { viewport: 'phone' }, async ({ page }) => {
    const first = page.getByRole('link', { name: 'assam' })
    await first.waitFor()
    await settled(page)
    expect((await first.boundingBox())?.y).toBeLessThan(500)
  })
})

/** Scores passages by length, the longest first, and refuses while `isDown`. */
function startReranker() {
  const state = { isDown: false }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      if (state.isDown) return new Response('{"error": "too many passages"}', { status: 400 })
      // The server sends this form to such a model.
      const { documents } = (await request.json()) as { documents: readonly string[] }
      const results = documents.map((text, index) => {
        return { index, relevance_score: Math.min(1, text.length / 1000) }
      })
      return Response.json({ results })
    },
  })
  return { state, url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
}

browserTest('a reranked column, and the same by SQL and HTTP', async () => {
  const reranker = startReranker()
  try {
    const kb = '/api/projects/mindsdb/knowledge_bases'
    const model = { provider: 'rerank', base_url: reranker.url }
    await browser.send('POST', kb, { knowledge_base: { name: 'ranked', reranking_model: model } })
    const rows = [
      { id: 'short', content: `Tea's ready` },
      {
        id: 'long',
        content: `Green tea from Japan is steamed after the harvest, unlike black tea`,
      },
      { id: 'html', content: '<b>Coffee</b> from \u202eBrazil' },
    ]
    await browser.send('PUT', `${kb}/ranked`, { knowledge_base: { rows } })
    const address = '/projects/mindsdb/knowledge_bases/ranked/search'
    await browser.visit(
      `${address}?q=${encodeURIComponent(`tea's "green"`)}&compare=1`,
      {},
      async (visit) => {
        const { page } = visit
        const column = (name: string) => page.getByRole('region', { name })
        await page.getByRole('button', { name: 'Rerank now' }).click()
        const names = ['Semantic', 'Keyword', 'Hybrid', 'Reranked']
        for (const name of names) {
          await column(name).getByRole('link', { name: 'long' }).waitFor()
          const shown = await column(name).locator('.search-hit-head a').allTextContents()
          await column(name).getByRole('button', { name: 'SQL, HTTP' }).click()
          const dialog = page.getByRole('dialog')
          await dialog.getByRole('link', { name: 'Open in SQL' }).waitFor()
          const [sql = '', curl = ''] = await dialog.locator('pre').allTextContents()
          const context = { db: 'mindsdb' }
          const bySql = await browser.send('POST', '/api/sql/query', { query: sql, context })
          expect(bySql).toMatchObject({ data: shown.map((id) => expect.arrayContaining([id])) })
          const body = /-d '(.*)'$/s.exec(curl)?.[1]?.replaceAll(`'\\''`, `'`) ?? ''
          const byHttp = await browser.send('POST', `${kb}/ranked/search`, JSON.parse(body))
          expect(byHttp).toMatchObject({ results: shown.map((id) => ({ id })) })
          await page.keyboard.press('Escape')
          await dialog.waitFor({ state: 'detached' })
        }
        expect(await column('Reranked').locator('.search-hit-head a').first().textContent()).toBe(
          'long',
        )
        await column('Reranked').getByRole('button', { name: 'Context' }).first().click()
        await page.getByText('This chunk is the whole text').waitFor()
        reranker.state.isDown = true
        await page.getByRole('searchbox').fill('coffee')
        await page.keyboard.press('Enter')
        await column('Reranked').getByText('too many passages').waitFor()
        await column('Reranked').getByRole('button', { name: 'Try again' }).waitFor()
        await column('Reranked').getByRole('link', { name: 'in the settings' }).waitFor()
        await column('Hybrid').getByText('<b>Coffee</b> from').waitFor()
        expect(await column('Reranked').locator('.search-hit').count()).toBe(0)
      },
    )
  } finally {
    reranker.stop()
  }
})
