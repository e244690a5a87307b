import { expect } from 'bun:test'
import { browserOver, browserTest, expectNoSidewaysScroll } from './browser-fixture.ts'

const browser = browserOver()
const KB = '/projects/mindsdb/knowledge_bases/teas'

async function fill(): Promise<void> {
  const all = '/api/projects/mindsdb/knowledge_bases'
  const metadata_columns = ['origin', 'price', 'picked']
  await browser.send('POST', all, { knowledge_base: { name: 'teas', metadata_columns } })
  const rows = [
    {
      id: 'assam',
      content: 'Assam is a strong black tea',
      origin: 'India',
      price: 6,
      picked: '2024-03-01',
    },
    {
      id: 'darjeeling',
      content: 'Darjeeling is a light black tea',
      origin: 'India',
      price: 11,
      picked: '2024-05-06T10:00:00',
    },
    {
      id: '<b>שלום</b>',
      content: '<script>alert(1)</script> 🍵 שלום',
      origin: 'Israel',
      price: 4,
      picked: '2024-06-01',
    },
  ]
  await browser.send('PUT', `${all}/teas`, { knowledge_base: { rows } })
}

browserTest('documents are filtered, opened with their chunks marked, and deleted', async () => {
  await fill()
  await browser.visit(KB, {}, async ({ page }) => {
    const main = page.getByRole('main')
    await main.getByText('3 documents').waitFor()
    await main.locator('summary', { hasText: 'origin' }).click()
    await main.getByRole('checkbox', { name: /India/ }).check()
    await main.getByText('1–2 of 2').waitFor()
    await page.reload()
    await main.getByText('1–2 of 2').waitFor()
    await main.getByRole('link', { name: 'assam' }).waitFor()
    await page.goto(KB)
    // Text that contains only dates can be filtered by a range, which includes the whole last day.
    await main.locator('summary', { hasText: 'picked' }).click()
    const to = main.getByLabel('picked to')
    await to.fill('2024-05-06')
    await to.press('Enter')
    await main.getByText('1–2 of 2').waitFor()
    await page.waitForURL(/filters=.*2024-05-07/)
    await main.getByRole('button', { name: 'Clear filters' }).click()
    await main.getByText('1–3 of 3').waitFor()
    // Each row shows the beginning of its text and its size.
    const assam = main.getByRole('row').filter({ hasText: 'Assam is a strong black tea' })
    await assam.getByText('27 characters, 1 chunk').waitFor()
    await main.getByRole('link', { name: '<b>שלום</b>' }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await main.getByText('<script>alert(1)</script>').first().waitFor()
    await expectNoSidewaysScroll(page)
    await main.getByRole('link', { name: 'More like this' }).click()
    await page.waitForURL(/\/search\?q=%3Cscript%3E/)
    await page.goBack()
    await main.getByText('<script>alert(1)</script>').first().waitFor()
    // Edits a field of each type, and a field that another window changes in the meantime.
    await main.getByRole('button', { name: 'Edit' }).click()
    const form = page.getByRole('dialog')
    await form.getByRole('spinbutton', { name: 'price' }).fill('9')
    const id = encodeURIComponent('<b>שלום</b>')
    const address = `/api/projects/mindsdb/knowledge_bases/teas/documents/${id}`
    await browser.send('PATCH', address, { metadata: { origin: 'Haifa' } })
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('Another user changed "origin"').waitFor()
    await form.getByRole('button', { name: 'Replace what is stored' }).click()
    await main.getByText('Haifa').waitFor()
    expect(await browser.send('GET', address)).toMatchObject({
      metadata: { price: 9, origin: 'Haifa' },
    })
    // A new text stores the document again, but still replaces only what was edited.
    await main.getByRole('button', { name: 'Edit' }).click()
    await form.getByRole('textbox', { name: /^Text of/ }).fill('A new tea')
    await browser.send('PATCH', address, { metadata: { origin: 'Akko' } })
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('Another user changed "origin"').waitFor()
    await form.getByRole('button', { name: 'Replace what is stored' }).click()
    await main.getByText('Akko').waitFor()
    await main.getByText('A new tea').first().waitFor()
    expect(await browser.send('GET', address)).toMatchObject({
      content: { content: 'A new tea' },
      metadata: { price: 9, origin: 'Akko' },
    })
    await main.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await main.getByText('2 documents').waitFor()
    await main.getByText('1–2 of 2').waitFor()
  })
})

browserTest(
  'a long list is gone through page by page, and all that filters find is deleted',
  async () => {
    const all = '/api/projects/mindsdb/knowledge_bases'
    const metadata_columns = ['kind']
    await browser.send('POST', all, { knowledge_base: { name: 'pots', metadata_columns } })
    const rows = Array.from({ length: 160 }, (_, at) => {
      return { id: `pot ${at + 1}`, content: `A pot of tea`, kind: at < 60 ? 'clay' : 'iron' }
    })
    await browser.send('PUT', `${all}/pots`, { knowledge_base: { rows } })
    await browser.visit('/projects/mindsdb/knowledge_bases/pots', {}, async ({ page }) => {
      const main = page.getByRole('main')
      await main.getByText('1–50 of 160').waitFor()
      await main.getByRole('link', { name: 'Next page' }).click()
      await main.getByText('51–100 of 160').waitFor()
      await main.getByText('Page 2 of 4').waitFor()
      await main.getByRole('link', { name: 'Next page' }).click()
      await main.getByText('101–150 of 160').waitFor()
      await page.goBack()
      await main.getByText('51–100 of 160').waitFor()

      await main.locator('summary', { hasText: 'kind' }).click()
      await main.getByRole('checkbox', { name: 'clay' }).check()
      await main.getByText('1–50 of 60').waitFor()
      await main.getByRole('checkbox', { name: 'Select all of this page' }).check()
      await main.getByText('50 documents selected').waitFor()
      await main.getByRole('button', { name: 'Select all 60' }).click()
      await main.getByText('60 documents selected').waitFor()
      // After one document is deselected, only the ticked ones are deleted.
      const first = main.getByRole('checkbox', { name: /^Select pot/ }).first()
      await first.uncheck()
      await main.getByText('49 documents selected').waitFor()
      await main.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await main.getByText('1–11 of 11').waitFor()
      await first.check()
      await main.getByRole('button', { name: 'Select all 11' }).click()
      await main.getByText('11 documents selected').waitFor()
      await main.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await main.getByText('Nothing matches').waitFor()
      await main.getByText('100 documents').waitFor()
      await main.getByRole('button', { name: 'Show everything' }).click()
      await main.getByText('1–50 of 100').waitFor()
      // The whole last page is deleted, and the first page is shown instead of an empty list.
      await main.getByRole('link', { name: 'Next page' }).click()
      await main.getByText('51–100 of 100').waitFor()
      await main.getByRole('checkbox', { name: 'Select all of this page' }).check()
      await main.getByText('50 documents selected').waitFor()
      await main.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await main.getByText('1–50 of 50').waitFor()
    })
  },
)

browserTest('a filter with many values keeps the field in which one is sought', async () => {
  const all = '/api/projects/mindsdb/knowledge_bases'
  const metadata_columns = ['kind']
  await browser.send('POST', all, { knowledge_base: { name: 'cups', metadata_columns } })
  const rows = Array.from({ length: 30 }, (_, at) => {
    return { id: `cup ${at}`, content: 'A cup of tea', kind: `kind ${at}` }
  })
  await browser.send('PUT', `${all}/cups`, { knowledge_base: { rows } })
  await browser.visit('/projects/mindsdb/knowledge_bases/cups', {}, async ({ page }) => {
    const main = page.getByRole('main')
    await main.locator('summary', { hasText: 'kind' }).click()
    const field = main.getByRole('searchbox', { name: 'Find a value of kind' })
    await field.fill('kind 29')
    await field.press('Enter')
    await main.getByRole('checkbox', { name: 'kind 1', exact: true }).waitFor({ state: 'detached' })
    await main.getByRole('checkbox', { name: 'kind 29' }).waitFor()
    await field.and(page.locator(':focus')).waitFor()
    // A long value has the whole width.
    const summary = 'A cup for tea, not for coffee. '.repeat(8).trim()
    await browser.send('PATCH', `${all}/cups/documents/cup%201`, { metadata: { kind: summary } })
    await page.goto('/projects/mindsdb/knowledge_bases/cups/documents/cup%201')
    const shown = await main.getByText(summary).boundingBox()
    expect(shown?.width).toBeGreaterThan(400)
  })
})
