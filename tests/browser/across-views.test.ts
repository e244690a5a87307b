/** Paths across the views: without a mouse, back and forward, on a phone. */
import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import {
  answered,
  browserOver,
  browserTest,
  expectNoSidewaysScroll,
  settled,
} from './browser-fixture.ts'

const browser = browserOver()
const KB = '/projects/mindsdb/knowledge_bases/teas'

async function fill(): Promise<void> {
  const of = '/api/projects/mindsdb'
  await browser.send('POST', `${of}/knowledge_bases`, { knowledge_base: { name: 'teas' } })
  const rows = [
    { id: 'assam', content: 'Assam is a strong black tea from India' },
    { id: 'rooibos', content: 'Rooibos is a red infusion without caffeine' },
    { id: 'mint', content: 'Peppermint is an infusion that is drunk hot or cold' },
  ]
  await browser.send('PUT', `${of}/knowledge_bases/teas`, { knowledge_base: { rows } })
  const data = { knowledge_bases: ['mindsdb.teas'] }
  await browser.send('POST', `${of}/agents`, { agent: { name: 'guide', data } })
}

browserTest('by keyboard alone, the focus is always somewhere', async () => {
  await fill()
  await browser.visit('/', {}, async ({ page }) => {
    await page.getByRole('link', { name: 'teas' }).first().waitFor()
    await settled(page)
    await page.keyboard.press('Tab')
    await page.getByRole('link', { name: 'Skip to content' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await page.locator('main:focus').waitFor()

    await goTo(page, 'teas')
    await page.locator('h1:focus', { hasText: 'teas' }).waitFor()
    await page.getByRole('checkbox', { name: 'mint' }).press('Space')
    const main = page.getByRole('main')
    await main.getByRole('button', { name: 'Delete' }).press('Enter')
    const asked = page.getByRole('dialog')
    await asked.locator(':focus').waitFor()
    await page.keyboard.press('Escape')
    await asked.waitFor({ state: 'detached' })
    await main.locator('button:focus', { hasText: 'Delete' }).press('Enter')
    // The button that opened the dialog has disappeared with the deleted record.
    await asked.getByRole('button', { name: 'Delete' }).press('Enter')
    await page.locator('h1:focus').waitFor()
    await main.getByText('2 documents').waitFor()

    await goTo(page, 'guide settings')
    const save = page.getByRole('button', { name: 'Save' })
    await answered(page, 'PUT', () => save.press('Enter'))
    await page.locator('button:focus:not([aria-disabled="true"])', { hasText: 'Save' }).waitFor()
  })
})

/** Opens a view through the list of all names. */
async function goTo(page: Page, name: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill(name)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.locator('h1:focus').waitFor()
  await settled(page)
}

browserTest(
  'a view is where it was after Back and a reload, and a new one is at its top',
  async () => {
    await browser.visit('/operations/settings', {}, async ({ page }) => {
      const main = page.getByRole('main')
      const isAt = (y: number) => page.waitForFunction((at) => Math.abs(scrollY - at) < 2, y)
      await main.getByText('EIDER_LOG_LEVEL').waitFor()
      await page.evaluate(() => scrollTo(0, 700))
      await isAt(700)
      await page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link', { name: 'SQL' })
        .click()
      await main.getByRole('heading', { level: 1, name: 'SQL' }).waitFor()
      await settled(page)
      expect(await page.evaluate(() => scrollY)).toBe(0)
      await page.goBack()
      await isAt(700)
      await page.reload()
      await isAt(700)
      await page.mouse.wheel(0, -200)
      await isAt(500)
    })
  },
)

browserTest(
  'home is where it was after Back, although its jobs come later than the rest',
  async () => {
    const query = "SELECT 'oolong' AS id, 'Oolong is half oxidised' AS content"
    const json = { knowledge_base: { query, background: true } }
    await browser.send('PUT', `/api${KB}`, json)
    for (let index = 0; index < 20; index += 1) {
      await browser.send('POST', '/api/projects', { project: { name: `p${index}` } })
    }
    await browser.visit('/', {}, async ({ page }) => {
      const jobs = page.getByRole('region', { name: 'New', exact: true })
      await jobs.waitFor()
      await page.evaluate(() => scrollTo(0, 900))
      await page.waitForFunction(() => scrollY === 900)
      await page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link', { name: 'SQL' })
        .click()
      await page.getByRole('heading', { level: 1, name: 'SQL' }).waitFor()
      const seen = Promise.withResolvers<void>()
      await page.route('**/api/jobs?*', async (route) => {
        await seen.promise
        await route.continue()
      })
      await page.goBack()
      await page.waitForFunction(() => Math.abs(scrollY - 900) < 2)
      seen.resolve()
      await jobs.waitFor()
      await settled(page)
      expect(await page.evaluate(() => scrollY)).toBe(900)
    })
  },
)

browserTest(
  'a phone: from the menu to a knowledge base, a search, an answer, and back',
  async () => {
    await browser.visit('/operations', { viewport: 'phone' }, async ({ page }) => {
      const main = page.getByRole('main')
      const found = main.locator('mark', { hasText: 'caffeine' }).filter({ visible: true }).first()
      const isFine = async () => {
        await settled(page)
        await expectNoSidewaysScroll(page)
      }
      await main.getByRole('heading', { level: 1, name: 'Operations' }).waitFor()
      await page.getByRole('button', { name: 'Menu' }).click()
      await page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link', { name: 'Home' })
        .click()
      await main.getByRole('link', { name: 'teas' }).first().click()
      await page.waitForURL(`**${KB}`)
      await main.getByRole('link', { name: 'assam' }).waitFor()
      await isFine()
      await main.getByRole('link', { name: 'Search' }).click()
      await main.getByRole('searchbox').first().fill('no caffeine')
      await found.waitFor()
      // The address is updated a moment after the typing.
      await page.waitForURL(/\/teas\/search\?/)
      await isFine()
      await page.getByRole('button', { name: 'Menu' }).click()
      await page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link', { name: 'guide' })
        .click()
      await main.getByPlaceholder('Ask something').waitFor()
      await page.goBack()
      await page.waitForURL(/\/teas\/search\?/)
      await found.waitFor()
      await page.goForward()
      await main.getByPlaceholder('Ask something').fill('Which tea has no caffeine?')
      await main.getByRole('button', { name: 'Ask', exact: true }).click()
      await main.getByRole('button', { name: 'Ask again' }).waitFor()
      await isFine()
      await page.getByRole('button', { name: 'Go to' }).click()
      await page.getByRole('dialog', { name: 'Go to' }).waitFor()
      await isFine()
    })
  },
)
