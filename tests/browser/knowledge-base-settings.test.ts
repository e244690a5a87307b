import { expect } from 'bun:test'
import { answered, browserOver, browserTest, expectNoViolations } from './browser-fixture.ts'

const browser = browserOver()

browserTest(
  'chunking is altered with a preview, searches are set, and a name deletes',
  async () => {
    const all = '/api/projects/mindsdb/knowledge_bases'
    await browser.send('POST', all, { knowledge_base: { name: 'teas' } })
    const content =
      'Assam is a strong black tea. Sencha is a green tea. Rooibos has no caffeine. '.repeat(9)
    await browser.send('PUT', `${all}/teas`, { knowledge_base: { rows: [{ id: 'a', content }] } })
    const stored = () => browser.send('GET', `${all}/teas`)
    const address = '/projects/mindsdb/knowledge_bases/teas/settings'
    // Data may be read again after a save, when it has already been deleted.
    const expectedErrors = /404/
    await browser.visit(address, { expectedErrors }, async ({ page }) => {
      await page.getByRole('button', { name: 'Preview the chunks' }).click()
      const now = page.getByRole('region', { name: 'Now', exact: true })
      const then = page.getByRole('region', { name: 'With this change' })
      await now.getByText('1 chunk,').waitFor()
      await page.getByLabel('Size in characters').fill('100')
      await page.getByLabel('Overlap in characters').fill('0')
      await then.getByText(/^(9|1\d) chunks, /).waitFor()
      await now.getByText('1 chunk,').waitFor()
      const chunks = page.getByRole('form', { name: 'Chunks' })
      // The changes are listed before they are saved.
      const changes = chunks.getByRole('note', { name: 'Changes' })
      await changes.getByText('Size in characters: automatic → 100').waitFor()
      await changes.getByText('1 document keep their chunks').waitFor()
      const save = chunks.getByRole('button', { name: 'Save', exact: true })
      await answered(page, 'PUT', () => save.click())
      expect(await stored()).toMatchObject({
        params: { preprocessing: { auto_config: { chunk_size: 100, chunk_overlap: 0 } } },
      })
      await now.getByText(/^(9|1\d) chunks, /).waitFor()
      // The stored document is re-chunked on request.
      expect(await browser.send('GET', `${all}/teas/documents`)).toMatchObject({
        items: [{ chunk_count: 1 }],
      })
      await chunks.getByRole('button', { name: 'Re-chunk 1 document', exact: true }).click()
      const asked = page.getByRole('dialog')
      await asked.getByText('1 document are read').waitFor()
      await expectNoViolations(page)
      await asked.getByRole('button', { name: 'Re-chunk' }).click()
      const cut = page.getByRole('region', { name: 'Re-chunked documents' })
      await cut.getByText('Done', { exact: true }).waitFor()
      await cut.getByText(/^1 of 1 document · 1 re-chunked · (9|1\d) new chunks/).waitFor()
      // Settings without a field survive a save.
      const others = { window_size: 2, window_overlap: 1 }
      const sent = { type: 'sentence_chunking', sentence_chunking_config: others }
      await browser.send('PUT', `${all}/teas`, { knowledge_base: { preprocessing: sent } })
      await page.reload()
      await page.getByLabel('Size in characters').waitFor()
      expect(await page.getByLabel('Overlap in characters').count()).toBe(0)
      // An invalid number is reported before anything is sent.
      const size = page.getByLabel('Size in characters')
      await size.fill('')
      await size.pressSequentially('1e')
      expect(await chunks.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(
        true,
      )
      await size.fill('90')
      await answered(page, 'PUT', () => save.click())
      expect(await stored()).toMatchObject({
        params: {
          preprocessing: { sentence_chunking_config: { ...others, chunk_size: 90 } },
        },
      })
      const searches = page.getByRole('form', { name: 'Searches' })
      await page.getByLabel('Hybrid search by default').check()
      await answered(page, 'PUT', () => searches.getByRole('button', { name: 'Save' }).click())
      // Untouched fields stay automatic.
      expect(JSON.stringify(await stored())).not.toMatch(/hybrid_search_(alpha|fusion)/)
      await page.reload()
      await page.getByLabel('Semantic weight').fill('0.3')
      await answered(page, 'PUT', () => searches.getByRole('button', { name: 'Save' }).click())
      expect(await stored()).toMatchObject({
        params: { hybrid_search: true, hybrid_search_alpha: 0.3 },
      })
      await page.reload()
      expect(await page.getByLabel('Semantic weight').inputValue()).toBe('0.3')
      await page.getByLabel('Semantic weight').fill('')
      await searches.getByText('Semantic weight: 0.3 → automatic').waitFor()
      await answered(page, 'PUT', () => searches.getByRole('button', { name: 'Save' }).click())
      expect(JSON.stringify(await stored())).not.toContain('hybrid_search_alpha')
      // A second save replaces another user's changes, including those to fields that are automatic
      // here.
      await page.reload()
      await page.getByLabel('Combine rankings by').selectOption('rrf')
      const theirs = { hybrid_search_alpha: 0.9 }
      await browser.send('PUT', `${all}/teas`, { knowledge_base: theirs })
      await searches.getByRole('button', { name: 'Save' }).click()
      await searches.getByText('Another window changed these settings').waitFor()
      await answered(page, 'PUT', () => searches.getByRole('button', { name: 'Save' }).click())
      expect(JSON.stringify(await stored())).not.toContain('hybrid_search_alpha')
      await page.getByRole('button', { name: 'Delete the knowledge base' }).click()
      const dialog = page.getByRole('dialog')
      expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
      await dialog.getByLabel('Type teas').fill('teas')
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await page.waitForURL('**/')
      expect(await browser.send('GET', all)).toEqual([])
    })
  },
)

browserTest('models and the index are changed in the page, with what that costs', async () => {
  const all = '/api/projects/mindsdb/knowledge_bases'
  await browser.send('POST', all, { knowledge_base: { name: 'leaves' } })
  const rows = Array.from({ length: 40 }, (_, at) => ({ id: `${at}`, content: `leaf ${at}` }))
  await browser.send('PUT', `${all}/leaves`, { knowledge_base: { rows } })
  const stored = () => browser.send('GET', `${all}/leaves`)
  // A model that does not answer is refused.
  const expectedErrors = /502/
  const address = '/projects/mindsdb/knowledge_bases/leaves/settings'
  await browser.visit(address, { expectedErrors }, async ({ page, baseUrl }) => {
    await page.getByText('40 chunks').first().waitFor()
    const model = page.getByRole('form', { name: 'Embedding model' })
    await model.getByLabel('Provider').selectOption('openai')
    await model.getByText(/^40 chunks are embedded again: .* tokens$/).waitFor()
    await model.getByLabel('Model', { exact: true }).fill('all-MiniLM-L6-v2')
    await model.getByLabel('Key').fill('any')
    await model.getByLabel('Address').fill('http://127.0.0.1:9/v1')
    await model.getByRole('button', { name: 'Change and embed 40 chunks again' }).click()
    await model.getByText('leaves keeps its model').waitFor()
    // This server also has a provider's interface.
    await model.getByLabel('Address').fill(`${baseUrl}/v1`)
    await model.getByRole('button', { name: 'Change and embed 40 chunks again' }).click()
    await model.getByText('of openai').waitFor()
    expect(await stored()).toMatchObject({ embedding_model: { provider: 'openai' } })

    const index = page.getByRole('form', { name: 'Vector index' })
    await index.getByLabel('Kind of index').selectOption('ivf')
    await index.getByLabel('Lists').fill('4')
    const change = index.getByRole('button', { name: 'Save' })
    const isCreated = (one: { request(): { postData(): string | null } }) => {
      return one.request().postData()?.includes('CREATE INDEX') === true
    }
    await Promise.all([page.waitForResponse(isCreated), change.click()])
    await page.reload()
    await index.getByLabel('Lists').waitFor()
    const shown = await browser.send('POST', '/api/sql/query', { query: 'SHOW INDEXES' })
    expect(JSON.stringify(shown)).toContain('"leaves","ivf"')
    const reranking = page.getByRole('form', { name: 'Reranking model' })
    await reranking.waitFor()
    await expectNoViolations(page)

    // Settings without a field survive a save: the key, and how many hits are reranked.
    const model_name = 'rerank-v3.5'
    const sent = { provider: 'cohere', model_name, api_key: 'k-0', candidates: 7 }
    await browser.send('PUT', `${all}/leaves`, { knowledge_base: { reranking_model: sent } })
    await page.reload()
    await reranking.getByLabel('Model', { exact: true }).fill('rerank-v4.0')
    await reranking.getByText('best 7 chunks').waitFor()
    await answered(page, 'PUT', () => reranking.getByRole('button', { name: 'Save' }).click())
    expect(await stored()).toMatchObject({
      reranking_model: { ...sent, model_name: 'rerank-v4.0', api_key: '******' },
    })
  })
})
