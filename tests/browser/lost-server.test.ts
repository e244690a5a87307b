import { expect } from 'bun:test'
import { browserOver, browserTest } from './browser-fixture.ts'

const browser = browserOver()

/** The browser logs each unanswered request in its console. */
const UNANSWERED = /ERR_CONNECTION|ERR_EMPTY|Failed to load/

browserTest(
  'a server that goes away is said, nothing typed is lost, and it comes back',
  async () => {
    await browser.visit('/create/agent', { expectedErrors: UNANSWERED }, async ({ page }) => {
      await page.getByLabel('Name', { exact: true }).fill('guide')
      await page.getByLabel('Instructions').fill('Say it in verse')
      const banner = page.getByText('The server is not responding')
      await browser.restartServer(async () => {
        await page.getByRole('button', { name: 'Create the agent' }).click()
        await banner.waitFor()
        await page.getByText('Your input is kept').first().waitFor()
      })
      await banner.waitFor({ state: 'detached' })
      expect(await page.getByLabel('Instructions').inputValue()).toBe('Say it in verse')
      await page.getByRole('button', { name: 'Create the agent' }).click()
      await page.waitForURL('**/projects/mindsdb/agents/guide')
    })
  },
)

browserTest('a page that opens says that it waits, and why it cannot open', async () => {
  await browser.visit('/sql', { expectedErrors: UNANSWERED }, async ({ page }) => {
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
    const asked = Promise.withResolvers<void>()
    await page.route('**/api/status', async (route) => {
      await asked.promise
      await route.fulfill({ status: 500, json: { title: 'Internal error', status: 500 } })
    })
    await page.goto('/')
    const main = page.getByRole('main')
    await main.getByText('Loading the page').waitFor()
    asked.resolve()
    await main.getByRole('button', { name: 'Try again' }).waitFor()
    await page.unroute('**/api/status')
    await main.getByRole('button', { name: 'Try again' }).click()
    await main.getByRole('button', { name: 'Choose files' }).waitFor()
  })
})
