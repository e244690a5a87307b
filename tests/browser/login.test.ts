import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { browserOver, browserTest } from './browser-fixture.ts'

const PASSWORD = 'right and long'

const browser = browserOver({
  EIDER_USERNAME: 'ada',
  EIDER_PASSWORD: PASSWORD,
})

/** The login appears on its own page or over the current view. */
async function logIn(page: Page, name: string, password: string): Promise<void> {
  const form = page.locator('form').filter({ has: page.locator('[name=username]') })
  await form.getByLabel('Name').fill(name)
  await form.getByLabel('Password').fill(password)
  await form.getByRole('button', { name: 'Sign in' }).click()
}

/**
 * The login page. A view that sends requests by itself may show a login window for a moment before
 * it.
 */
function loggedOut(page: Page): Promise<void> {
  return page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).waitFor()
}

/** The browser logs each refused request in its console. */
const REFUSED = /status of 401|status of 400/

browserTest('a login, one that ends while the user types, and signing out', async () => {
  await browser.visit('/sql', { expectedErrors: REFUSED }, async ({ page, baseUrl }) => {
    await logIn(page, 'ada', 'wrong')
    await page.getByRole('alert').waitFor()
    await logIn(page, 'ada', PASSWORD)
    await page.locator('.cm-content').click()
    await page.keyboard.type('SELECT 40 + 2 AS answer')
    // The token is revoked without the page's knowledge. The next request fails.
    await page.request.post('/api/logout')
    // An earlier request may fail first. The login window then covers the button.
    await page.getByRole('button', { name: 'Run', exact: true }).dispatchEvent('click')
    const again = page.getByRole('dialog', { name: 'Sign in again' })
    await again.getByLabel('Password').and(page.locator(':focus')).press('Escape')
    await page.keyboard.press('Escape')
    await again.getByLabel('Password').and(page.locator(':focus')).waitFor()
    await logIn(page, 'ada', PASSWORD)
    await page.getByRole('gridcell', { name: '42' }).waitFor()
    expect(await page.locator('.cm-content').textContent()).toContain('SELECT 40 + 2')
    const token = (await page.context().cookies()).map(({ value }) => value)[0]
    const headers = { cookie: `session=${token}` }
    expect((await fetch(`${baseUrl}/api/projects`, { headers })).status).toBe(200)
    await page.getByRole('button', { name: 'ada Account' }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out', exact: true }).click()
    await loggedOut(page)
    // The server ends the session, so a copied cookie is invalid, too.
    expect((await fetch(`${baseUrl}/api/projects`, { headers })).status).toBe(401)
    expect(await page.evaluate(() => localStorage.getItem('eider.sql.tabs'))).toBeNull()
  })
})

browserTest('a key and a user are made, used and taken away', async () => {
  await browser.visit(
    '/operations/access',
    { expectedErrors: REFUSED },
    async ({ page, baseUrl }) => {
      await logIn(page, 'ada', PASSWORD)
      await page.getByRole('button', { name: 'New key' }).click()
      const asking = page.getByRole('dialog')
      await asking.getByLabel('Name').fill('notebook')
      await asking.getByLabel('Only some').check()
      await asking.getByLabel('default').check()
      await asking.getByLabel('Requests per minute').fill('60')
      await asking.getByLabel('Expires').fill('2099-01-31T12:00')
      await asking.getByRole('button', { name: 'Create the key' }).click()
      // The list behind the dialog also shows the key's first letters.
      const key = await asking.getByText(/^eider_/).textContent()
      const asked = async () => {
        const headers = { authorization: `Bearer ${key}` }
        return (await fetch(`${baseUrl}/api/projects`, { headers })).status
      }
      expect(await asked()).toBe(200)
      await page.getByRole('button', { name: 'Done' }).click()
      const listed = page.getByRole('listitem').filter({ hasText: 'notebook' })
      await listed.getByText(/^default · .* 2099.* · 60 requests a minute · made by ada/).waitFor()
      await page.getByRole('button', { name: 'Revoke notebook' }).click()
      await asking.getByRole('button', { name: 'Revoke' }).click()
      await page.getByText('No keys yet').waitFor()
      expect(await asked()).toBe(401)
      await page.getByRole('button', { name: 'New user' }).click()
      await asking.getByLabel('Name').fill('vera')
      await asking.getByLabel('Only some').check()
      await asking.getByLabel('default').check()
      await asking.getByLabel('Password').fill('looks and reads')
      await asking.getByRole('button', { name: 'Create the user' }).click()
      await page.getByRole('button', { name: 'Change vera' }).waitFor()
      await browser.visit('/create/agent', { expectedErrors: REFUSED }, async ({ page: hers }) => {
        await logIn(hers, 'vera', 'looks and reads')
        // The requested address is opened, with a note on who may make changes.
        await hers.getByText('You have read-only access').waitFor()
        await hers.goto('/operations/settings')
        await hers.getByText('This is for admins').waitFor()
        // Her permissions apply at once, and the page offers nothing that the server would refuse.
        // She has only this project.
        await page.getByRole('button', { name: 'Change vera' }).click()
        const changed = page.getByRole('dialog', { name: 'vera' })
        await changed.getByLabel('Role').selectOption('editor')
        await changed.getByRole('button', { name: 'Save' }).click()
        await changed.waitFor({ state: 'detached' })
        await hers.goto('/')
        const view = hers.getByRole('main')
        await view.getByRole('link', { name: 'New knowledge base' }).waitFor()
        expect(await view.getByRole('button', { name: 'New project' }).count()).toBe(0)
        await hers.goto('/operations')
        await hers.getByText('Only admins see').waitFor()
        await page.getByRole('button', { name: 'Delete vera' }).click()
        await asking.getByRole('button', { name: 'Delete' }).click()
        await page.getByRole('button', { name: 'Change vera' }).waitFor({ state: 'detached' })
        // The pressed button has disappeared with its row, so keys continue from the heading.
        await page.locator('h1:focus').waitFor()
        // The overview polls, so the page notices that the login has ended. She logs out of it.
        const again = hers.getByRole('dialog', { name: 'Sign in again' })
        await again.getByRole('button', { name: /Sign out/ }).click()
        await hers.getByRole('main').getByLabel('Password').waitFor()
      })
    },
  )
})

browserTest('what happens to the login in one tab happens in the other', async () => {
  await browser.visit('/', { expectedErrors: REFUSED }, async ({ page, context }) => {
    await logIn(page, 'ada', 'eider_00000000')
    await page.getByText('This is a key').waitFor()
    await logIn(page, 'ada', PASSWORD)
    await page.getByRole('button', { name: 'ada Account' }).waitFor()
    const other = await context.newPage()
    await other.goto('/operations')
    await other.getByRole('button', { name: 'ada Account' }).waitFor()
    await page.getByRole('button', { name: 'ada Account' }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    // The page asks first if the browser stores something of hers.
    const asked = page.getByRole('dialog').getByRole('button', { name: 'Sign out', exact: true })
    const out = page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true })
    await asked.or(out).waitFor()
    if (await asked.isVisible()) await asked.click()
    await loggedOut(page)
    await loggedOut(other)
    await logIn(other, 'ada', PASSWORD)
    await page.getByRole('button', { name: 'ada Account' }).waitFor()
  })
})
