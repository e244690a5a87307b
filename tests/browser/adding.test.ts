/**
 * Adding data when something goes wrong: a lost connection, failing statements, refused addresses.
 */
import { expect } from 'bun:test'
import { browserOver, browserTest, expectNoViolations, settled } from './browser-fixture.ts'
import { drop } from './dropped-files.ts'

const browser = browserOver()

browserTest('files that were cut off are sent again, and what was typed stays', async () => {
  const base = '/projects/mindsdb/knowledge_bases'
  await browser.send('POST', `/api${base}`, { knowledge_base: { name: 'teas' } })
  const expectedErrors = /ERR_|400|Failed to load/
  await browser.visit(`${base}/teas`, { expectedErrors }, async ({ page }) => {
    // The names of all projects arrive late.
    const named = Promise.withResolvers<void>()
    await page.route('**/api/catalog', async (route) => {
      await named.promise
      await route.continue()
    })
    await page.reload()
    await page.getByRole('link', { name: 'Add', exact: true }).first().waitFor()
    await settled(page)
    // The test cuts the first connection of one of them.
    let cuts = 0
    await page.route('**/api/files/cut.md*', async (route) => {
      cuts += 1
      await (cuts === 1 ? route.abort('connectionreset') : route.continue())
    })
    const bytes = [...new TextEncoder().encode('# Sencha\n\nGreen, from Uji.')]
    await drop(page, [
      { name: 'cut.md', bytes },
      { name: 'whole.md', bytes },
    ])
    // A view that takes no files asks where to put them, and suggests the open knowledge base.
    const dialog = page.getByRole('dialog', { name: 'Add 2 files' })
    await dialog.getByLabel('Knowledge base', { exact: true }).waitFor()
    named.resolve()
    const here = dialog.getByRole('option', { name: 'teas (default)', selected: true })
    await here.waitFor({ state: 'attached' })
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('2 of 2 rows').first().waitFor()
    expect(cuts).toBe(2)
    // The page recognises the same file. For another file with its name, the user can replace the
    // old one or use it.
    await drop(page, [{ name: 'whole.md', bytes }])
    await page.getByText('whole.md is already in teas, unchanged').waitFor()
    await drop(page, [{ name: 'whole.md', bytes: [...bytes, 33] }])
    await page.getByRole('button', { name: 'Use that file: whole.md' }).click()
    await page.getByText('1 of 1 row').first().waitFor()
    // A renamed or copied file is recognised, too.
    await drop(page, [{ name: 'whole (1).md', bytes }])
    await page.getByText('whole (1).md is already in teas, as whole.md').waitFor()

    await page.getByRole('main').getByRole('link', { name: 'SQL', exact: true }).click()
    const statement = page.getByRole('textbox', { name: 'SELECT' })
    await statement.fill("SELECT i AS id, 'tea ' || i AS words FROM range(5) t(i)")
    await expectNoViolations(page)
    await page.getByRole('link', { name: 'Look at the rows' }).click()
    await page.getByRole('gridcell', { name: 'tea 4' }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Add the rows' }).click()
    // No column has the text.
    await page
      .getByText(/content/)
      .last()
      .waitFor()

    await page.getByRole('link', { name: 'Web pages' }).click()
    const addresses = page.getByRole('textbox', { name: 'Addresses' })
    await addresses.fill('http://127.0.0.1:9/private,teas')
    await page.getByRole('button', { name: 'Add the pages' }).click()
    // The page says what was left out; details open on request.
    await page.getByText('is not a public address').first().waitFor({ state: 'attached' })
    await page.reload()
    await addresses.waitFor()
    expect(await addresses.inputValue()).toBe('http://127.0.0.1:9/private,teas')
  })
})

browserTest('two knowledge bases each have a file of the same name', async () => {
  const all = '/projects/mindsdb/knowledge_bases'
  const bytesOf = (text: string) => [...new TextEncoder().encode(text)]
  // The first file blocks the second.
  const expectedErrors = /400|Failed to load/
  await browser.visit('/', { expectedErrors }, async ({ page }) => {
    const add = async (name: string, text: string) => {
      await page.goto(`${all}/${name}/add`)
      await page.getByText('Drop files or folders').waitFor()
      await settled(page)
      await drop(page, [{ name: 'report.md', bytes: bytesOf(text) }])
    }
    const textOf = async (name: string) => {
      const path = `/api${all}/${name}/documents/report.md`
      return JSON.stringify(await browser.send('GET', path))
    }
    for (const name of ['first', 'second']) {
      await browser.send('POST', `/api${all}`, { knowledge_base: { name } })
      await add(name, `# Report of the ${name}\n\nAll is well.`)
      await page.getByText('1 of 1 row').first().waitFor()
    }
    expect(await textOf('first')).toContain('of the first')
    expect(await textOf('second')).toContain('of the second')
    // A new version of its own file replaces the old one only on request.
    await add('second', '# Report of the second\n\nBetter.')
    await page.getByRole('button', { name: 'Replace it: report.md' }).click()
    await page.getByText('What was added').waitFor()
    for (let text = ''; !text.includes('Better'); text = await textOf('second')) {
      await page.waitForTimeout(100)
    }
    expect(await textOf('first')).toContain('of the first')
  })
})

browserTest('of two files with the same name, neither replaces the other unasked', async () => {
  const all = '/projects/mindsdb/knowledge_bases'
  const bytesOf = (text: string) => [...new TextEncoder().encode(text)]
  await browser.send('POST', `/api${all}`, { knowledge_base: { name: 'twins' } })
  const expectedErrors = /400|Failed to load/
  await browser.visit(`${all}/twins/add`, { expectedErrors }, async ({ page }) => {
    await page.getByText('Drop files or folders').waitFor()
    await settled(page)
    await drop(page, [
      { name: 'notes.md', bytes: bytesOf('# Returns\n\nWithin 30 days.') },
      { name: 'notes.md', bytes: bytesOf('# Shipping\n\nTakes one day.') },
    ])
    await page.getByRole('button', { name: 'Replace it: notes.md' }).waitFor()
    await page.getByText('1 of 1 row').first().waitFor()
  })
})
