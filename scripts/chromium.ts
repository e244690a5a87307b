/**
 * Starts an installed Chromium, for tests, screenshots and benchmarks of the page. It is never
 * downloaded.
 */
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'

const PATHS = [
  process.env.CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

export const chromiumPath = PATHS.find((path) => path !== '' && existsSync(path))

/**
 * @param slowMo the milliseconds between two steps
 * @throws Error if none is installed
 */
export async function startChromium({ slowMo = 0 } = {}): Promise<Browser> {
  if (chromiumPath === undefined) {
    throw new Error('There is no Chromium here: install one, or name it in CHROMIUM')
  }
  // Chromium refuses to run as root with its sandbox, and in CI there may be no other user.
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'], slowMo })
}

/** Resolves when the view has its heading and all of it has been loaded. */
export async function untilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.waitForFunction(() => {
    return document.querySelector('main .loading, main [aria-busy="true"]') === null
  })
}
