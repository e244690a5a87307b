/**
 * A real browser and a real server, started as users start them. Each test is one path of a user,
 * and fails if the page writes an error to the console on the way.
 */
import { afterAll, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Browser, BrowserContext, Page, Response } from 'playwright-core'
import { chromiumPath, startChromium } from '../../scripts/chromium.ts'
import { type ServerProcess, startServer } from '../../scripts/server-process.ts'

/** The time limit of a step on a busy machine. */
const STEP_MS_MAX = Number(process.env.BROWSER_STEP_MS ?? 60_000)
/** The time limit of a whole path, including the start of its server and its browser. */
const PATH_MS_MAX = 180_000

/**
 * A test that needs a browser. Without one, the test is skipped with a note, or fails in CI, which
 * installs one.
 */
export function browserTest(name: string, walk: () => Promise<void>): void {
  const begin = hasBrowser ? test : test.skip
  begin(name, walk, PATH_MS_MAX)
}

const hasBrowser = chromiumPath !== undefined || process.env.BROWSER === 'required'
if (!hasBrowser) process.stderr.write('skipped: there is no Chromium here (docs/page.md)\n')

/**
 * Three ways to find out whether a test depends on timing. First, pauses between its steps, so that the page is always
 * ready before them. Second, delays of up to this long for answers and files, which also change their order, so that
 * the page is never ready. Third, a processor that is this many times slower for the page, so that it draws late.
 */
const SLOW_STEPS_MS = Number(process.env.BROWSER_SLOW_STEPS_MS ?? 0)
const SLOW_ANSWERS_MS = Number(process.env.BROWSER_SLOW_ANSWERS_MS ?? 0)
const SLOW_PAGE_TIMES = Number(process.env.BROWSER_SLOW_PAGE_TIMES ?? 1)

export type Viewport = 'desktop' | 'phone'
export type Scheme = 'light' | 'dark'

const SIZES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }

export interface Visit {
  readonly page: Page
  readonly context: BrowserContext
  readonly baseUrl: string
}

export interface VisitOptions {
  readonly viewport?: Viewport
  readonly scheme?: Scheme
  /** Without animations, because text that fades in has too little contrast. */
  readonly isStill?: boolean
  /** Console messages that the path expects, such as a request that is meant to fail. */
  readonly expectedErrors?: RegExp
}

/** All test files of a process share one browser. Each visit has its own profile. */
const shared: { browser?: Promise<Browser> } = {}

/** One server for the tests in a file. */
export function browserOver(environment: Readonly<Record<string, string>> = {}) {
  let folder: Promise<string> | undefined
  let server: Promise<ServerProcess> | undefined
  const serverOf = () => {
    server ??= started()
    return server
  }
  const started = async (place: { port?: number } = {}) => {
    folder ??= mkdtemp(join(tmpdir(), 'eider-browser-'))
    return startServer({ dataDirectory: await folder, environment, ...place })
  }
  const browserOf = () => {
    shared.browser ??= startChromium({ slowMo: SLOW_STEPS_MS })
    return shared.browser
  }
  afterAll(async () => {
    // A server that did not start leaves nothing to stop.
    await server?.then((started) => started.stop()).catch(() => {})
    if (folder !== undefined) await rm(await folder, { recursive: true, force: true })
  })
  return {
    baseUrl: async () => (await serverOf()).baseUrl,
    /**
     * Sends JSON like any client, to create data for the page.
     * @throws Error with the server's response
     */
    async send(method: string, path: string, json?: unknown): Promise<unknown> {
      const response = await fetch(`${(await serverOf()).baseUrl}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: json === undefined ? null : JSON.stringify(json),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return text === '' ? undefined : JSON.parse(text)
    },
    /**
     * Stops the server, runs `meanwhile`, and starts the server again with the same folder and
     * address.
     */
    async restartServer(meanwhile: () => Promise<void> = async () => {}): Promise<void> {
      const before = await serverOf()
      await before.stop()
      await meanwhile()
      server = started({ port: Number(new URL(before.baseUrl).port) })
      await server
    },
    /** Kills the server in the middle of its work, and starts it again at the same address. */
    async crashServer(): Promise<void> {
      const before = await serverOf()
      process.kill(before.pid, 'SIGKILL')
      // The folder is free once the process has ended.
      await before.stop().catch(() => {})
      server = started({ port: Number(new URL(before.baseUrl).port) })
      await server
    },
    /** Opens an address in a fresh profile, walks the path, and closes it. @throws the page's errors */
    async visit(
      address: string,
      options: VisitOptions,
      walk: (visit: Visit) => Promise<void>,
    ): Promise<void> {
      const { baseUrl } = await serverOf()
      const context = await (await browserOf()).newContext({
        baseURL: baseUrl,
        viewport: SIZES[options.viewport ?? 'desktop'],
        colorScheme: options.scheme ?? 'light',
        reducedMotion: options.isStill ? 'reduce' : 'no-preference',
        acceptDownloads: true,
      })
      context.setDefaultTimeout(STEP_MS_MAX)
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      if (SLOW_ANSWERS_MS > 0) {
        await context.route('**', async (route) => {
          await Bun.sleep(Math.random() * SLOW_ANSWERS_MS)
          await route.continue().catch(() => {})
        })
      }
      const page = await context.newPage()
      if (SLOW_PAGE_TIMES > 1) {
        const session = await context.newCDPSession(page)
        await session.send('Emulation.setCPUThrottlingRate', { rate: SLOW_PAGE_TIMES })
      }
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

/** The best practices of axe are required, too: landmarks and the order of headings. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** While a menu or dialog covers the page, its main part and heading are hidden. */
export const COVERED = ['landmark-one-main', 'page-has-heading-one']

/**
 * Checks the current page with axe.
 * @param without rules that cannot apply there
 * @throws Error with each broken rule and its place
 */
export async function expectNoViolations(
  page: Page,
  without: readonly string[] = [],
): Promise<void> {
  const rules = Object.fromEntries(without.map((rule) => [rule, { enabled: false }]))
  // Text that fades in has too little contrast at first, and some appears while axe checks.
  await page.emulateMedia({ reducedMotion: 'reduce' })
  // Code evaluated by a debugger is not a script of the page, so the page's strict policy does not
  // block it.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(`${axe.source}; undefined`)
  const found = await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(RULES)}, rules: ${JSON.stringify(rules)}, resultTypes: ['violations'] })
      .then(({ violations }) => violations.map(({ id, help, nodes }) =>
        id + ': ' + help + '\\n' + nodes.slice(0, 4).map(({ target, failureSummary }) =>
          '    ' + target.join(' ') + '\\n      ' + failureSummary.replaceAll('\\n', ' ')).join('\\n')))`,
  )
  const violations = Array.isArray(found) ? found : []
  if (violations.length > 0) throw new Error(`axe finds:\n${violations.join('\n')}`)
}

/** @throws Error with the elements that stick out if the page can be scrolled sideways */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const wide = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > clientWidth + 1)
      .slice(0, 5)
      .map(({ tagName, className }) => `${tagName.toLowerCase()}.${className}`)
  })
  if (wide.length > 0) throw new Error(`Wider than the window: ${wide.join(', ')}`)
}

/**
 * Returns the server's response to the request that `act` causes. The page may show the result too
 * briefly for a test.
 */
export async function answered(
  page: Page,
  method: string,
  act: () => Promise<void>,
): Promise<Response> {
  const [response] = await Promise.all([
    page.waitForResponse((one) => one.request().method() === method),
    act(),
  ])
  return response
}

/**
 * Waits until the newest part of the page handles events, because a test is faster than a person.
 */
export async function settled(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let frames = 0; frames < 3; frames += 1) await new Promise(requestAnimationFrame)
  })
}
