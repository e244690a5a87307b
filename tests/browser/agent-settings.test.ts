import { expect } from 'bun:test'
import { answered, browserOver, browserTest } from './browser-fixture.ts'

const browser = browserOver()

browserTest('an agent is created and changed in two windows; the second is warned', async () => {
  await browser.send('POST', '/api/projects/mindsdb/knowledge_bases', {
    knowledge_base: { name: 'teas' },
  })
  const at = '/projects/mindsdb/agents/sommelier/settings'
  const agent = () => browser.send('GET', '/api/projects/mindsdb/agents/sommelier')
  await browser.visit('/create/agent', {}, async ({ page, context }) => {
    await page.getByLabel('Name', { exact: true }).fill('sommelier')
    await page.getByRole('checkbox', { name: 'teas' }).first().check()
    await page.getByRole('button', { name: 'Create the agent' }).click()
    await page.waitForURL('**/projects/mindsdb/agents/sommelier')
    expect(await agent()).toMatchObject({ data: { knowledge_bases: ['mindsdb.teas'] } })
    await page.goto(at)
    await page.getByLabel('Instructions').fill('Say it in verse')
    await page.getByRole('button', { name: 'Discard changes' }).waitFor()
    const other = await context.newPage()
    await other.goto(at)
    await other.getByLabel('Instructions').fill('Be brief')
    await other.getByLabel('Maximum steps').fill('3')
    await answered(other, 'PUT', () => other.getByRole('button', { name: 'Save' }).click())
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('changed this agent after you opened it').waitFor()
    expect(await agent()).toMatchObject({ prompt_template: 'Be brief', params: { max_steps: 3 } })
    await answered(page, 'PUT', () => page.getByRole('button', { name: 'Save' }).click())
    const limitless = { prompt_template: 'Say it in verse', params: { mode: 'text' } }
    expect(await agent()).toMatchObject(limitless)
    expect(await agent()).not.toHaveProperty('params.max_steps')
    await page.getByLabel('Provider').selectOption('openai')
    await page.getByLabel('Model', { exact: true }).fill('m')
    await page.getByLabel('Key', { exact: true }).fill('sk-typed-here')
    await answered(page, 'PUT', () => page.getByRole('button', { name: 'Save' }).click())
    await page.getByText('A key is stored').waitFor()
    const kept = await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))
    expect(kept).not.toContain('sk-typed-here')
    await page.getByLabel('Instructions').fill('Say it in rhymes')
    await page.getByRole('button', { name: 'Discard changes' }).click()
    expect(await page.getByLabel('Instructions').inputValue()).toBe('Say it in verse')
    await page.getByLabel('Instructions').fill('Say it in prose')
    await answered(page, 'PUT', () => page.getByRole('button', { name: 'Save' }).click())
    expect(await agent()).toMatchObject({
      prompt_template: 'Say it in prose',
      model: { provider: 'openai', api_key: '******' },
    })
    await page.getByRole('button', { name: 'Delete the agent' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.waitForURL('**/')
    expect(await browser.send('GET', '/api/projects/mindsdb/agents')).toEqual([])
  })
})

browserTest('knowledge bases that SQL gave an agent stay known after it is saved', async () => {
  const using = `data = {"knowledge_bases": ["teas"]}`
  await browser.send('POST', '/api/sql/query', { query: `CREATE AGENT server USING ${using}` })
  await browser.visit('/projects/mindsdb/agents/server/settings', {}, async ({ page }) => {
    await page.getByLabel('Instructions').fill('Be brief')
    await answered(page, 'PUT', () => page.getByRole('button', { name: 'Save' }).click())
    await page.getByText('Saved').waitFor()
    await page.getByRole('button', { name: 'Remove default.teas' }).waitFor()
    expect(await page.getByText('does not exist').count()).toBe(0)
  })
})

browserTest('what was typed for a new agent stays, except its key', async () => {
  await browser.visit('/create/agent', {}, async ({ page }) => {
    await page.getByLabel('Name', { exact: true }).fill('barista')
    await page.getByLabel('Provider').selectOption('openai')
    await page.getByLabel('Model', { exact: true }).fill('m')
    await page.getByLabel('Key', { exact: true }).fill('sk-typed-here')
    const navigation = page.getByRole('navigation', { name: 'Main' })
    await navigation.getByRole('link', { name: 'Home' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain('sk-typed-here')
    await page.goBack()
    await page.getByLabel('Key', { exact: true }).waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('barista')
    expect(await page.getByLabel('Model', { exact: true }).inputValue()).toBe('m')
    await page.getByLabel('Provider').selectOption('')
    await page.getByRole('button', { name: 'Create the agent' }).click()
    await page.waitForURL('**/projects/mindsdb/agents/barista')
    await page.goto('/create/agent')
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('')
  })
})

browserTest('tables that cannot be listed are not called missing', async () => {
  await browser.visit('/create/agent', { expectedErrors: /503/ }, async ({ page }) => {
    const main = page.getByRole('main')
    await main.getByRole('region', { name: 'Tables, files and views' }).waitFor()
    await page.route('**/api/sql/**', (route) => route.fulfill({ status: 503, body: 'away' }))
    await page.reload()
    await main.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor()
    expect(await main.getByRole('region', { name: 'Tables, files and views' }).count()).toBe(0)
  })
})
