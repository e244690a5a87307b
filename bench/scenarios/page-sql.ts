import type { Browser, Page } from 'playwright-core'
import { startChromium } from '../../scripts/chromium.ts'
import { whileRunning } from '../../scripts/server-process.ts'
import { framesDuring, newContext, waited } from '../browser.ts'
import { type Measure, type Scenario, startMeasured, withFolder } from '../scenario.ts'

const RUNS = { quick: 3, normal: 9, full: 21 }

const STATEMENT = `SELECT i, i * 2 AS twice, 'row ' || i AS name, i / 7 AS seventh,
  TIMESTAMP '2020-01-01' + INTERVAL (i) MINUTE AS at FROM range(100000) AS t(i)`
const WHEEL_STEPS = 60
const WHEEL_PX = 700

/** A statement with 100 000 rows and five columns. The targets are next to the measurements. */
export const pageSql: Scenario = {
  name: 'page-sql',
  title: 'The SQL view in Chromium, beside its server: 100 000 rows of a statement',
  onlyWhenNamed: true,
  run: async (size) => {
    const browser = await startChromium()
    try {
      return await withFolder(async (dataDirectory) => {
        const server = await startMeasured({ dataDirectory })
        return whileRunning(server, () => measured(browser, server.baseUrl, RUNS[size]))
      })
    } finally {
      await browser.close()
    }
  },
}

async function measured(
  browser: Browser,
  baseUrl: string,
  count: number,
): Promise<readonly Measure[]> {
  const context = await newContext(browser)
  const page = await context.newPage()
  await page.goto(`${baseUrl}/sql?${new URLSearchParams({ q: STATEMENT })}`)
  await page.locator('.cm-content', { hasText: 'range(100000)' }).click()
  const firstRows: number[] = []
  const longest: number[] = []
  for (let turn = 0; turn < count; turn += 1) {
    firstRows.push(await firstRowsShown(page))
    await page.getByText('100,000 rows in').waitFor()
    longest.push(await longestFrame(page))
    // The next run begins without rows.
    await page.reload()
    await page.locator('.cm-content', { hasText: 'range(100000)' }).click()
  }
  await context.close()
  return [
    {
      what: 'Ctrl+Enter to first rows, median (at most 300)',
      value: median(firstRows),
      unit: 'ms',
    },
    { what: 'longest frame of scrolling, median (at most 33)', value: median(longest), unit: 'ms' },
    { what: 'longest frame of scrolling, best', value: Math.min(...longest), unit: 'ms' },
  ]
}

function firstRowsShown(page: Page): Promise<number> {
  const isShown = `document.querySelector('[role="gridcell"]') !== null`
  return waited(page, () => page.keyboard.press('Control+Enter'), isShown)
}

async function longestFrame(page: Page): Promise<number> {
  const grid = await page.getByRole('grid').boundingBox()
  if (grid === null) throw new Error('there is no table to scroll')
  await page.mouse.move(grid.x + 200, grid.y + 100)
  const { longestMs } = await framesDuring(page, async () => {
    for (let step = 0; step < WHEEL_STEPS; step += 1) await page.mouse.wheel(0, WHEEL_PX)
  })
  return longestMs
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
