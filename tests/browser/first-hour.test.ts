/**
 * The first hour without a manual: from a dropped file to rows, an answer or a synced table, even
 * if the page is closed in between.
 */
import { Database } from 'bun:sqlite'
import { afterAll, expect } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { strToU8, zipSync } from 'fflate'
import {
  browserOver,
  browserTest,
  expectNoSidewaysScroll,
  expectNoViolations,
  settled,
} from './browser-fixture.ts'
import { drop } from './dropped-files.ts'

const sources = mkdtempSync(join(tmpdir(), 'eider-sources-'))
afterAll(() => rmSync(sources, { recursive: true, force: true }))
const browser = browserOver({ EIDER_SOURCES_DIR: sources })

const bytesOf = (text: string) => [...new TextEncoder().encode(text)]
const TEAS =
  '# Teas\n\n## Rooibos\n\nRooibos has no caffeine.\n\n## Assam\n\nAssam is a black tea.\n'

async function documentsAre(count: number): Promise<void> {
  for (let now = 0; now < count; await Bun.sleep(100)) {
    const list = await browser.send(
      'GET',
      '/api/projects/mindsdb/knowledge_bases/documents/documents',
    )
    now = (list as { readonly total: number }).total
  }
}

browserTest('a CSV file is queried with one click', async () => {
  // The second file is refused until it may replace the first.
  await browser.visit('/', { expectedErrors: /400/ }, async ({ page }) => {
    await page.getByRole('button', { name: 'Choose files' }).waitFor()
    await page.getByRole('button', { name: 'New project' }).waitFor()
    await settled(page)
    await drop(page, [{ name: 'people.csv', bytes: bytesOf('id,name\n1,ann\n2,bob\n') }])
    await page.getByRole('button', { name: 'Make searchable' }).waitFor()
    await expectNoViolations(page)
    await page.getByRole('button', { name: 'Query it' }).click()
    await page.waitForURL('**/sql?**')
    await page.getByRole('main').getByText('bob').first().waitFor()
    await page.locator('.uplot canvas').first().waitFor()
    // Another file with the same name replaces it only on request.
    await drop(page, [{ name: 'people.csv', bytes: bytesOf('id,name\n1,cyd\n') }])
    await page.getByRole('button', { name: 'Query it' }).click()
    await page.getByRole('button', { name: 'Replace it' }).click()
    await page.getByRole('main').getByText('cyd').first().waitFor()
  })
})

/** A workbook whose sheets have one column and one row each. */
function workbook(sheets: Readonly<Record<string, string>>): readonly number[] {
  const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet'
  const names = Object.keys(sheets)
  const cell = (text: string) => `<row><c t="inlineStr"><is><t>${text}</t></is></c></row>`
  const parts = {
    '[Content_Types].xml': '<Types/>',
    'xl/workbook.xml': `<workbook><sheets>${names.map((name, at) => `<sheet name="${name}" r:id="s${at}"/>`).join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${names.map((_, at) => `<Relationship Id="s${at}" Type="${type}" Target="${at}.xml"/>`).join('')}</Relationships>`,
    ...Object.fromEntries(
      Object.entries(sheets).map(([column, value], at) => {
        const rows = cell(column) + cell(value)
        return [`xl/${at}.xml`, `<worksheet><sheetData>${rows}</sheetData></worksheet>`]
      }),
    ),
  }
  return [...zipSync(Object.fromEntries(Object.entries(parts).map(([n, t]) => [n, strToU8(t)])))]
}

browserTest('each sheet of a workbook can be opened in SQL', async () => {
  await browser.visit('/', {}, async ({ page }) => {
    await page.getByRole('button', { name: 'New project' }).waitFor()
    await settled(page)
    const bytes = workbook({ Teas: 'sencha', Prices: '9 EUR' })
    await drop(page, [{ name: 'book.xlsx', bytes }])
    await page.getByRole('button', { name: 'Query it' }).click()
    await page.getByRole('main').getByText('sencha').first().waitFor()
    await page.getByRole('link', { name: 'Home' }).first().click()
    await page.getByRole('link', { name: 'Prices' }).click()
    await page.getByRole('main').getByText('9 EUR').first().waitFor()
  })
})

browserTest(
  'documents are asked about with one click, and the answer shows its source',
  async () => {
    await browser.visit('/', {}, async ({ page }) => {
      const main = page.getByRole('main')
      await page.getByRole('button', { name: 'New project' }).waitFor()
      await settled(page)
      await drop(page, [{ name: 'teas.md', bytes: bytesOf(TEAS) }])
      await page.getByRole('button', { name: 'Ask about it' }).click()
      await page.waitForURL('**/agents/documents_agent')
      // A question asked immediately waits for the file.
      await main.getByPlaceholder('Ask something').fill('Which tea has no caffeine?')
      await page.keyboard.press('Enter')
      await main.getByText(/Searched 1 knowledge base/).waitFor()
      expect(await main.getByText('Nothing is stored').count()).toBe(0)
      const source = main.getByRole('region', { name: 'Sources' }).getByRole('link').first()
      await source.getByText('Teas', { exact: true }).waitFor()
      expect(await source.textContent()).not.toContain('1of')
      await expectNoViolations(page)
      await source.click()
      await page.waitForURL(/\/documents\/teas\.md\?/)
      await main.locator('mark').first().waitFor()
      await page.goto('/')
      await page
        .getByRole('region', { name: 'New' })
        .getByText('Insert 1 file into documents')
        .waitFor()
    })
  },
)

browserTest('a question that was asked too early waits, or is asked at once', async () => {
  await browser.visit('/projects/mindsdb/agents/documents_agent', {}, async ({ page }) => {
    const main = page.getByRole('main')
    await main.getByPlaceholder('Ask something').waitFor()
    await settled(page)
    const sent = Promise.withResolvers<void>()
    await page.route('**/api/files/late.md*', async (route) => {
      await sent.promise
      await route.continue()
    })
    await drop(page, [{ name: 'late.md', bytes: bytesOf('# Oolong\n\nOolong is half oxidised.') }])
    await page.getByRole('button', { name: 'Ask about it' }).click()
    const ask = async (question: string) => {
      // While an answer is still arriving, Enter does nothing.
      await main.getByText('Enter asks').waitFor()
      await main.getByPlaceholder('Ask something').fill(question)
      await page.keyboard.press('Enter')
      await main.getByText('Waiting until your files have been read').waitFor()
    }
    await ask('What is oolong?')
    await expectNoViolations(page)
    // Escape cancels it.
    await page.keyboard.press('Escape')
    await main.getByText('Waiting until your files').waitFor({ state: 'detached' })
    await ask('Which tea is black?')
    await main.getByRole('button', { name: 'Ask now' }).click()
    await page.locator('.agents-answer').getByText('Assam is a black tea.').waitFor()
    await ask('What is oolong?')
    sent.resolve()
    await page.locator('.agents-answer').getByText('Oolong is half oxidised.').waitFor()
    await documentsAre(2)
  })
})

browserTest('files that a closed page had not sent are sent with one click', async () => {
  const expectedErrors = /ERR_|Failed to load/
  await browser.visit('/', { expectedErrors }, async ({ page, context }) => {
    await page.getByRole('button', { name: 'New project' }).waitFor()
    await settled(page)
    const never = Promise.withResolvers<void>()
    await page.route('**/api/files/slow.md*', () => never.promise)
    await drop(page, [{ name: 'slow.md', bytes: bytesOf('# Mint\n\nMint is cool.') }])
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('Drop files or folders').waitFor()
    await page.getByRole('list', { name: 'Uploads' }).getByText('slow.md').waitFor()
    await page.waitForTimeout(300)
    await page.close({ runBeforeUnload: false })
    const next = await context.newPage()
    // The next visit can begin on any view.
    await next.goto('/projects/mindsdb/knowledge_bases/documents/add')
    await next.getByText('1 file for documents had not arrived').waitFor()
    await expectNoViolations(next)
    await next.getByRole('button', { name: 'Resume' }).click()
    await documentsAre(3)
    await next.reload()
    await next.getByRole('button', { name: 'Choose files' }).waitFor()
    await settled(next)
    expect(await next.getByRole('button', { name: 'Resume' }).count()).toBe(0)
    never.resolve()
  })
})

browserTest('a database is tried, connected, browsed and synced', async () => {
  const database = new Database(join(sources, 'shop.sqlite'))
  database.run('CREATE TABLE teas (id INTEGER PRIMARY KEY, about TEXT)')
  database.run("INSERT INTO teas VALUES (1, 'Sencha is green'), (2, 'Assam is black')")
  database.close()
  await browser.visit('/connections', {}, async ({ page }) => {
    const main = page.getByRole('main')
    await page.getByText('No connections yet').waitFor()
    await main.getByRole('button', { name: 'Connect' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Engine').selectOption('sqlite')
    await dialog.getByLabel('Name').fill('shop')
    await dialog.getByLabel('File').fill('none.sqlite')
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog
      .getByRole('status')
      .getByText(/none\.sqlite/)
      .waitFor()
    await dialog.getByLabel('File').fill('shop.sqlite')
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByText('Connected').waitFor()
    await expectNoViolations(page)
    await dialog.getByRole('button', { name: 'Connect' }).click()
    await main.getByText('Tables', { exact: true }).click()
    await main.getByRole('link', { name: 'teas' }).waitFor()
    await expectNoSidewaysScroll(page)
    await main.getByRole('button', { name: 'Sync teas into a knowledge base' }).click()
    const sync = page.getByRole('dialog', { name: 'Sync teas' })
    await sync.getByLabel('Name').fill('tea_table')
    await sync.getByRole('option', { name: 'about', selected: true }).waitFor({ state: 'attached' })
    await sync.getByRole('button', { name: 'Sync' }).click()
    await page.waitForURL('**/knowledge_bases/tea_table/add?from=sources')
    await main.getByText('2 documents added').waitFor()
    // A run that changed nothing is shown only with its source.
    await main.getByRole('button', { name: /^Run now/ }).click()
    await main.getByText('nothing has changed').waitFor()
    await page.goto('/operations/jobs')
    await main.getByText('shop_teas').first().waitFor()
    expect(await main.getByText('shop_teas').count()).toBe(1)
  })
})

browserTest(
  'a failed statement is red and found, and a model is tried before it is used',
  async () => {
    await browser.send('POST', '/api/sql/query', { query: 'SELECT * FROM nowhere' })
    await browser.visit('/operations/requests', {}, async ({ page }) => {
      const main = page.getByRole('main')
      await main.getByLabel('Status').selectOption('failed')
      await page.waitForURL('**/operations/requests?status=failed')
      const failed = main.getByRole('row', { name: 'sql_unknown_name' }).first()
      expect(await failed.locator('.badge').getAttribute('class')).toContain('bad')
      await page.goto('/create/agent')
      await page.getByLabel('Provider').selectOption('builtin')
      await page.getByRole('button', { name: 'Try the model' }).click()
      await page.getByText(/answered in/).waitFor()
    })
  },
)

browserTest('a knowledge base with the longest name is asked about', async () => {
  const name = 'n'.repeat(128)
  const all = '/projects/mindsdb/knowledge_bases'
  await browser.send('POST', `/api${all}`, { knowledge_base: { name } })
  await browser.visit(`${all}/${name}`, {}, async ({ page }) => {
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await settled(page)
    await drop(page, [{ name: 'mint.md', bytes: bytesOf('# Mint\n\nMint is cool.') }])
    await page.getByRole('button', { name: 'Ask about it' }).click()
    await page.waitForURL(`**/agents/${name.slice(0, 122)}_agent`)
  })
})
