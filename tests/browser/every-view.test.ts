/**
 * Every view, empty and full, wide and narrow, light and dark: no finding of axe, no error, no
 * sideways scrolling.
 */
import type { Page } from 'playwright-core'
import { untilLoaded } from '../../scripts/chromium.ts'
import { emptyViews, fullViews, hostileViews, type ShownView } from '../../scripts/page-views.ts'
import {
  browserOver,
  browserTest,
  expectNoSidewaysScroll,
  expectNoViolations,
  settled,
} from './browser-fixture.ts'

const browser = browserOver()

browserTest('a server with nothing', async () => {
  await lookAt(await emptyViews(await browser.baseUrl()))
})

browserTest('a server with documents and answers', async () => {
  await lookAt(await fullViews(await browser.baseUrl()))
})

browserTest('names and texts that are made to break the page', async () => {
  await lookAt(await hostileViews(await browser.baseUrl()))
})

/** Checks all views before it reports what is wrong. */
async function lookAt(views: readonly ShownView[]): Promise<void> {
  const found: string[] = []
  const pathOf = new Map<string, string>()
  const lane = async (mine: readonly ShownView[]) => {
    await browser.visit('/', { isStill: true }, async ({ page }) => {
      for (const view of mine) {
        await look(page, view, pathOf).catch((error: Error) => {
          found.push(`${view.name} ${decodeURI(view.address)}: ${error.message}`)
        })
      }
    })
  }
  const half = Math.ceil(views.length / 2)
  await Promise.all([lane(views.slice(0, half)), lane(views.slice(half))])
  if (found.length > 0) throw new Error(found.join('\n\n'))
}

const WIDE = { width: 1440, height: 900 }
const NARROW = { width: 390, height: 844 }

async function look(
  page: Page,
  { name, address }: ShownView,
  pathOf: Map<string, string>,
): Promise<void> {
  await page.setViewportSize(WIDE)
  await page.emulateMedia({ colorScheme: 'light' })
  // Navigates within the page like a user, without loading the page and axe for each view.
  await page.evaluate(async (to) => {
    history.pushState(null, '', to)
    dispatchEvent(new PopStateEvent('popstate'))
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame)
  }, address)
  await untilLoaded(page)
  if ((await page.locator('img[src="x"]').count()) > 0) throw new Error('a text is HTML')
  const isMissing = await page.getByRole('heading', { name: 'Page not found' }).isVisible()
  if (isMissing !== (name === 'not-found')) throw new Error('it shows another view')
  const [title, path] = [await page.title(), new URL(address, page.url()).pathname]
  const same = pathOf.get(title) ?? path
  if (same !== path) throw new Error(`The browser calls it ${title}, as it does ${same}`)
  pathOf.set(title, path)
  await expectNoSidewaysScroll(page)
  await expectWholeWords(page)
  await expectNoViolations(page)
  await page.setViewportSize(NARROW)
  await page.emulateMedia({ colorScheme: 'dark' })
  // Elements that depend on their width are updated in the next frame.
  await settled(page)
  await expectNoSidewaysScroll(page)
  await expectStackedRows(page)
  await expectNoViolations(page)
}

/** @throws Error with words that are broken in a table's column for short values */
async function expectWholeWords(page: Page): Promise<void> {
  const broken = await page.evaluate(() => {
    const cells = document.querySelectorAll('.stacked td:not(.stacked-first, .named)')
    const texts = [...cells].flatMap((cell) => {
      const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
      const found: Node[] = []
      while (walker.nextNode()) found.push(walker.currentNode)
      return found
    })
    return texts.flatMap((node) => {
      const words = [...(node.textContent ?? '').matchAll(/(?<!\p{L})\p{L}{2,20}(?!\p{L})/gu)]
      return words.flatMap(({ 0: word, index }) => {
        const range = document.createRange()
        range.setStart(node, index)
        range.setEnd(node, index + word.length)
        const lines = new Set([...range.getClientRects()].map(({ top }) => top))
        return lines.size > 1 ? [word] : []
      })
    })
  })
  if (broken.length > 0) throw new Error(`Broken within words: ${broken.slice(0, 5).join(', ')}`)
}

/** @throws Error if an entry of a table is wider than a phone */
async function expectStackedRows(page: Page): Promise<void> {
  const isWide = await page.evaluate(() => {
    const tables = [...document.querySelectorAll('.stacked')]
    return tables.some(({ parentElement: panel }) => {
      return panel !== null && panel.scrollWidth > panel.clientWidth + 1
    })
  })
  if (isWide) throw new Error('The entries of a table are wider than the window')
}
