import { expect } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { browserOver, browserTest } from './browser-fixture.ts'

const browser = browserOver()

/** Chromium tries to carry a style over when a coloured text is typed over; the policy refuses, and nothing is lost. */
const TYPED_OVER = /Applying inline style/

browserTest(
  'a statement: an error at its place, then rows, a chart, an export, a reload',
  async () => {
    await browser.visit('/sql', { expectedErrors: TYPED_OVER }, async ({ page }) => {
      await page.locator('.cm-content').click()
      await page.keyboard.type('SELECT wrong,\n  2 AS b FROM range(3) AS t(a)')
      await page.keyboard.press('Control+Enter')
      await page.getByRole('alert').getByText('wrong').first().waitFor()
      await page.locator('.cm-lintRange-error').waitFor()
      // The whole text is typed anew.
      await page.locator('.cm-content').click()
      await page.keyboard.press('Control+a')
      await page.keyboard.type(
        "SELECT 'tea ' || a AS name, a * :factor AS amount FROM range(5) AS t(a)",
      )
      await page.getByLabel(':factor', { exact: true }).fill('10')
      await page.getByRole('button', { name: 'Run' }).click()
      await page.getByText('5 rows in').waitFor()
      await page.getByRole('gridcell', { name: '40' }).waitFor()
      expect(await page.getByRole('gridcell').allTextContents()).toEqual(
        [0, 1, 2, 3, 4].flatMap((row) => [`tea ${row}`, String(row * 10)]),
      )
      await page.getByRole('columnheader', { name: 'amount' }).getByRole('button').click()
      await page.getByRole('columnheader', { name: 'amount' }).getByRole('button').click()
      expect(await page.getByRole('gridcell').first().textContent()).toBe('tea 4')
      await page.getByRole('button', { name: 'Chart', exact: true }).click()
      await page.getByText('bar of 5 values along name: amount from 0 to 40').waitFor()
      await page.getByRole('button', { name: 'Export' }).click()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'CSV' }).click(),
      ])
      expect(await readFile(await download.path(), 'utf8')).toContain('tea 4,40')
      await page.reload()
      await page
        .getByRole('group', { name: /^Parameters/ })
        .getByText(':factor')
        .waitFor()
      await page.locator('.cm-content', { hasText: 'range(5)' }).waitFor()
    })
  },
)

browserTest('a link opens statement and result; what writes does not run by itself', async () => {
  const link = (sql: string) => `/sql?${new URLSearchParams({ q: sql, run: '1' })}`
  await browser.visit(link('SELECT 41 + 1 AS answer'), {}, async ({ page }) => {
    expect(await page.getByRole('gridcell').first().textContent()).toBe('42')
    await page.goto(link('CREATE PROJECT by_link'))
    await page.getByText('CREATE PROJECT by_link').first().waitFor()
    expect(await browser.send('GET', '/api/projects')).toHaveLength(1)
    await browser.send('POST', '/api/projects/mindsdb/agents', { agent: { name: 'helper' } })
    await page.goto(link("SELECT answer FROM helper WHERE question = 'x'"))
    await page.getByText('The statement did not run by itself').waitFor()
  })
})

browserTest('100,000 rows scroll to their end, and a long statement is cancelled', async () => {
  const sql = 'SELECT i FROM range(100000) AS t(i)'
  await browser.visit(`/sql?${new URLSearchParams({ q: sql, run: '1' })}`, {}, async ({ page }) => {
    await page.getByText('100,000 rows in').waitFor()
    await page.getByRole('grid').evaluate((grid) => grid.scrollTo(0, grid.scrollHeight))
    await page.getByRole('gridcell', { name: '99999' }).waitFor()
    expect(await page.getByRole('gridcell').count()).toBeLessThan(100)
    await page.getByRole('button', { name: 'New' }).click()
    await page.locator('.cm-content').click()
    await page.keyboard.type('SELECT count(*) FROM range(3000000) a, range(3000000) b')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Cancelled after').waitFor()
  })
})
