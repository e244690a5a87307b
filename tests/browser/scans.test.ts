/** Pages without text: the page shows the next step if no model is set, and the cost if one is. */
import { afterAll, expect } from 'bun:test'
import { drawnPdf, line } from '../reading/drawn-pdf.ts'
import { browserOver, browserTest, expectNoViolations, settled } from './browser-fixture.ts'
import { drop } from './dropped-files.ts'

const SCAN = 'q 500 0 0 500 50 50 cm /Im1 Do Q'
const PAGES = [SCAN, line('The minutes of the meeting', 72, 700), SCAN]
const bytes = [...drawnPdf({ pages: PAGES })]
const ADD = '/projects/mindsdb/knowledge_bases/minutes/add'

/** A server with OpenAI's API that reads the same text from every picture. */
const reader = { asked: 0 }
const model = Bun.serve({
  port: 0,
  fetch: () => {
    reader.asked += 1
    const message = { role: 'assistant', content: 'Signed by Ada' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const usage = { prompt_tokens: 1500, completion_tokens: 20, total_tokens: 1520 }
    return Response.json({ id: '1', object: 'chat.completion', created: 1, choices, usage })
  },
})
afterAll(() => model.stop(true))

const plain = browserOver()
const seeing = browserOver({
  EIDER_OCR_MODEL: 'sees',
  EIDER_OCR_BASE_URL: `http://127.0.0.1:${model.port}/v1`,
  EIDER_OCR_API_KEY: 'k',
  EIDER_MODEL_PRICES: JSON.stringify({ sees: { input: 10, output: 30 } }),
})

const made = { knowledge_base: { name: 'minutes' } }

browserTest('pages without text are counted, and the way to read them is one click', async () => {
  await plain.send('POST', '/api/projects/mindsdb/knowledge_bases', made)
  await plain.visit(ADD, {}, async ({ page }) => {
    await page.getByText('Drop files or folders').waitFor()
    await settled(page)
    await drop(page, [{ name: 'minutes.pdf', bytes }])
    await page.getByText('minutes.pdf: 2 of 3 pages contain no text').waitFor()
    await page.getByText('1 of 1 row').first().waitFor()
    await expectNoViolations(page)
    await page.getByRole('link', { name: 'Set an OCR model' }).click()
    await page.getByRole('heading', { name: 'Scanned pages' }).waitFor()
  })
})

browserTest('a model reads them after its price was seen', async () => {
  await seeing.send('POST', '/api/projects/mindsdb/knowledge_bases', made)
  await seeing.visit(ADD, { expectedErrors: /409/ }, async ({ page }) => {
    await page.getByText('Drop files or folders').waitFor()
    await settled(page)
    await drop(page, [{ name: 'minutes.pdf', bytes }])
    const asks = '2 of 3 pages contain no text. sees can read them, for about 4,600 tokens, 0.07'
    await page.getByText(asks).waitFor()
    expect(reader.asked).toBe(0)
    await expectNoViolations(page)
    await page.getByRole('button', { name: 'Read them: minutes.pdf' }).click()
    await page.getByText('1 of 1 row').first().waitFor()
    expect(reader.asked).toBe(2)
    await drop(page, [{ name: 'other.pdf', bytes: [...drawnPdf({ pages: [...PAGES, ...PAGES] })] }])
    await page.getByRole('button', { name: 'Leave them out: other.pdf' }).click()
    await page.getByText('1 of 1 row').nth(1).waitFor()
    expect(reader.asked).toBe(2)
  })
})
