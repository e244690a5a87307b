/** A Chromium that is installed here, for tests, screenshots and benchmarks of the page. None is ever downloaded. */
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
 * @param slowMo milliseconds between two steps
 * @throws Error where there is none
 */
export async function startChromium({ slowMo = 0 } = {}): Promise<Browser> {
  if (chromiumPath === undefined) {
    throw new Error('There is no Chromium here: install one, or name it in CHROMIUM')
  }
  // Tests run as root where no other user exists, as in CI.
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'], slowMo })
}

/** Ends when the view has its heading, and nothing of it is still on its way. */
export async function untilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.waitForFunction(() => {
    return document.querySelector('main .loading, main [aria-busy="true"]') === null
  })
}
