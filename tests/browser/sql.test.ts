import { expect } from 'bun:test'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { browserOver, browserTest, expectNoViolations, settled } from './browser-fixture.ts'

const browser = browserOver()

const link = (sql: string, more: Readonly<Record<string, string>> = {}) => {
  return `/sql?${new URLSearchParams({ q: sql, run: '1', ...more })}`
}

browserTest('the editor does not move when the tables arrive', async () => {
  await browser.visit('/', {}, async ({ page }) => {
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    const arrived = Promise.withResolvers<void>()
    await page.route('**/api/sql/**', async (route) => {
      await arrived.promise
      await route.continue()
    })
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'SQL' }).click()
    const place = async () => (await page.locator('.sql-editor').boundingBox())?.x
    await page.getByText('Loading the tables').waitFor()
    const before = await place()
    arrived.resolve()
    await page.getByText('No tables yet').waitFor()
    expect(await place()).toBe(before)
  })
})

/** Replaces the text without the editor's automatic additions. */
async function write(page: Page, sql: string): Promise<void> {
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(sql)
}

browserTest(
  'a statement: an error at its place, then rows, a chart, an export, a reload',
  async () => {
    await browser.visit('/sql', {}, async ({ page }) => {
      await write(page, "SELECT 1;\nSELECT '🙂',\n  wrong FROM range(3) AS t(a)")
      await page.keyboard.press('Control+Enter')
      await page.getByRole('alert').getByText('wrong').first().waitFor()
      expect(await page.locator('.cm-lintRange-error').textContent()).toBe('wrong')
      const described = page.locator('.cm-content[aria-description*="Escape, then Tab"]')
      const frame = page.locator('.sql-editor')
      expect(await frame.evaluate((one) => getComputedStyle(one).outlineStyle)).toBe('solid')
      await described.press('Escape')
      await page.keyboard.press('Tab')
      await page
        .getByRole('button', { name: 'Run', exact: true })
        .and(page.locator(':focus'))
        .waitFor()
      await write(page, "SELECT 'tea ' || a AS name, a * :factor AS amount FROM range(5) AS t(a)")
      await page.getByLabel(':factor', { exact: true }).fill('10')
      await page.getByText('sent as the number 10').waitFor()
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      await page.getByText('5 rows in').waitFor()
      expect(await page.getByRole('gridcell').allTextContents()).toEqual(
        [0, 1, 2, 3, 4].flatMap((row) => [`tea ${row}`, String(row * 10)]),
      )
      await page.getByRole('columnheader', { name: 'amount' }).getByRole('button').click()
      await page.getByRole('columnheader', { name: 'amount' }).getByRole('button').click()
      await page.getByRole('gridcell').first().filter({ hasText: 'tea 4' }).waitFor()
      // Without a mouse, the column of the chosen cell is sorted below the table.
      const sort = page.getByRole('button', { name: 'Sort by name' })
      await sort.press('Enter')
      await page.getByRole('gridcell').first().filter({ hasText: 'tea 0' }).waitFor()
      await sort.and(page.locator(':focus')).press('Enter')
      await page.getByRole('gridcell').first().filter({ hasText: 'tea 4' }).waitFor()
      await page.getByRole('grid').focus()
      await page.keyboard.press('Shift+ArrowRight')
      await page.keyboard.press('Shift+ArrowDown')
      await page.getByText('2 rows × 2 columns').waitFor()
      await page.keyboard.press('Control+c')
      await page.waitForFunction(async () => {
        return (await navigator.clipboard.readText()) === 'tea 4\t40\ntea 3\t30'
      })
      await page.getByRole('button', { name: 'Chart', exact: true }).click()
      await page.getByText('amount by name: 5 bars, from 0 to 40.').waitFor()
      await expectNoViolations(page)
      await page.getByRole('button', { name: 'Export' }).click()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'CSV' }).click(),
      ])
      expect(await readFile(await download.path(), 'utf8')).toContain('tea 4,40')
      await page.reload()
      await page.locator('.cm-content', { hasText: 'range(5)' }).waitFor()
      expect(await page.getByLabel(':factor', { exact: true }).inputValue()).toBe('10')
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      await page.getByText('amount by name: 5 bars, from 0 to 40.').waitFor()
    })
  },
)

browserTest('a link opens statement and result; what writes does not run by itself', async () => {
  const chart = link('SELECT * FROM range(:n) AS t(a)', { 'p.n': '30', as: 'Chart' })
  await browser.visit(chart, {}, async ({ page }) => {
    await page.getByText('How often each a occurs, in 30 bars.').waitFor()
    await page.goto(link('SELECT 41 + 1 AS answer'))
    await page.getByRole('gridcell', { name: '42' }).waitFor()
    const long = `SELECT 7 AS seven -- ${'long '.repeat(2000)}`
    await page.goto(link(long).replace('?', '#'))
    await page.getByRole('gridcell', { name: '7' }).waitFor()
    await page.goto(link("SELECT 5 AS five; -- ;\nSELECT ';' AS end_of_it"))
    await page.getByRole('gridcell', { name: ';' }).waitFor()
    await page.getByRole('button', { name: /SELECT 5/ }).click()
    await page.getByRole('gridcell', { name: '5' }).waitFor()
    await page.getByRole('button', { name: 'New' }).click()
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    const refused = page.getByText('Write a statement first')
    await refused.waitFor()
    await page.goto(link('SELECT :size AS size', { 'p.size': '["tall"]' }))
    await page.getByText('sent as a list of 1').waitFor()
    await refused.waitFor({ state: 'detached' })
    await page.getByRole('gridcell', { name: 'tall' }).waitFor()
    await page.goto(link('CREATE PROJECT by_link'))
    await page.getByText('The statement did not run automatically').waitFor()
    expect(await browser.send('GET', '/api/projects')).toHaveLength(1)
    await browser.send('POST', '/api/projects/mindsdb/agents', { agent: { name: 'helper' } })
    await page.goto(link("SELECT answer FROM helper WHERE question = 'x'"))
    await page.getByText('asks an agent').first().waitFor()
  })
})

browserTest(
  'several statements at once, their plan, their history; two windows keep each other',
  async () => {
    await browser.visit('/sql', {}, async ({ page, context }) => {
      await page.locator('.cm-content').click()
      await page.keyboard.type('create know')
      await page.locator('.cm-tooltip-autocomplete', { hasText: 'KNOWLEDGE_BASE' }).waitFor()
      await page.keyboard.press('Escape')
      await write(
        page,
        'CREATE TABLE teas AS SELECT 3 AS price;\nSELECT price FROM teas;\nSELECT no',
      )
      await page.keyboard.press('Control+Shift+Enter')
      await page.getByRole('alert').waitFor()
      await page.getByRole('button', { name: /SELECT price/ }).click()
      await page.getByRole('gridcell', { name: '3' }).waitFor()
      await page.getByText('mindsdb.teas').waitFor()
      await page.getByRole('button', { name: 'Plan' }).click()
      await page.locator('.cm-content', { hasText: 'EXPLAIN SELECT no' }).waitFor()
      await write(page, 'EXPLAIN ANALYZE SELECT price FROM teas')
      await page.keyboard.press('Control+Enter')
      await page.getByRole('region', { name: 'Result' }).getByText('Total Time').waitFor()
      await page.getByRole('button', { name: 'Close Statement 2' }).click()
      await page.getByRole('button', { name: 'Reopen the closed tab' }).waitFor()
      const second = await context.newPage()
      await second.goto('/sql')
      await second.getByRole('button', { name: 'New' }).click()
      await second.locator('.cm-content').click()
      await second.keyboard.insertText('SELECT 2 AS second')
      await page.getByRole('button', { name: 'Statement 2', exact: true }).waitFor()
      await write(page, 'SELECT 1 AS first')
      await second.getByRole('button', { name: 'Statement 1', exact: true }).click()
      await second.locator('.cm-content', { hasText: 'SELECT 1 AS first' }).waitFor()
      await second.getByRole('button', { name: 'Statement 2', exact: true }).click()
      await second.locator('.cm-content', { hasText: 'SELECT 2 AS second' }).waitFor()
      await second.getByRole('button', { name: 'History' }).click()
      await second.getByRole('button', { name: /CREATE TABLE teas/ }).waitFor()
    })
  },
)

browserTest('a search is sorted by the server, next to its chart', async () => {
  const kb = '/api/projects/mindsdb/knowledge_bases'
  await browser.send('POST', kb, { knowledge_base: { name: 'cups', metadata_columns: ['price'] } })
  const rows = [7, 2, 9].map((price) => ({ id: `cup ${price}`, content: `A cup ${price}`, price }))
  await browser.send('PUT', `${kb}/cups`, { knowledge_base: { rows } })
  const search = "SELECT id, price FROM cups WHERE content = 'cup' LIMIT 3 -- all"
  await browser.visit(link(search, { as: 'Chart' }), {}, async ({ page }) => {
    await page.getByText('price by id: 3 bars, from 2 to 9.').waitFor()
    const price = page.getByRole('columnheader', { name: 'price' }).getByRole('button')
    await price.click()
    const first = page.getByRole('gridcell').first()
    await first.filter({ hasText: 'cup 2' }).waitFor()
    await price.click()
    await first.filter({ hasText: 'cup 9' }).waitFor()
  })
})

browserTest('100,000 rows scroll to their end, and a long statement is cancelled', async () => {
  await browser.visit(link('SELECT i FROM range(100000) AS t(i)'), {}, async ({ page }) => {
    await page.getByText('100,000 rows in').waitFor()
    await page.getByRole('grid').evaluate((grid) => grid.scrollTo(0, grid.scrollHeight))
    await page.getByRole('gridcell', { name: '99999' }).waitFor()
    expect(await page.getByRole('gridcell').count()).toBeLessThan(100)
    await page.getByRole('button', { name: 'New' }).click()
    await write(page, 'SELECT count(*) FROM range(3000000) a, range(3000000) b')
    await settled(page)
    await page.keyboard.press('Control+Enter')
    await page.getByText('Running for').waitFor()
    while ((await runningStatements()) === 0) await settled(page)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Cancelled after').waitFor()
    while ((await runningStatements()) > 0) await settled(page)
    await page.getByRole('button', { name: 'Statement 1', exact: true }).click()
    await page.getByText('100,000 rows in').waitFor()
  })
})

browserTest('a cell of 50 MB is shown in part, and half a million rows to their end', async () => {
  const large = link("SELECT repeat('<b>wide</b> ', 4500000) AS cell")
  await browser.visit(large, {}, async ({ page }) => {
    const grid = page.getByRole('grid')
    await page.getByRole('gridcell', { name: '<b>wide</b>' }).waitFor()
    await grid.focus()
    await page.keyboard.press('Enter')
    const whole = page.getByRole('dialog', { name: 'cell' })
    await whole.getByText('54,000,000 characters').waitFor()
    await whole.getByText('The first 100,000 are shown').waitFor()
    expect(await page.locator('main b').count()).toBe(0)
    await page.keyboard.press('Escape')
    await whole.waitFor({ state: 'detached' })
    await page.goto(link('SELECT i FROM range(1000000) AS t(i)'))
    await page.getByText('The first 500,000 rows. Export to get all').waitFor()
    await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await page.getByRole('gridcell', { name: '499999' }).waitFor()
    await page.getByRole('columnheader', { name: 'i' }).getByRole('button').click()
    await page.getByRole('columnheader', { name: 'i' }).getByRole('button').click()
    await grid.evaluate((element) => element.scrollTo(0, 0))
    await page.getByRole('gridcell', { name: '999999' }).waitFor()
    expect(await page.getByRole('gridcell').count()).toBeLessThan(100)
  })
})

/**
 * How often the long statement is running on the server, which lists statements without their
 * values.
 */
async function runningStatements(): Promise<number> {
  const running = JSON.stringify(await browser.send('GET', '/api/requests/running'))
  return running.split('range(?) a, range(?) b').length - 1
}

browserTest(
  'of many tables, the first are listed, and a part of a name finds the others',
  async () => {
    const names = Array.from({ length: 310 }, (_, at) => `many_${at}`)
    for (const name of names) {
      await browser.send('POST', '/api/projects/mindsdb/views', {
        view: { name, query: 'SELECT 1 AS one' },
      })
    }
    await browser.visit('/sql', {}, async ({ page }) => {
      const tables = page.getByRole('complementary', { name: 'Tables' })
      await tables.getByText('The first 200 of').waitFor()
      expect(await tables.getByRole('button').count()).toBe(0)
      await tables.getByRole('searchbox').fill('many_309')
      await tables.getByText('many_309').click()
      await tables.getByRole('button', { name: 'one' }).waitFor()
    })
  },
)
