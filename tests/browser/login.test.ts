import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { browserOver, browserTest } from './browser-fixture.ts'

const PASSWORD = 'right and long'

const browser = browserOver({
  EIDER_USERNAME: 'ada',
  EIDER_PASSWORD: PASSWORD,
})

/** On the page of the login, or over what is shown. */
async function logIn(page: Page, name: string, password: string): Promise<void> {
  const form = page.locator('form').filter({ has: page.locator('[name=username]') })
  await form.getByLabel('Name').fill(name)
  await form.getByLabel('Password').fill(password)
  await form.getByRole('button', { name: 'Log in' }).click()
}

/** The page of the login. Behind a page that asks something by itself, a window with such a form may come and go before it. */
function loggedOut(page: Page): Promise<void> {
  return page.getByRole('main').getByRole('button', { name: 'Log in', exact: true }).waitFor()
}

/** The browser writes each refused request to its console. */
const REFUSED = /status of 401|status of 400/

browserTest('a login, one that ends while the user types, and signing out', async () => {
  await browser.visit('/sql', { expectedErrors: REFUSED }, async ({ page, baseUrl }) => {
    await logIn(page, 'ada', 'wrong')
    await page.getByRole('alert').waitFor()
    await logIn(page, 'ada', PASSWORD)
    await page.locator('.cm-content').click()
    await page.keyboard.type('SELECT 40 + 2 AS answer')
    // The token is revoked behind the page's back: its next request finds out.
    await page.request.post('/api/logout')
    // One that was on its way may find out first. Its window is over the button then, as over any key.
    await page.getByRole('button', { name: 'Run', exact: true }).dispatchEvent('click')
    await page.getByRole('dialog', { name: 'Log in again' }).waitFor()
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
    // The server ends it: a copied cookie is void, too.
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
      // Behind the dialog the list has it as well, by its first letters.
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
        // The address that was asked for, and who may do there what she may not.
        await hers.getByText('You may look, not change').waitFor()
        await hers.goto('/operations/settings')
        await hers.getByText('This is for admins').waitFor()
        // What she may holds at once, and nothing is offered that would be refused: of projects she has this one alone.
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
        await hers.getByText('are shown to admins').waitFor()
        await page.getByRole('button', { name: 'Delete vera' }).click()
        await asking.getByRole('button', { name: 'Delete' }).click()
        await page.getByRole('button', { name: 'Change vera' }).waitFor({ state: 'detached' })
        // The button that was pressed is gone with its row: keys go on from the heading.
        await page.locator('h1:focus').waitFor()
        // The overview asks again by itself, and so finds out. She signs out of a login that has ended already.
        const again = hers.getByRole('dialog', { name: 'Log in again' })
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
    // It asks first where the browser keeps something of hers.
    const asked = page.getByRole('dialog').getByRole('button', { name: 'Sign out', exact: true })
    const out = page.getByRole('main').getByRole('button', { name: 'Log in', exact: true })
    await asked.or(out).waitFor()
    if (await asked.isVisible()) await asked.click()
    await loggedOut(page)
    await loggedOut(other)
    await logIn(other, 'ada', PASSWORD)
    await page.getByRole('button', { name: 'ada Account' }).waitFor()
  })
})
