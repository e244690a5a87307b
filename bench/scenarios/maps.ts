import type { Page } from 'playwright-core'
import { chromiumPath, startChromium } from '../../scripts/chromium.ts'
import type { EiderClient } from '../../scripts/eider-client.ts'
import { framesDuring, newContext } from '../browser.ts'
import { type FeltBench, felt, withFeltServer } from '../felt-work.ts'
import { mapQuality } from '../map-quality.ts'
import { clusteredVectors } from '../peers/clustered-vectors.ts'
import { fillWithVectors, KNOWLEDGE_BASE } from '../peers/eider-peer.ts'
import { startStubVectors } from '../peers/stub-vectors.ts'
import { type BenchSize, type Measure, PROJECT, type Scenario } from '../scenario.ts'

interface MapSize {
  readonly rowCount: number
  readonly dimensions: number
}

const SMALL: MapSize = { rowCount: 10_000, dimensions: 384 }
const LARGE: MapSize = { rowCount: 100_000, dimensions: 384 }
const WIDE: MapSize = { rowCount: 100_000, dimensions: 1536 }
const SIZES: Readonly<Record<BenchSize, readonly MapSize[]>> = {
  quick: [SMALL],
  normal: [SMALL, LARGE],
  full: [SMALL, LARGE, WIDE],
}
const SEED = 1
const OPENINGS = 5
const DRAGS = 120
const ASKED_MS = 100

/** Makes a map while the server does other work, and draws it if a Chromium is installed. */
export const maps: Scenario = {
  name: 'maps',
  title: 'Maps of knowledge bases: seconds for 10 000 chunks, less than a minute for 100 000',
  onlyWhenNamed: true,
  run: async (size) => {
    const measures: Measure[] = [...(await mapQuality())]
    for (const mapSize of SIZES[size]) measures.push(...(await measured(mapSize)))
    return measures
  },
}

function measured({ rowCount, dimensions }: MapSize): Promise<readonly Measure[]> {
  const vectors = clusteredVectors(SEED, dimensions)
  const rows = new Float32Array(rowCount * dimensions)
  for (let row = 0; row < rowCount; row += 1) rows.set(vectors.next().value, row * dimensions)
  const stub = startStubVectors({ rows, rowCount })
  return withFeltServer(async (bench) => {
    try {
      await fillWithVectors(bench.client, rowCount, stub.model)
      const what = `${rowCount} chunks, ${dimensions} dimensions`
      const made = await felt(bench, { what, unit: 'chunks' }, () => makeMap(bench.client))
      const drawn = chromiumPath === undefined ? [] : await drawing(bench, what)
      return [...made, ...drawn]
    } finally {
      stub.stop()
    }
  })
}

/** @returns how many points it has */
async function makeMap(client: EiderClient): Promise<number> {
  for (;;) {
    // The route's documentation defines this form.
    const answer = (await client.request(
      'GET',
      `${PROJECT}/knowledge_bases/${KNOWLEDGE_BASE}/map`,
    )) as {
      readonly state: string
      readonly map: { readonly current: boolean; readonly point_count: number } | null
    }
    if (answer.state === 'failed') throw new Error('the map failed')
    if (answer.state === 'ready' && answer.map?.current === true) return answer.map.point_count
    await Bun.sleep(ASKED_MS)
  }
}

/** Measures the time from opening the address in a warm browser to the first picture, then frames. */
async function drawing({ server }: FeltBench, what: string): Promise<readonly Measure[]> {
  const browser = await startChromium()
  try {
    const context = await newContext(browser)
    const first: number[] = []
    let page: Page | undefined
    for (let turn = 0; turn <= OPENINGS; turn += 1) {
      await page?.close()
      page = await context.newPage()
      await page.goto(`${server.baseUrl}/projects/mindsdb/knowledge_bases/${KNOWLEDGE_BASE}/map`, {
        waitUntil: 'commit',
      })
      const ms = await drawnMs(page)
      if (turn > 0) first.push(ms)
    }
    if (page === undefined) return []
    const frames = await framesDuring(page, dragging(page))
    return [
      {
        what: `${what}: first drawing, best (at most 500)`,
        value: Math.min(...first),
        unit: 'ms',
      },
      { what: `${what}: moved (60)`, value: frames.perSecond, unit: 'frames/s' },
      { what: `${what}: moved, longest frame`, value: frames.longestMs, unit: 'ms' },
    ]
  } finally {
    await browser.close()
  }
}

/** The time since the navigation when the canvas has a picture. */
async function drawnMs(page: Page): Promise<number> {
  const drawn = await page.waitForFunction(
    () => {
      const canvas = document.querySelector('canvas.map-points')
      // Before anything is drawn on it, a canvas has the default size.
      const isDrawn = canvas instanceof HTMLCanvasElement && canvas.width !== 300
      return isDrawn ? performance.now() : false
    },
    undefined,
    { polling: 'raf' },
  )
  return Number(await drawn.jsonValue())
}

/** Moves the mouse in a circle, like a user who drags. */
function dragging(page: Page): () => Promise<void> {
  return async () => {
    const box = await page.locator('canvas.map-marks').boundingBox()
    if (box === null) throw new Error('the map is not shown')
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
    await page.mouse.move(x + 100, y)
    await page.mouse.down()
    for (let step = 1; step <= DRAGS; step += 1) {
      const turn = (4 * Math.PI * step) / DRAGS
      await page.mouse.move(x + 100 * Math.cos(turn), y + 100 * Math.sin(turn))
    }
    await page.mouse.up()
  }
}
