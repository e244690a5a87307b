/** Takes the pictures for README.md and docs/page.md: the page with the sample and a table. */
import { Database } from 'bun:sqlite'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { addressOf } from '../src/ui/shell/addresses.ts'
import { untilLoaded } from './chromium.ts'
import { eiderClient } from './eider-client.ts'
import { startServer, whileRunning } from './server-process.ts'

const FOLDER = join(import.meta.dir, '../docs/pictures')
const SIZE = { width: 1280, height: 800 }
/** At this quality, flat colours and text stay sharp at a third of the size of a PNG. */
const WEBP_QUALITY = 82
const SAMPLE = ['mindsdb', 'encyclopedia'] as const
const SEARCHED = 'Why does the rainforest matter for the climate?'
const QUESTION = 'How old was John Elway when he played in Super Bowl XXXIII?'

/** The name of each picture and the view that it shows. */
const PICTURES: readonly (readonly [name: string, show: (page: Page) => Promise<void>])[] = [
  ['home', (page) => open(page, '/')],
  [
    'drop',
    async (page) => {
      await open(page, '/')
      await page.getByRole('button', { name: 'Choose files' }).waitFor()
      const content = 'month,shop,revenue\n2026-01-01,Oslo,120\n'
      await page
        .getByLabel('Files to add')
        .setInputFiles({ name: 'sales.csv', mimeType: 'text/csv', buffer: Buffer.from(content) })
      await page.getByRole('dialog').waitFor()
    },
  ],
  ['ask', askGuide],
  ['documents', (page) => open(page, addressOf.knowledgeBase(...SAMPLE))],
  ['search', (page) => open(page, found())],
  [
    'compare',
    async (page) => {
      await open(page, found())
      await page.getByText('Compare', { exact: true }).click()
    },
  ],
  [
    'map',
    async (page) => {
      await open(page, addressOf.map(...SAMPLE))
      await page.getByRole('heading', { name: 'Regions' }).waitFor()
    },
  ],
  [
    'sql',
    async (page) => {
      const sql =
        'SELECT month, shop, sum(revenue) AS revenue FROM files.sales GROUP BY ALL ORDER BY month'
      await open(page, addressOf.chart(sql))
      await page.locator('.uplot canvas').first().waitFor()
    },
  ],
  [
    'connections',
    async (page) => {
      await open(page, addressOf.connections())
      await page.getByText('Tables', { exact: true }).click()
      await page.getByRole('link', { name: 'orders' }).waitFor()
    },
  ],
  ['operations', (page) => open(page, '/operations')],
]

export async function docPictures(browser: Browser): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), 'eider-pictures-'))
  const sources = join(place, 'sources')
  await mkdir(sources)
  await mkdir(FOLDER, { recursive: true })
  const environment = { EIDER_SOURCES_DIR: sources }
  try {
    const server = await startServer({ dataDirectory: join(place, 'data'), environment })
    await whileRunning(server, async () => {
      const { baseUrl: baseURL } = server
      const context = await browser.newContext({ baseURL, viewport: SIZE, reducedMotion: 'reduce' })
      const page = await context.newPage()
      await fill(page, sources, baseURL)
      for (const [name, show] of PICTURES) {
        await show(page)
        await page.waitForTimeout(SETTLE_MS)
        await Bun.write(join(FOLDER, `${name}.webp`), await webp(page))
      }
      await context.close()
    })
    console.log(`${PICTURES.length} pictures  ${FOLDER}`)
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

/** Adds the sample, a table of sales, and a database of another program. */
async function fill(page: Page, sources: string, baseUrl: string): Promise<void> {
  const shop = new Database(join(sources, 'shop.sqlite'))
  for (const table of ['orders', 'customers', 'products']) {
    shop.run(`CREATE TABLE ${table} (id INTEGER PRIMARY KEY, name TEXT)`)
  }
  shop.close()
  const client = eiderClient(baseUrl)
  const database = { name: 'shop', engine: 'sqlite', parameters: { db_file: 'shop.sqlite' } }
  await client.request('POST', '/databases', { database })
  await client.sql(SALES)
  await open(page, '/')
  await page.getByRole('button', { name: 'Load the sample' }).click()
  await page.getByRole('link', { name: 'See its map' }).waitFor({ timeout: 300_000 })
}

const SALES = `CREATE TABLE files.sales AS
SELECT (DATE '2025-01-01' + INTERVAL (m) MONTH)::DATE AS month, shop,
  round(40 + 6 * m + 25 * sin(m / 2.0 + length(shop)) + 4 * length(shop)) AS revenue
FROM range(18) t(m), (VALUES ('Oslo'), ('Bergen'), ('Trondheim')) s(shop)`

function found(): string {
  return `${addressOf.searchLab(...SAMPLE)}?${new URLSearchParams({ q: SEARCHED })}`
}

async function askGuide(page: Page): Promise<void> {
  await open(page, addressOf.agent('mindsdb', 'guide'))
  await page.getByPlaceholder('Ask something').fill(QUESTION)
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Sources' }).waitFor()
  await page.evaluate(() => scrollTo({ top: 0 }))
}

const SETTLE_MS = 1500

async function open(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await untilLoaded(page)
}

async function webp(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: WEBP_QUALITY,
  })
  await session.detach()
  return Buffer.from(data, 'base64')
}
