import { expect } from 'bun:test'
import { browserOver, browserTest } from './browser-fixture.ts'

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
