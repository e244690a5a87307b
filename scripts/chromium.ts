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

/**
 * The first two are pop-ups of the address bar, which each window would load: a quarter of what browser tests take. The
 * others are what Playwright turns off for pages like this one, because only one list counts.
 */
const FEATURES_OFF = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'],
  ...['AimEnabled', 'OptimizationHints', 'PreconnectToSearch', 'NetworkTimeServiceQuerying'],
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose'],
  ...['AvoidCorsURLLoaderRestartOnRedirect', 'MediaRouter', 'PaintHolding'],
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
  const args = ['--no-sandbox', `--disable-features=${FEATURES_OFF}`]
  return chromium.launch({ executablePath: chromiumPath, args, slowMo })
}

/** Resolves when the view has its heading and all of it has been loaded. */
export async function untilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.waitForFunction(() => {
    return document.querySelector('main .loading, main [aria-busy="true"]') === null
  })
}
