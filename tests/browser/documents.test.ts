import { browserOver, browserTest, expectNoSidewaysScroll } from './browser-fixture.ts'

const browser = browserOver()
const KB = '/projects/mindsdb/knowledge_bases/teas'

async function fill(): Promise<void> {
  const all = '/api/projects/mindsdb/knowledge_bases'
  const metadata_columns = ['origin', 'price']
  await browser.send('POST', all, { knowledge_base: { name: 'teas', metadata_columns } })
  const rows = [
    { id: 'assam', content: 'Assam is a strong black tea', origin: 'India', price: 6 },
    { id: 'darjeeling', content: 'Darjeeling is a light black tea', origin: 'India', price: 11 },
    { id: '<b>שלום</b>', content: '<script>alert(1)</script> 🍵 שלום', origin: 'Israel', price: 4 },
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
    await main.getByRole('link', { name: '<b>שלום</b>' }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await main.getByText('<script>alert(1)</script>').first().waitFor()
    await expectNoSidewaysScroll(page)
    await main.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await main.getByText('2 documents').waitFor()
    await main.getByText('1–2 of 2').waitFor()
    await page.keyboard.press('s')
    await page.waitForURL('**/search')
  })
})
