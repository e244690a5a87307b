import { expect } from 'bun:test'
import { browserOver, browserTest, expectNoViolations, settled } from './browser-fixture.ts'

const browser = browserOver()

const MAP = '/projects/mindsdb/knowledge_bases/topics/map'
const TOPICS = ['green tea in a cup', 'a bridge of steel', 'the cat chases a bird'] as const

browserTest('a map is read, coloured, selected and opened', async () => {
  const baseUrl = await browser.baseUrl()
  const sent = async (method: string, path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    await fetch(`${baseUrl}${path}`, { method, headers, body: JSON.stringify(body) })
  }
  const all = '/api/projects/mindsdb/knowledge_bases'
  await sent('POST', all, { knowledge_base: { name: 'topics', metadata_columns: ['topic'] } })
  await browser.visit(MAP, {}, async ({ page }) => {
    await page.getByText('There is nothing to map yet').waitFor()
    const rows = Array.from({ length: 60 }, (_, at) => {
      const topic = TOPICS[at % 3] ?? ''
      return { id: `d${at}`, content: `${topic}, number ${at}`, topic }
    })
    await sent('PUT', `${all}/topics`, { knowledge_base: { rows } })
    await page.reload()

    const map = page.getByRole('application')
    await map.waitFor()
    const regions = page.getByRole('region', { name: 'Regions' }).getByRole('listitem')
    await regions.nth(2).waitFor()
    expect(await regions.count()).toBe(3)
    await page.emulateMedia({ forcedColors: 'active' })
    await page.waitForFunction(() => {
      const swatches = [...document.querySelectorAll('.map-swatch')]
      return new Set(swatches.map((one) => getComputedStyle(one).backgroundColor)).size === 3
    })
    await page.emulateMedia({ forcedColors: 'none' })
    const box = await map.boundingBox()
    if (box === null) throw new Error('The map is not shown')
    const bytes = await (await fetch(`${baseUrl}${all}/topics/map/points`)).arrayBuffer()
    const count = bytes.byteLength / 6
    const side = Math.min(box.width, box.height)
    const across = (new Uint16Array(bytes, 0, count)[7] ?? 0) / 65_535 - 0.5
    const down = (new Uint16Array(bytes, 2 * count, count)[7] ?? 0) / 65_535 - 0.5
    const placeAt = (zoom: number) => ({
      position: {
        x: box.width / 2 + across * side * zoom,
        y: box.height / 2 + down * side * zoom,
      },
    })
    await settled(page)
    await map.hover(placeAt(1))
    await page.getByText('a bridge of steel, number', { exact: false }).waitFor()

    await page.getByRole('combobox', { name: 'Colour by' }).selectOption('topic')
    const colours = page.getByRole('list', { name: 'Colours' })
    await colours.getByRole('button', { name: 'a bridge of steel' }).click()
    await page.getByText('20 chunks selected').waitFor()
    await page.waitForURL(/colour=topic/)
    await expectNoViolations(page)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('20 chunks selected').waitFor({ state: 'detached' })

    // The field shows what colours the map, also after Back.
    const nearness = page.getByRole('searchbox', { name: 'Colour by similarity to a text' })
    await nearness.fill('steel')
    await nearness.press('Enter')
    await page.waitForURL(/q=steel/)
    await page.goBack()
    await page.waitForFunction(() => {
      return document.querySelector<HTMLInputElement>('.map-search input')?.value === ''
    })

    await page.getByRole('button', { name: 'Select what is visible' }).click()
    await page.getByRole('link', { name: 'd59', exact: true }).waitFor()

    // Only with the keyboard.
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('60 chunks selected').waitFor({ state: 'detached' })
    await map.focus()
    await page.keyboard.press('0')
    await page.getByRole('button', { name: 'Select what is visible' }).press('Enter')
    await page.getByText('60 chunks selected').waitFor()

    // The visible part of the map and the selection stay the same after opening a document.
    await map.focus()
    for (const key of ['+', '+', 'ArrowLeft', '0', '-', '-']) await page.keyboard.press(key)
    for (let times = 0; times < 2; times += 1) {
      await map.click(placeAt(0.8))
      await page.waitForURL(/\/documents\/d\d+\?start=0&end=/)
      await page.goBack()
      await page.getByText('60 chunks selected').waitFor()
      await settled(page)
    }

    await page.getByRole('link', { name: 'Search in them' }).click()
    await map.waitFor({ state: 'detached' })
    await page.getByRole('searchbox').first().fill('steel')
    await page.getByText('a bridge of steel, number', { exact: false }).first().waitFor()
    expect(new URL(page.url()).searchParams.get('filters')).toContain('"d59"')
  })
})
