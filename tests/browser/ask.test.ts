import { expect } from 'bun:test'
import { chatServer } from '../agents/chat-server.ts'
import {
  browserOver,
  browserTest,
  expectNoSidewaysScroll,
  expectNoViolations,
} from './browser-fixture.ts'

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
    await main.getByText('without caffeine').filter({ visible: true }).first().waitFor()
    await main.getByRole('button', { name: 'Ask again' }).waitFor()
    // The answer appears once, with its steps in one line and its sources below it.
    expect(await main.getByText('without caffeine').filter({ visible: true }).count()).toBe(1)
    await main.getByText('Searched 1 knowledge base').click()
    await main.getByText('kb_query_tool', { exact: true }).waitFor()
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

const HOSTILE = [
  '# <img src=x onerror=alert(1)>\n\n<script>alert(1)</scr',
  'ipt> [click](javascript:alert(1)) ![i](data:image/png;base64,AAAA) [out](https://example.org/)\n\n',
  `|a|b|\n|-|-|\n${'|wide words in a cell|<iframe src="/">|\n'.repeat(40)}\n`,
  `1. **bold**\n   - inner\n\n2. ${'w'.repeat(900)}\n\n`,
  'مرحبا بالعالم \u202e \u0007 end\n\n```html\n<b>unclosed',
]

browserTest('an answer is stopped, asked otherwise, and asked again after a crash', async () => {
  const chat = chatServer(
    { kind: 'stall', pieces: ['It begins'] },
    { kind: 'text', pieces: HOSTILE },
    { kind: 'stall', pieces: ['Half an answer'] },
    { kind: 'text', pieces: ['Forty-two it is'] },
  )
  const model = { provider: 'openai', model_name: 'm', api_key: 'k', base_url: chat.url }
  await browser.send('POST', '/api/projects/mindsdb/agents', { agent: { name: 'writer', model } })
  const expectedErrors = /Failed to load resource/
  await browser.visit('/projects/mindsdb/agents/writer', { expectedErrors }, async ({ page }) => {
    const main = page.getByRole('main')
    const field = main.getByPlaceholder('Ask something')
    await field.fill('First?')
    await page.keyboard.press('Enter')
    await main.getByText('It begins').waitFor()
    await main.getByRole('button', { name: 'Stop' }).click()
    // The call to the model ends with the question on the server.
    await chat.hasLeft
    await main.getByText('Stopped', { exact: true }).last().waitFor()
    await field.fill('And then?')
    await main.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('button', { name: 'Delete and edit' }).click()
    await page.waitForURL('**/agents/writer')
    await field.and(page.locator(':focus')).waitFor()
    expect(await field.inputValue()).toBe('First?\nAnd then?')
    await field.fill('Second?')
    await page.keyboard.press('Enter')
    await main.getByText('<b>unclosed').waitFor()
    await main.getByRole('button', { name: 'Ask again' }).waitFor()
    expect(await main.locator('article').count()).toBe(1)
    expect(await main.locator('script, img, iframe, b, [href^="javascript"]').count()).toBe(0)
    expect(await main.getByRole('link', { name: 'out' }).getAttribute('href')).toBe(
      'https://example.org/',
    )
    await main.getByText('<img src=x onerror=alert(1)>').waitFor()
    await expectNoSidewaysScroll(page)
    await expectNoViolations(page)
    await field.fill('Third?')
    await page.keyboard.press('Enter')
    await main.getByText('Half an answer').waitFor()
    await field.fill('Something for later')
    await browser.crashServer()
    await main.getByText('The connection was lost').waitFor()
    await main.getByText('Half an answer').waitFor()
    await page.getByText('The server is not responding').waitFor({ state: 'hidden' })
    await main.getByRole('button', { name: 'Ask again' }).last().click()
    await main.getByRole('button', { name: 'Ask again' }).nth(2).waitFor()
    await main.getByText('Forty-two it is').waitFor()
    expect(await field.inputValue()).toBe('Something for later')
    const last = main.locator('article').filter({ hasText: 'Forty-two it is' })
    await page.setViewportSize({ width: 360, height: 740 })
    const spent = await last.getByText('tokens').boundingBox()
    expect(spent?.width).toBeGreaterThan(100)
    await last.getByRole('link', { name: 'Trace' }).click()
    const call = page.locator('summary', { hasText: 'Model, turn 1' })
    await call.waitFor()
    expect(await call.textContent()).toMatch(/after [\d.]+ m?s · [\d.]+ m?s$/)
    await call.press('Enter')
    await page.getByText('ended by stop').waitFor()
  })
  chat.close()
})

browserTest(
  'an answer continues after a reload and in a second window, with its chart',
  async () => {
    const query =
      "CREATE TABLE cups AS SELECT * FROM (VALUES ('ann', 3), ('bob', 1)) AS t(name, cups)"
    await browser.send('POST', '/api/sql/query', { query })
    const sql = 'SELECT * FROM mindsdb.cups'
    const input = { kind: 'bar', sql, x: 'name', y: 'cups', title: 'Cups of each' }
    const go = Promise.withResolvers<void>()
    const chat = chatServer(
      { kind: 'call', name: 'chart_tool', input },
      { kind: 'held', pieces: ['Ann has'], until: go.promise, rest: [' three cups.'] },
      { kind: 'text', pieces: ['Four in all.'] },
    )
    const model = { provider: 'openai', model_name: 'm', api_key: 'k', base_url: chat.url }
    const agent = { name: 'counter', model, data: { tables: ['mindsdb.cups'] } }
    await browser.send('POST', '/api/projects/mindsdb/agents', { agent })
    await browser.visit('/projects/mindsdb/agents/counter', {}, async ({ page, context }) => {
      const main = page.getByRole('main')
      await main.getByPlaceholder('Ask something').fill('Who has how many?')
      await page.keyboard.press('Enter')
      await main.getByText('Ann has').waitFor()
      await page.waitForURL('**/conversations/*')
      const second = await context.newPage()
      await second.goto(page.url())
      const other = second.getByRole('main')
      await other.getByText('Ann has').waitFor()
      // Where a page was scrolled before a reload does not hold back an answer that grows.
      await page.setViewportSize({ width: 1440, height: 300 })
      await page.reload()
      await main.getByText('Ann has').waitFor()
      await page.waitForFunction(() => {
        const { scrollHeight, clientHeight, scrollTop } = document.documentElement
        return scrollHeight - clientHeight - scrollTop < 120
      })
      await main.getByText(/^1 step/).click()
      await main.getByText('chart_tool', { exact: true }).waitFor()
      await main.getByRole('button', { name: 'Stop' }).waitFor()
      go.resolve()
      await other.getByText('Ann has three cups.').waitFor()
      await main.getByText('Ann has three cups.').waitFor()
      await main.getByRole('region', { name: 'Cups of each' }).waitFor()
      await page.reload()
      await main.getByRole('region', { name: 'Cups of each' }).waitFor()
      await main.getByText('1 step', { exact: true }).click()
      await main.getByText('chart_tool', { exact: true }).waitFor()
      await other.getByRole('button', { name: 'Ask again' }).waitFor()
      await other.getByPlaceholder('Ask something').fill('And in all?')
      await second.keyboard.press('Enter')
      await main.getByText('Four in all.').waitFor()
      expect(await main.locator('article').count()).toBe(2)
    })
    chat.close()
  },
)
