import { expect } from 'bun:test'
import {
  browserOver,
  browserTest,
  expectNoSidewaysScroll,
  expectNoViolations,
} from './browser-fixture.ts'

const browser = browserOver()

browserTest('keys lead through the page, and ? lists them', async () => {
  await browser.visit('/', {}, async ({ page }) => {
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await page.getByRole('heading', { level: 1, name: 'SQL' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await page.keyboard.press('?')
    expect(await page.getByRole('dialog').textContent()).toContain('Go to operations')
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })
})

browserTest('an address of no view says so, and shows the way home', async () => {
  await browser.visit('/projects/mindsdb/nothing', {}, async ({ page }) => {
    await page.getByRole('heading', { level: 1, name: 'There is no such view' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Home' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  })
})

browserTest('the shell has nothing that axe finds, wide and narrow', async () => {
  for (const viewport of ['desktop', 'phone'] as const) {
    await browser.visit('/', { viewport }, async ({ page }) => {
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expectNoViolations(page)
      await expectNoSidewaysScroll(page)
    })
  }
})
