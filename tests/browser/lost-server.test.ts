import { expect } from 'bun:test'
import { browserOver, browserTest } from './browser-fixture.ts'

const browser = browserOver()

/** The browser writes each unanswered request to its console. */
const UNANSWERED = /ERR_CONNECTION|ERR_EMPTY|Failed to load/

browserTest(
  'a server that goes away is said, nothing typed is lost, and it comes back',
  async () => {
    await browser.visit('/create/agent', { expectedErrors: UNANSWERED }, async ({ page }) => {
      await page.getByLabel('Name', { exact: true }).fill('guide')
      await page.getByLabel('Instructions').fill('Say it in verse')
      const banner = page.getByText('The server does not answer')
      await browser.restartServer(async () => {
        await page.getByRole('button', { name: 'Create the agent' }).click()
        await banner.waitFor()
        await page.getByText('Nothing that you typed is lost').first().waitFor()
      })
      await banner.waitFor({ state: 'detached' })
      expect(await page.getByLabel('Instructions').inputValue()).toBe('Say it in verse')
      await page.getByRole('button', { name: 'Create the agent' }).click()
      await page.waitForURL('**/projects/mindsdb/agents/guide')
    })
  },
)
