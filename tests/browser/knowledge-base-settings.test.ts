import { expect } from 'bun:test'
import { answered, browserOver, browserTest } from './browser-fixture.ts'

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
    await browser.visit('/projects/mindsdb/knowledge_bases/teas/settings', {}, async ({ page }) => {
      const now = page.getByRole('region', { name: 'As it is now' })
      const then = page.getByRole('region', { name: 'With this change' })
      await now.getByText('1 chunk,').waitFor()
      await page.getByLabel('Size in characters').fill('100')
      await page.getByLabel('Overlap in characters').fill('0')
      await then.getByText(/^(9|1\d) chunks, /).waitFor()
      await now.getByText('1 chunk,').waitFor()
      await answered(page, 'PUT', () => page.getByRole('button', { name: 'Save' }).first().click())
      expect(await stored()).toMatchObject({
        params: { preprocessing: { auto_config: { chunk_size: 100, chunk_overlap: 0 } } },
      })
      await now.getByText(/^(9|1\d) chunks, /).waitFor()
      await page.getByLabel('By meaning and keywords').check()
      await page.getByLabel('Weight of the meaning').fill('0.3')
      await answered(page, 'PUT', () => page.getByRole('button', { name: 'Save' }).last().click())
      expect(await stored()).toMatchObject({
        params: { hybrid_search: true, hybrid_search_alpha: 0.3 },
      })
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
