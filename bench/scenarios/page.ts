import type { Browser } from 'playwright-core'
import { startChromium } from '../../scripts/chromium.ts'
import { whileRunning } from '../../scripts/server-process.ts'
import { newContext, opened } from '../browser.ts'
import { type Measure, type Scenario, startMeasured, withFolder } from '../scenario.ts'

const OPENINGS = { quick: 3, normal: 9, full: 21 }

/** What a user of the page waits for. The targets are next to the measurements. */
export const page: Scenario = {
  name: 'page',
  title: 'The page in Chromium, beside its server: what a person waits for',
  onlyWhenNamed: true,
  run: async (size) => {
    const browser = await startChromium()
    try {
      return [...(await openings(browser, OPENINGS[size]))]
    } finally {
      await browser.close()
    }
  },
}

/** Cold: a server that has not built the page yet, and an empty cache. Warm: the next page in that browser. */
async function openings(browser: Browser, count: number): Promise<readonly Measure[]> {
  const cold: number[] = []
  const warm: number[] = []
  let bytes = 0
  for (let turn = 0; turn < count; turn += 1) {
    await withFolder(async (dataDirectory) => {
      const server = await startMeasured({ dataDirectory })
      await whileRunning(server, async () => {
        const context = await newContext(browser)
        const first = await opened(context, server.baseUrl)
        bytes = first.bytes
        cold.push(first.interactiveMs)
        warm.push((await opened(context, server.baseUrl)).interactiveMs)
        await context.close()
      })
    })
  }
  return [
    { what: 'first load, compressed (at most 250)', value: bytes / 1000, unit: 'KB' },
    { what: 'open to interactive, cold, median (at most 700)', value: median(cold), unit: 'ms' },
    { what: 'open to interactive, warm, median (at most 300)', value: median(warm), unit: 'ms' },
  ]
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
