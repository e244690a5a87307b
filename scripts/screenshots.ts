/**
 * `npm run screenshots [-- <folder>]` takes a picture of every view, empty and full, wide and narrow, light and dark, in
 * `screenshots/`, with a server of its own, and the pictures of the documentation in `docs/pictures/`. With `--docs` it takes
 * only those.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { startChromium, untilLoaded } from './chromium.ts'
import { docPictures } from './doc-pictures.ts'
import { emptyViews, fullViews, hostileViews, type ShownView } from './page-views.ts'
import { startServer, whileRunning } from './server-process.ts'

const SIZES = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } }
const SCHEMES = ['light', 'dark'] as const

const DOCS = '--docs'
const [target = 'screenshots'] = process.argv.slice(2)
const folder = resolve(target)
const browser = await startChromium()
try {
  await docPictures(browser)
  if (target !== DOCS) {
    await rm(folder, { recursive: true, force: true })
    await pictures('empty', emptyViews)
    await pictures('full', fullViews)
    await pictures('hostile', hostileViews)
  }
} finally {
  await browser.close()
}

async function pictures(
  what: string,
  fill: (baseUrl: string) => Promise<readonly ShownView[]>,
): Promise<void> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'eider-screenshots-'))
  try {
    const server = await startServer({ dataDirectory })
    await whileRunning(server, async () => {
      const views = await fill(server.baseUrl)
      for (const size of ['wide', 'narrow'] as const) {
        for (const scheme of SCHEMES) {
          const into = join(folder, `${what}-${size}-${scheme}`)
          await mkdir(into, { recursive: true })
          await taken(browser, { views, into, size, scheme, baseURL: server.baseUrl })
          console.log(`${views.length} views  ${into}`)
        }
      }
    })
  } finally {
    await rm(dataDirectory, { recursive: true, force: true })
  }
}

interface Series {
  readonly views: readonly ShownView[]
  readonly into: string
  readonly size: keyof typeof SIZES
  readonly scheme: (typeof SCHEMES)[number]
  readonly baseURL: string
}

async function taken(browser: Browser, { views, into, size, scheme, baseURL }: Series) {
  const context = await browser.newContext({
    baseURL,
    viewport: SIZES[size],
    colorScheme: scheme,
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  for (const [index, { name, address }] of views.entries()) {
    await page.goto(address)
    await untilLoaded(page)
    const file = `${String(index + 1).padStart(2, '0')}-${name}.png`
    await page.screenshot({ path: join(into, file), fullPage: true })
  }
  await context.close()
}
