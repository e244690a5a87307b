import type { Page } from 'playwright-core'
import { startChromium } from '../../scripts/chromium.ts'
import { newContext, opened, waited } from '../browser.ts'
import { createKnowledgeBase, fill } from '../filling.ts'
import { percentile } from '../load.ts'
import { sampleTexts } from '../sample-texts.ts'
import { type Measure, type Scenario, withServer } from '../scenario.ts'

const CHUNKS = { quick: 2000, normal: 20_000, full: 100_000 }
const WORDS_PER_DOCUMENT = 20
const TYPED = 'how is the server started with a path to its own data'

const COLUMNS = [
  { label: 'Words (keywords)', what: 'keywords (target 100)' },
  { label: 'Meaning (vectors)', what: 'vectors (target 150)' },
  { label: 'Both (hybrid)', what: 'both' },
]

/** Each key press is a search in three columns at once. A user waits for the one they look at. */
export const pageSearch: Scenario = {
  name: 'page-search',
  title: 'The search lab in Chromium: from a key to its results, the built-in model',
  onlyWhenNamed: true,
  run: (size) =>
    withServer({}, async (bench) => {
      const knowledgeBase = 'lab'
      const filling = {
        knowledgeBase,
        documents: CHUNKS[size],
        wordsPerDocument: WORDS_PER_DOCUMENT,
      }
      await createKnowledgeBase(bench, filling)
      await fill(bench, filling, await sampleTexts())
      const browser = await startChromium()
      try {
        const context = await newContext(browser)
        const address = `${bench.server.baseUrl}/projects/mindsdb/knowledge_bases/lab/search`
        const { page } = await opened(context, address)
        // The first search reads from disk, so it does not count.
        await typed(page, 'Both (hybrid)')
        const measures: Measure[] = []
        for (const { label, what } of COLUMNS) {
          const times = await typed(page, label)
          const first = `${filling.documents} chunks, ${what}`
          measures.push({ what: `${first}: median`, value: percentile(times, 0.5), unit: 'ms' })
          measures.push({ what: `${first}: p90`, value: percentile(times, 0.9), unit: 'ms' })
        }
        return measures
      } finally {
        await browser.close()
      }
    }),
}

/** @returns the milliseconds for each key, the shortest first */
async function typed(page: Page, label: string): Promise<readonly number[]> {
  const box = page.getByRole('searchbox')
  await box.fill('')
  await box.focus()
  const isShown = `document.querySelector('[aria-label="${label}"]')?.dataset.searched ===
    document.querySelector('input[type="search"]').value`
  const times: number[] = []
  for (const key of TYPED) times.push(await waited(page, () => page.keyboard.type(key), isShown))
  return times.toSorted((one, other) => one - other)
}
