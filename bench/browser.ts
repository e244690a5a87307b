/** Measures, by the page's own clock, what users in front of a browser wait for. */
import type { Browser, BrowserContext, Page } from 'playwright-core'

const VIEWPORT = { width: 1440, height: 900 }

export interface OpenedPage {
  readonly page: Page
  /** The time from the start of the navigation until the view is complete and responds to keys. */
  readonly interactiveMs: number
  /** Bytes over the network: compressed, including headers. */
  readonly bytes: number
  readonly requests: number
}

/** Opens an address. The context caches what its earlier pages loaded. */
export async function opened(context: BrowserContext, url: string): Promise<OpenedPage> {
  const page = await context.newPage()
  await page.goto(url, { waitUntil: 'commit' })
  const interactive = await page.waitForFunction(
    () => {
      const isThere =
        document.querySelector('main h1') !== null &&
        document.querySelector('main .loading') === null &&
        document.querySelector('nav section') !== null
      return isThere ? performance.now() : false
    },
    undefined,
    { polling: 'raf' },
  )
  const interactiveMs = Number(await interactive.jsonValue())
  const sizes = await page.evaluate(() => {
    const entries = performance.getEntries().filter((entry) => 'transferSize' in entry)
    const files = entries.filter(({ name }) => !name.includes('/api/'))
    return files.map((entry) => Number(Reflect.get(entry, 'transferSize')))
  })
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  return { page, interactiveMs, bytes, requests: sizes.length }
}

export function newContext(browser: Browser): Promise<BrowserContext> {
  return browser.newContext({ viewport: VIEWPORT, colorScheme: 'light' })
}

/** Returns the milliseconds from `act` until `isDone` holds in the page, checked at each frame. */
export async function waited(
  page: Page,
  act: () => Promise<void>,
  isDone: string,
): Promise<number> {
  await page.evaluate(`globalThis.waitedMs = new Promise((resolve) => {
    addEventListener('keydown', begin, { capture: true, once: true })
    addEventListener('pointerdown', begin, { capture: true, once: true })
    let at = 0
    function begin() { if (at === 0) { at = performance.now(); requestAnimationFrame(look) } }
    function look() { (${isDone}) ? resolve(performance.now() - at) : requestAnimationFrame(look) }
  }); undefined`)
  await act()
  return Number(await page.evaluate('globalThis.waitedMs'))
}

export interface Frames {
  readonly perSecond: number
  readonly longestMs: number
}

/** Counts the frames that the page draws during an action. */
export async function framesDuring(page: Page, act: () => Promise<void>): Promise<Frames> {
  await page.evaluate(`globalThis.frameTimes = []; globalThis.isCounting = true;
    requestAnimationFrame(function frame(at) {
      globalThis.frameTimes.push(at)
      if (globalThis.isCounting) requestAnimationFrame(frame)
    }); undefined`)
  await act()
  const answer = await page.evaluate('globalThis.isCounting = false; globalThis.frameTimes')
  const times = Array.isArray(answer) ? answer.map(Number) : []
  const lengths = times.slice(1).map((at, index) => at - (times[index] ?? at))
  const totalMs = lengths.reduce((sum, length) => sum + length, 0)
  return { perSecond: (lengths.length * 1000) / totalMs, longestMs: Math.max(...lengths) }
}
