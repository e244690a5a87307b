import { expect } from 'bun:test'
import { browserOver, browserTest } from './browser-fixture.ts'

const browser = browserOver({
  EIDER_USERNAME: 'ada',
  EIDER_PASSWORD: 'right and long',
})

/** The browser writes each refused request to its console. */
const REFUSED = /status of 401|status of 400/

browserTest('a login, one that ends while somebody types, and signing out', async () => {
  await browser.visit('/sql', { expectedErrors: REFUSED }, async ({ page }) => {
    const logIn = async (password: string) => {
      const name = page.getByRole('textbox', { name: 'Name' })
      if ((await name.inputValue()) === '') await name.fill('ada')
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Log in' }).click()
    }
    await logIn('wrong')
    await page.getByRole('alert').waitFor()
    await logIn('right and long')
    await page.locator('.cm-content').click()
    await page.keyboard.type('SELECT 40 + 2 AS answer')
    // The token is revoked behind the page's back: its next request finds out.
    await page.request.post('/api/logout')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('dialog', { name: 'Log in again' }).waitFor()
    await logIn('right and long')
    await page.getByRole('gridcell', { name: '42' }).waitFor()
    expect(await page.locator('.cm-content').textContent()).toContain('SELECT 40 + 2')
    await page.getByRole('button', { name: 'ada' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    const asked = page.getByRole('dialog').getByRole('button', { name: 'Sign out' })
    await asked.click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    expect(await page.evaluate(() => localStorage.getItem('eider.sql.tabs'))).toBeNull()
  })
})
