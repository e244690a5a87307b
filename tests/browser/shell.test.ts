import { expect } from 'bun:test'
import {
  browserOver,
  browserTest,
  COVERED,
  expectNoSidewaysScroll,
  expectNoViolations,
  settled,
} from './browser-fixture.ts'

const browser = browserOver()

browserTest('everything is opened by its name, from the keyboard', async () => {
  await browser.visit('/', {}, async ({ page }) => {
    await page.getByRole('heading', { level: 1 }).waitFor()
    await settled(page)
    // A user who continues typing loses no letter.
    await page.evaluate(() => {
      const key = { key: 'k', ctrlKey: true, bubbles: true }
      document.body.dispatchEvent(new KeyboardEvent('keydown', key))
      return Promise.resolve().then(() => {
        if (document.activeElement?.role !== 'combobox') throw new Error('nothing to type into yet')
      })
    })
    await page.keyboard.type('new agent')
    await expectNoViolations(page)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/create/agent')
    await page.locator('h1:focus').waitFor()
    expect(await page.title()).toContain('New agent')
    // The same keys close it, also with Caps Lock.
    await page.keyboard.press('Control+K')
    await page.getByRole('dialog').getByRole('combobox').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })
})

browserTest('an address of no view says so, and shows the way home', async () => {
  await browser.visit('/projects/mindsdb/nothing', {}, async ({ page }) => {
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Home' }).click()
    await page.waitForURL('**/')
    await page.locator('h1:focus').waitFor()
  })
  const gone = '/projects/mindsdb/knowledge_bases/gone/search'
  await browser.visit(gone, { expectedErrors: /404/ }, async ({ page }) => {
    await page.getByText('There is no knowledge base with this name').waitFor()
  })
})

browserTest('a phone has a menu, and the names that it leaves out are found', async () => {
  const names = ['<img src=x onerror=alert(1)> & "quoted"', 'שלום עולם', `long_${'w'.repeat(50)}`]
  for (const name of [...names, 'many_119']) {
    const json = { knowledge_base: { name } }
    await browser.send('POST', '/api/projects/mindsdb/knowledge_bases', json)
  }
  // Agents are made faster, and are as much a name in the menu.
  for (let index = 0; index < 220; index += 1) {
    if (index === 119) continue
    const json = { agent: { name: `many_${index}` } }
    await browser.send('POST', '/api/projects/mindsdb/agents', json)
  }
  await browser.visit('/operations', { viewport: 'phone' }, async ({ page }) => {
    const menu = page.getByRole('button', { name: 'Menu' })
    const navigation = page.getByRole('navigation', { name: 'Main' })
    await menu.click()
    await navigation.getByText('and 23 more').waitFor()
    await expectNoSidewaysScroll(page)
    await expectNoViolations(page, COVERED)
    await page.keyboard.press('Escape')
    await navigation.waitFor({ state: 'hidden' })
    await page.locator('.menu-button:focus').waitFor()
    await menu.click()
    await navigation.getByRole('link', { name: 'many_119' }).click()
    await page.getByRole('heading', { level: 1, name: 'many_119' }).waitFor()
    await navigation.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Go to' }).click()
    await page.getByRole('dialog').getByRole('combobox').fill('many_219')
    await page.getByRole('option', { name: 'many_219' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'many_219' }).waitFor()
  })
})

browserTest('what another window deletes leaves the navigation', async () => {
  const all = '/api/projects/mindsdb/knowledge_bases'
  await browser.send('POST', all, { knowledge_base: { name: 'brief' } })
  await browser.visit('/operations/settings', {}, async ({ page }) => {
    await page.clock.install()
    await page.reload()
    const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'brief' })
    await link.waitFor()
    await browser.send('DELETE', `${all}/brief`)
    await page.clock.fastForward(15_000)
    await link.waitFor({ state: 'detached' })
  })
})

browserTest('dark and light are chosen, and kept', async () => {
  await browser.visit('/operations', { scheme: 'dark' }, async ({ page }) => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const theme = page.getByRole('button', { name: 'Colours' })
    await theme.waitFor()
    const dark = await paper()
    await theme.click()
    expect(await paper()).not.toBe(dark)
    await page.reload()
    await page.getByRole('button', { name: 'Colours: light' }).waitFor()
    expect(await paper()).not.toBe(dark)
  })
})
