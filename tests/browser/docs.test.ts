/** The documentation as readers use it: searching, trying the API, and looking up an error code. */
import { browserOver, browserTest, expectNoSidewaysScroll } from './browser-fixture.ts'

const browser = browserOver()

browserTest('the API is found by words, read on a phone and tried', async () => {
  const look = { viewport: 'phone', scheme: 'dark' } as const
  await browser.visit('/docs', look, async ({ page }) => {
    await page.getByRole('searchbox').fill('rate_limited')
    await page.getByRole('link', { name: 'Error codes: rate_limited' }).click()
    await page.locator('tr:target').getByText('rate_limited').waitFor()
    await page.goto('/docs/api#/Projects/listProjects')
    await page.getByRole('button', { name: 'Try it out' }).click()
    await page.getByRole('button', { name: 'Execute' }).click()
    await page.locator('.live-responses-table').getByText('"mindsdb"').waitFor()
    await expectNoSidewaysScroll(page)
    // The codes are above the reader if they do not fit beside it.
    await page.getByText('Error codes', { exact: true }).last().click()
    await page.getByRole('link', { name: 'project_not_found' }).click()
    await page.locator('tr:target').getByText('project_not_found').waitFor()
    // Goes back to the page, whose colours the documentation follows.
    await page.evaluate(() => localStorage.setItem('eider.theme', 'light'))
    await page.reload()
    await page.locator('html[data-theme="light"]:not(.dark-mode)').waitFor()
    await page.getByRole('link', { name: 'Eider', exact: true }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
  })
})
