/**
 * A real browser before a real server, which is started as a user starts it. A test is one path of a person; it fails when
 * the page wrote an error to the console on the way.
 */
import { afterAll, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { type ServerProcess, startServer } from '../../scripts/server-process.ts'

const CHROMIUM_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** How long a step may take on a busy machine. */
const STEP_MS_MAX = 15_000

const chromiumPath = CHROMIUM_PATHS.find((path) => existsSync(path))

/** A test that needs a browser: without one it is skipped, and says so. In CI, which installs one, it fails then. */
export const browserTest: typeof test =
  chromiumPath !== undefined || process.env.BROWSER === 'required' ? test : skipped()

function skipped(): typeof test {
  process.stderr.write('There is no Chromium here: the tests of the page are skipped\n')
  return test.skip as typeof test
}

export type Viewport = 'desktop' | 'phone'

const SIZES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }

export interface Visit {
  readonly page: Page
  readonly context: BrowserContext
  readonly baseUrl: string
}

export interface VisitOptions {
  readonly viewport?: Viewport
  readonly scheme?: 'light' | 'dark'
  /** Messages on the console that belong to the path, as a request that is meant to fail. */
  readonly expectedErrors?: RegExp
}

/** One server and one browser for the tests of a file. */
export function browserOver(environment: Readonly<Record<string, string>> = {}) {
  let browser: Promise<Browser> | undefined
  let server: Promise<{ process: ServerProcess; folder: string }> | undefined
  const serverOf = () => {
    server ??= mkdtemp(join(tmpdir(), 'eider-browser-')).then(async (folder) => {
      return { folder, process: await startServer({ dataDirectory: folder, environment }) }
    })
    return server
  }
  const browserOf = () => {
    browser ??= chromium.launch({
      ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
      // Tests run as root where there is nobody else, as in CI.
      args: ['--no-sandbox'],
    })
    return browser
  }
  afterAll(async () => {
    await (await browser)?.close()
    if (server === undefined) return
    const { process: started, folder } = await server
    await started.stop().catch(() => {})
    await rm(folder, { recursive: true, force: true })
  })
  return {
    baseUrl: async () => (await serverOf()).process.baseUrl,
    /** Opens an address in a fresh profile, walks the path, and closes it. @throws what the page complained about */
    async visit(
      address: string,
      options: VisitOptions,
      walk: (visit: Visit) => Promise<void>,
    ): Promise<void> {
      const { baseUrl } = (await serverOf()).process
      const context = await (await browserOf()).newContext({
        baseURL: baseUrl,
        viewport: SIZES[options.viewport ?? 'desktop'],
        colorScheme: options.scheme ?? 'light',
        acceptDownloads: true,
      })
      context.setDefaultTimeout(STEP_MS_MAX)
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text())
      })
      try {
        await page.goto(address)
        await walk({ page, context, baseUrl })
      } finally {
        await context.close()
      }
      const unexpected = complaints.filter((text) => !options.expectedErrors?.test(text))
      if (unexpected.length > 0) throw new Error(`The console says:\n${unexpected.join('\n')}`)
    },
  }
}
