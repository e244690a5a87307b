import { expect } from 'bun:test'
import { browserOver, browserTest, expectNoSidewaysScroll } from './browser-fixture.ts'

const browser = browserOver()

const SLOW = 'SELECT count(*) FROM range(100000000000) a WHERE a.range % 7 = 3'

browserTest(
  'a statement is cancelled, its client gets an error, and the server goes on',
  async () => {
    await browser.visit('/operations/running', {}, async ({ page }) => {
      await page.getByText('Nothing is running').waitFor()
      const answer = browser.send('POST', '/api/sql/query', { query: SLOW }).catch(String)
      await page.getByRole('button', { name: 'Cancel SELECT count(*)' }).click()
      expect(await answer).toContain('cancelled the request')
      await page.getByText('Nothing is running').waitFor()
      const sum = await browser.send('POST', '/api/sql/query', { query: 'SELECT 40 + 2 AS sum' })
      expect(sum).toMatchObject({ data: [[42]] })
      await page.getByRole('link', { name: 'Requests' }).click()
      const cancelled = page.getByRole('row', { name: 'POST /api/sql/query' }).first()
      await cancelled.waitFor()
      // The list leaves out the page's own requests unless the user wants to see them.
      const ofPage = page.getByRole('row', { name: 'GET /api/requests' }).first()
      expect(await ofPage.count()).toBe(0)
      await page.getByLabel("Include this page's requests").check()
      await ofPage.waitFor()
      await page.waitForURL('**/operations/requests?from=yes')
    })
  },
)

browserTest('a backup is made at once, and what takes memory and disk is listed', async () => {
  await browser.send('POST', '/api/sql/query', { query: 'CREATE KNOWLEDGE_BASE teas' })
  const insert = "INSERT INTO teas SELECT 'a' AS id, 'Assam is malty' AS content"
  await browser.send('POST', '/api/sql/query', { query: insert })
  const expectedErrors = /status of 503/
  await browser.visit('/operations/backups', { expectedErrors }, async ({ page }) => {
    await page.getByText('No backups yet').waitFor()
    await page.getByRole('button', { name: 'Back up now' }).click()
    const backups = page.getByRole('region', { name: 'Backups' })
    await backups.getByRole('row').nth(1).waitFor()
    // A failure appears beside the known values, which matter most at that moment.
    const sick = {
      code: 'unhealthy',
      status: 503,
      title: 'Not healthy',
      detail: 'the disk is full',
    }
    await page.route('**/healthz', (route) => {
      return route.fulfill({ status: 503, contentType: 'application/problem+json', json: sick })
    })
    await page.getByRole('link', { name: 'Overview' }).click()
    const server = page.getByRole('region', { name: 'Server', exact: true })
    await server.getByText('Not healthy').waitFor()
    await server.getByText('the disk is full').waitFor()
    await page.getByRole('heading', { name: 'Memory', exact: true }).waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    // The crash happened before the supervisor was started, which counts from then on.
    await page.route('**/api/status', async (route) => {
      const response = await route.fetch()
      const last = { at: '2026-01-02 03:04:05.000000', reason: 'SIGKILL', running: [] }
      const json = { ...(await response.json()), restarts: { count: 0, last } }
      await route.fulfill({ response, json })
    })
    await page.getByText('None since the last start; the last one').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    const used = page.getByRole('region', { name: 'Memory and disk by knowledge base' })
    const row = used.getByRole('row', { name: /^teas/ })
    await row.getByText('on disk and in memory').waitFor()
    await row.getByRole('link', { name: 'teas' }).click()
    await page.waitForURL('**/projects/mindsdb/knowledge_bases/teas')
  })
})

browserTest(
  'jobs that are over are one line each at home, and a failure moves no button',
  async () => {
    await browser.send('POST', '/api/sql/query', { query: 'CREATE KNOWLEDGE_BASE jobs' })
    const insert = async (id: string) => {
      const query = `SELECT ${id} AS id, 'Sencha is green' AS content`
      const json = { knowledge_base: { query, background: true } }
      await browser.send('PUT', '/api/projects/mindsdb/knowledge_bases/jobs', json)
    }
    await insert("'a'")
    await insert("error('out of tea')")
    await browser.visit('/', { expectedErrors: /status of 503/ }, async ({ page }) => {
      const failed = page.getByRole('region', { name: 'Failed' })
      await failed.getByText('out of tea').waitFor()
      await page.getByRole('region', { name: 'New' }).getByText('1 document').waitFor()
      expect(await page.getByRole('button', { name: 'Start over' }).count()).toBe(0)
      await page.setViewportSize({ width: 390, height: 844 })
      await expectNoSidewaysScroll(page)
      await failed.getByRole('link', { name: 'All jobs' }).click()
      const again = page.getByRole('button', { name: 'Start over' })
      await again.waitFor()
      const before = await again.boundingBox()
      await page.route('**/api/jobs/*/resume', (route) => route.fulfill({ status: 503 }))
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByRole('main').getByRole('alert').waitFor()
      expect(await again.boundingBox()).toEqual(before)
    })
  },
)

browserTest('a list that is made longer stays where it was scrolled', async () => {
  for (let index = 0; index < 60; index += 1) {
    await browser.send('POST', '/api/projects', { project: { name: `made_${index}` } })
  }
  await browser.visit('/operations/access', {}, async ({ page }) => {
    const more = page.getByRole('button', { name: 'Show more' })
    await more.scrollIntoViewIfNeeded()
    const scrolled = await page.evaluate(() => scrollY)
    expect(scrolled).toBeGreaterThan(0)
    await more.click()
    await page.getByRole('cell', { name: 'made_0', exact: true }).waitFor()
    expect(await page.evaluate(() => scrollY)).toBe(scrolled)
  })
})
