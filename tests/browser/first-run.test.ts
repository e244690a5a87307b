/** Two paths of a new user: the sample on an empty server, and files that are dropped and then found. */
import { expect } from 'bun:test'
import { strToU8, zipSync } from 'fflate'
import {
  answered,
  browserOver,
  browserTest,
  expectNoViolations,
  settled,
} from './browser-fixture.ts'
import { drop, type SmallFile } from './dropped-files.ts'

const browser = browserOver()

/** The compressed size of everything that the page loads before the first click. */
const FIRST_LOAD_BYTES_MAX = 50_000

browserTest('the first load is small', async () => {
  await browser.visit('/', {}, async ({ page }) => {
    await page.getByRole('button', { name: 'Choose files' }).waitFor()
    await page.waitForLoadState('networkidle')
    const loaded = await page.evaluate(() => {
      const entries = performance.getEntries().filter((entry) => 'encodedBodySize' in entry)
      return entries.map((entry) => ({
        path: new URL(entry.name).pathname,
        bytes: Number('encodedBodySize' in entry && entry.encodedBodySize),
      }))
    })
    const files = loaded.filter(({ path }) => !path.startsWith('/api/'))
    expect(files.length).toBeGreaterThan(2)
    const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
    expect(total).toBeLessThanOrEqual(FIRST_LOAD_BYTES_MAX)
    expect(total).toBeGreaterThan(20_000)
  })
})

browserTest('an empty server loads the sample, which can be searched and measured', async () => {
  // Some parts exist already when the sample is loaded again.
  const expectedErrors = /409/
  await browser.visit('/', { expectedErrors }, async ({ page }) => {
    await page.getByRole('heading', { name: 'Drop your files here' }).waitFor()
    await page.getByRole('button', { name: 'Choose files' }).waitFor()
    await page.getByRole('button', { name: 'Load the sample' }).click()
    const search = page.getByRole('link', { name: 'Search it' })
    await search.waitFor()
    await page.getByRole('link', { name: 'sample_questions', exact: true }).waitFor()
    await expectNoViolations(page)
    await page.getByText('240 documents').first().waitFor()
    // Loading it again over the existing data gives the same, without duplicates.
    await page.reload()
    await page.getByRole('button', { name: 'Load the sample' }).click()
    await search.waitFor()
    await page.getByText('240 documents').first().waitFor()
    // A user's own files are not added to the sample.
    await drop(page, tenFiles().slice(0, 1))
    await page.getByLabel('Name of the new knowledge base').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('link', { name: 'Ask the agent' }).click()
    await page.waitForURL('**/agents/guide')
  })
  const measured = await browser.send('POST', '/api/sql/query', {
    query: `EVALUATE KNOWLEDGE_BASE encyclopedia USING test_table = files.sample_questions, k = 5`,
  })
  expect(columnOf(measured, 'skipped_questions')).toBe(0)
  expect(columnOf(measured, 'unknown_documents')).toBe(0)
  expect(columnOf(measured, 'recall_at_k')).toBeGreaterThan(0.9)
})

browserTest('home says why its projects cannot be read, and tries again', async () => {
  await browser.visit('/', { expectedErrors: /500/ }, async ({ page }) => {
    await page.getByText('240 documents').first().waitFor()
    const json = { type: 'about:blank', title: 'Internal error', status: 500, code: 'internal' }
    await page.route('**/api/catalog', (route) => {
      const contentType = 'application/problem+json'
      const body = JSON.stringify({ ...json, detail: 'It broke', timestamp: '' })
      return route.fulfill({ status: 500, contentType, body })
    })
    await page.reload()
    const main = page.getByRole('main')
    await main.getByText('It broke').waitFor()
    await page.unrouteAll()
    await main.getByRole('button', { name: 'Try again' }).click()
    await main.getByText('240 documents').first().waitFor()
  })
})

browserTest('ten files are dropped, one cannot be read, the others are found', async () => {
  await browser.visit('/', { expectedErrors: /400/ }, async ({ page }) => {
    await page.getByRole('button', { name: 'New project' }).waitFor()
    await settled(page)
    await drop(page, tenFiles())
    const dialog = page.getByRole('dialog', { name: 'Add 10 files' })
    await dialog.getByLabel('Name of the new').fill('notes & <b>more')
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('8 of 8 rows').first().waitFor()
    const failed = page.getByRole('list', { name: 'Uploads' })
    await failed.getByText('content is binary').waitFor()
    await failed.getByText('The file is empty').waitFor()
    await expectNoViolations(page)
    // An existing name is reported, and replaced only on request.
    await drop(page, [{ name: 'note 0.md', bytes: [...strToU8('# Note 0, again')] }])
    await failed.getByText('The server already has a file with this name').waitFor()
    await page.getByRole('button', { name: 'Replace it: note 0.md' }).click()
    await page.getByText('Insert 1 file into').first().waitFor()
    await page.getByText('1 of 1 row').first().waitFor()
    // The files in a ZIP file are stored, and unreadable ones are reported.
    await drop(page, [zipOf({ 'mint.md': 'Mint is cool.', 'rose.md': 'Rose hips.', 'no.txt': '' })])
    await failed.getByText('tins.zip › no.txt').waitFor()
    await page.getByText('Insert 2 files into').first().waitFor()
    await page.getByText('2 of 2 rows').first().waitFor()
    // An existing name in the ZIP file can be kept, without the other files.
    await drop(page, [zipOf({ 'mint.md': 'Mint is green.', 'lime.md': 'Lime blossom.' })])
    const taken = page.getByRole('button', { name: 'Use that file: tins.zip › mint.md' })
    await answered(page, 'PUT', () => taken.click())
    await taken.waitFor({ state: 'detached' })
    // The jobs belong to the server, so a reloaded page shows them.
    await page.reload()
    await page.getByText('8 of 8 rows').first().waitFor()
    await page.getByRole('link', { name: 'Paste text' }).click()
    await page.getByLabel('Id').fill('pasted')
    await page.getByLabel('Text', { exact: true }).fill('Chamomile is for the evening.')
    await page.getByRole('button', { name: 'Add the text' }).click()
    await page.getByText('Insert 1 row into').first().waitFor()
  })
  const place = encodeURIComponent('notes & <b>more')
  const found = await browser.send(
    'POST',
    `/api/projects/mindsdb/knowledge_bases/${place}/search`,
    {
      query: 'a herbal infusion number 7',
      k: 1,
    },
  )
  expect(found).toMatchObject({ results: [{ id: 'note 7.md' }] })
})

function tenFiles(): readonly SmallFile[] {
  const notes = Array.from({ length: 8 }, (_, index) => {
    const text = `# Note ${index}\n\nA herbal infusion with the number ${index}.`
    return { name: `note ${index}.md`, bytes: [...new TextEncoder().encode(text)] }
  })
  const binary = { name: 'unknown.xyz', bytes: [0, 1, 2, 255, 254, 0, 7, 8] }
  return [...notes, binary, { name: 'empty.txt', bytes: [] }]
}

function zipOf(texts: Readonly<Record<string, string>>): SmallFile {
  const parts = Object.entries(texts).map(([name, text]) => [name, strToU8(text)] as const)
  return { name: 'tins.zip', bytes: [...zipSync(Object.fromEntries(parts))] }
}

function columnOf(answer: unknown, name: string): unknown {
  // The route's schema defines this form.
  const { column_names: names, data } = answer as { column_names: string[]; data: unknown[][] }
  return data[0]?.[names.indexOf(name)]
}
