import { expect } from 'bun:test'
import { browserOver, browserTest, settled } from './browser-fixture.ts'

const browser = browserOver()

browserTest('a search is seen in columns, filtered, marked and measured', async () => {
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
    const column = (name: string) => page.getByRole('region', { name })
    await page.getByText('Type a text to search for').waitFor()
    await settled(page)
    await page.keyboard.press('/')
    await page.keyboard.type('tea milk')
    const words = column('Words (keywords)')
    await words.locator('mark', { hasText: 'milk' }).waitFor()
    expect(await words.locator('mark').allTextContents()).toContain('teas')
    expect(await words.getByRole('link', { name: 'rooibos' }).count()).toBe(0)
    const vectors = column('Meaning (vectors)')
    await vectors.getByRole('link', { name: 'rooibos' }).waitFor()
    await column('Reranked').getByText('There is no reranking model').waitFor()

    await page.getByRole('slider').fill('0')
    const both = column('Both (hybrid)')
    const scores = both.getByText(/relevance/)
    await both.getByText('relevance 0.000').first().waitFor()
    await page.getByRole('slider').fill('1')
    await both.getByText('relevance 0.000').waitFor({ state: 'detached' })
    expect(await scores.count()).toBe(3)

    await vectors.getByRole('button', { name: 'colour black' }).click()
    await vectors.getByRole('link', { name: 'rooibos' }).waitFor({ state: 'detached' })
    await page.waitForURL(/filters=/)
    await page.reload()
    await vectors.getByRole('link', { name: 'assam' }).waitFor()
    expect(await page.getByRole('searchbox').inputValue()).toBe('tea milk')
    expect(await vectors.getByRole('listitem').filter({ hasText: 'similarity' }).count()).toBe(1)
    await vectors.getByRole('button', { name: 'Right' }).click()

    await page.getByRole('link', { name: 'Measure' }).click()
    await page.getByText('1 question, 1 judgment, 1 not saved yet').waitFor()
    await page.getByLabel('Compare with other settings').check()
    await page.getByRole('button', { name: 'Save and evaluate' }).click()
    await page.getByRole('img', { name: 'nDCG@k. A: 1.000 at 10, B: 1.000 at 10' }).waitFor()
    await page.getByRole('link', { name: 'tea milk' }).click()
    await both.getByRole('button', { name: '✓ Right' }).waitFor()

    await words.getByRole('button', { name: 'SQL, HTTP' }).click()
    await page.getByRole('link', { name: 'Open in SQL' }).waitFor()
    expect(await page.getByRole('dialog').textContent()).toContain(`content = 'tea milk'`)
  })
})
