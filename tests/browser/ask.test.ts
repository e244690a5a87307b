import { expect } from 'bun:test'
import { browserOver, browserTest } from './browser-fixture.ts'

const browser = browserOver()

browserTest('an agent is asked, a source opens at its place, the conversation stays', async () => {
  const all = '/api/projects/mindsdb/knowledge_bases'
  await browser.send('POST', all, { knowledge_base: { name: 'teas' } })
  const rows = [
    { id: 'sencha', content: 'Sencha is a Japanese green tea with a grassy taste' },
    { id: 'assam', content: 'Assam is a strong black tea from India, often drunk with milk' },
    {
      id: 'rooibos',
      content: 'Rooibos is a red herbal infusion from South Africa without caffeine',
    },
  ]
  await browser.send('PUT', `${all}/teas`, { knowledge_base: { rows } })
  const data = { knowledge_bases: ['mindsdb.teas'] }
  await browser.send('POST', '/api/projects/mindsdb/agents', { agent: { name: 'guide', data } })
  await browser.visit('/projects/mindsdb/agents/guide', {}, async ({ page }) => {
    const main = page.getByRole('main')
    await main.getByPlaceholder('Ask something').fill('Which tea has no caffeine?')
    await page.keyboard.press('Enter')
    await main.getByText('kb_query_tool', { exact: true }).waitFor()
    await main.getByText('without caffeine').filter({ visible: true }).first().waitFor()
    await main.getByRole('button', { name: 'Ask again' }).waitFor()
    await page.reload()
    await main.getByText('without caffeine').filter({ visible: true }).first().waitFor()
    await main
      .getByRole('link', { name: /rooibos/ })
      .first()
      .click()
    await page.waitForURL(/\/documents\/rooibos\?.*start=0/)
    await main.locator('mark').first().waitFor()
    expect(await main.locator('mark').first().textContent()).toContain('Rooibos')
  })
})
