import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { strToU8, zipSync } from 'fflate'
import { tinyPdf } from '../reading/tiny-pdf.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-uploads-'))
  t = await createTestApp({ directory: folder, environment: { EIDER_FILE_BYTES_MAX: '2000000' } })
})
afterAll(async () => {
  await t.close()
  await rm(folder, { recursive: true, force: true })
})

function formOf(...files: readonly (readonly [name: string, content: string | Uint8Array])[]) {
  const form = new FormData()
  for (const [name, content] of files) form.append('file', new File([content as string], name))
  return form
}

async function fetched(path: string, headers: Record<string, string> = {}) {
  const request = new Request(`http://localhost${path}`, { headers })
  const response = await t.app.handle(request)
  return { status: response.status, headers: response.headers, bytes: await response.bytes() }
}

async function keptFiles(): Promise<readonly string[]> {
  expect(await readdir(join(folder, 'uploads')).catch(() => [])).toEqual([])
  return readdir(join(folder, 'files')).catch(() => [])
}

describe('an upload', () => {
  test('of a table answers with what was recognised', async () => {
    const { status, body } = await t.send(
      'PUT',
      '/api/files/teas',
      formOf(['Teas 1.CSV', 'a,b\n1,2\n']),
    )
    expect(status).toBe(200)
    const record = {
      name: 'teas',
      original_file_name: 'Teas 1.CSV',
      format: 'csv',
      size_bytes: 8,
      row_count: 1,
      columns: ['a', 'b'],
      warnings: [],
      sheets: [],
    }
    expect(body).toMatchObject(record)
    expect((await t.send('GET', '/api/files/teas')).body).toEqual(body)
    expect(await t.rows('SELECT a, b FROM files.teas')).toEqual([[1, 2]])
  })

  test('of a document may give it an id other than its name', async () => {
    const words = formOf(['report.md', '# A report'])
    const path = '/api/files/report%20(teas).md?document_id=report.md&ocr=ask'
    expect((await t.send('PUT', path, words)).status).toBe(200)
    expect(await t.rows('SELECT id FROM files."report (teas).md"')).toEqual([['report.md']])
    const refused = await t.send('PUT', '/api/files/x.md?ocr=perhaps', words)
    expect(refused.body).toMatchObject({ detail: expect.stringContaining('yes, no, ask') })
  })

  test('of a document is one row with its layout', async () => {
    await t.send('PUT', '/api/files/ducks.md', '# Ducks\n\ntext')
    const sql = 'SELECT id, content, title, format, layout FROM files.ducks'
    const layout = { syntax: 'markdown', parts: null }
    expect(await t.rows(sql)).toEqual([
      ['ducks.md', '# Ducks\n\ntext', 'Ducks', 'markdown', layout],
    ])
    await t.send('PUT', '/api/files/two.pdf', formOf(['x.pdf', tinyPdf(['One', 'Two'])]))
    const [row] = await t.rows(
      "SELECT layout->'parts'->>'unit', len(layout->'parts'->'starts') FROM files.two",
    )
    expect(row?.[0]).toBe('page')
  })

  test('keeps the bytes as they were sent', async () => {
    const bytes = new TextEncoder().encode('ä;b\r\n1;2\r\n')
    await t.send('PUT', '/api/files/Größe "1".csv', formOf(['Größe "1".csv', bytes]))
    const path = `/api/files/${encodeURIComponent('Größe "1"')}/content`
    const whole = await fetched(path)
    expect(whole.status).toBe(200)
    expect(Buffer.from(whole.bytes).equals(bytes)).toBe(true)
    expect(whole.headers.get('content-disposition')).toBe(
      `attachment; filename="Gr__e _1_.csv"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22.csv`,
    )
    expect(whole.headers.get('x-content-type-options')).toBe('nosniff')
    const part = await fetched(path, { range: 'bytes=2-3' })
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 2-3/11'])
    expect(Buffer.from(part.bytes).toString()).toBe(';b')
    expect((await fetched(path, { range: 'bytes=-2' })).bytes).toEqual(Uint8Array.of(13, 10))
    expect((await fetched(path, { range: 'bytes=11-' })).status).toBe(416)
    expect((await fetched(path, { range: 'lines=1-2' })).status).toBe(200)
    await t.send('POST', '/api/sql/query', { query: 'CREATE TABLE files.made AS SELECT 1 a' })
    expect((await fetched('/api/files/made/content')).status).toBe(404)
  })

  test('under a name that is taken is refused, unless it replaces', async () => {
    await t.send('PUT', '/api/files/again.csv', 'a\n1\n')
    const refused = await t.send('PUT', '/api/files/AGAIN.csv', 'a\n2\n')
    expect(refused).toMatchObject({ status: 400, body: { code: 'file_exists' } })
    expect(refused.text).toContain('File with name AGAIN.csv already exists')
    const unreadable = await t.send('PUT', '/api/files/again.csv?replace=1', '')
    expect(unreadable.status).toBe(400)
    expect(await t.rows('SELECT a FROM files.again')).toEqual([[1]])
    const before = await keptFiles()
    const { status } = await t.send('PUT', '/api/files/again.csv?replace=true', 'b\n2\n3\n')
    expect(status).toBe(200)
    expect(await t.rows('SELECT b FROM files.again ORDER BY b')).toEqual([[2], [3]])
    expect(Buffer.from((await fetched('/api/files/again/content')).bytes).toString()).toBe(
      'b\n2\n3\n',
    )
    expect(await keptFiles()).toHaveLength(before.length)
  })

  test('that is dropped takes its bytes along', async () => {
    await t.send('PUT', '/api/files/gone.csv', 'a\n1\n')
    const before = await keptFiles()
    expect((await t.send('DELETE', '/api/files/gone')).status).toBe(204)
    expect(await keptFiles()).toHaveLength(before.length - 1)
  })
})

describe('several files', () => {
  test('are stored each under its own name; one that cannot be read stops none', async () => {
    const form = formOf(['one.csv', 'a\n1\n'], ['C:\\docs\\second.txt', 'two'], ['bad.csv', ''])
    const { status, body } = await t.send('POST', '/api/files', form)
    expect(status).toBe(201)
    expect(body).toMatchObject({
      files: [
        { name: 'one.csv' },
        { name: 'second.txt', original_file_name: 'C:\\docs\\second.txt' },
      ],
      failed: [{ name: 'bad.csv', code: 'file_unreadable', detail: 'The file is empty' }],
      skipped: 0,
    })
    expect(await t.rows('SELECT content FROM files.second')).toMatchObject([['two']])
  })

  test('of which none can be stored are refused', async () => {
    const { status, body } = await t.send(
      'POST',
      '/api/files',
      formOf(['x.csv', ''], ['y.csv', '']),
    )
    expect(status).toBe(400)
    expect(body).toMatchObject({
      detail:
        'None of the 2 files could be stored: x.csv: The file is empty; y.csv: The file is empty',
    })
  })

  test('of which none can be stored, one as its name is taken, may be sent again to replace it', async () => {
    await t.send('PUT', '/api/files/taken.txt', formOf(['taken.txt', 'old']))
    const form = formOf(['x.csv', ''], ['taken.txt', 'new'])
    const { body } = await t.send('POST', '/api/files', form)
    expect(body).toMatchObject({ code: 'file_exists' })
  })

  test('do not fit under one name', async () => {
    const { status, text } = await t.send('PUT', '/api/files/x', formOf(['a', 'a'], ['b', 'b']))
    expect(status).toBe(400)
    expect(text).toContain('POST /api/files takes several')
  })
})

describe('options', () => {
  test.each([
    ['format=poem', 'Parameter "format" must be one of csv'],
    ['encoding=klingon', 'Parameter "encoding" must be a name'],
    ['delimiter=ab', 'Parameter "delimiter" must be one character'],
    ['delimiter=', 'Parameter "delimiter" must be one character'],
    ['header=maybe', 'Parameter "header" must be true or false, found "maybe"'],
    ['all_text=2', 'Parameter "all_text" must be true or false'],
    ['delimeter=;', 'Unknown parameter "delimeter"; expected format, encoding'],
    ['source_type=ftp', 'Parameter "source_type" must be file or url'],
    ['source_type=url', 'Must provide "source"'],
  ])('%s is refused', async (query, message) => {
    const { status, text } = await t.send('PUT', `/api/files/options?${query}`, 'a\n1\n')
    expect(status).toBe(400)
    expect(JSON.parse(text).detail).toContain(message)
  })

  test.each(['s3', 'URL', 7])('a source type %p in JSON is refused by its name', async (kind) => {
    const sent = { source_type: kind, source: 'x', bucket: 'b' }
    const { status, text } = await t.send('PUT', '/api/files/options', sent)
    expect(status).toBe(400)
    expect(JSON.parse(text).detail).toBe(
      `Parameter "source_type" must be file or url, found "${kind}"`,
    )
  })

  test('are also fields of the form', async () => {
    const form = formOf(['x.csv', 'a\n1\n'])
    form.append('format', 'text')
    const { body } = await t.send('PUT', '/api/files/as-text', form)
    expect(body).toMatchObject({ format: 'text', row_count: 1 })
    expect(await t.rows('SELECT content FROM files."as-text"')).toEqual([['a\n1\n']])
  })
})

describe('a body', () => {
  test('over the limit is refused by the name of the setting', async () => {
    const { status, text } = await t.send('PUT', '/api/files/large', 'x'.repeat(2_000_001))
    expect(status).toBe(413)
    expect(text).toContain('EIDER_FILE_BYTES_MAX')
    const form = formOf(['x.txt', 'x'.repeat(2_000_000)])
    expect((await t.send('PUT', '/api/files/large', form)).status).toBe(413)
    await keptFiles()
  })

  test('without a file says which part is missing', async () => {
    const form = new FormData()
    form.append('name', 'x')
    const { status, body } = await t.send('PUT', '/api/files/teas2', form)
    expect(status).toBe(400)
    expect(body).toMatchObject({
      code: 'missing_parameter',
      detail: 'Must provide the part "file" in the form',
    })
  })
})

describe('a ZIP', () => {
  test('becomes its members, each a file of its own', async () => {
    const zip = zipSync({
      'docs/readme.md': strToU8('# Read me\n\ntext'),
      'docs/data/teas.csv': strToU8('a,b\n1,2\n'),
      'broken.parquet': strToU8('PAR1 and nothing'),
      'docs/.DS_Store': strToU8('x'),
      '__MACOSX/docs/._readme.md': strToU8('x'),
      '../climbs.txt': strToU8('x'),
      'inner.zip': zipSync({ 'a.txt': strToU8('a') }),
      'changed.txt': [strToU8('ten tons'), { level: 0 }],
    })
    zip[Buffer.from(zip).indexOf('ten tons')] = 'p'.charCodeAt(0)
    const { status, body } = await t.send('POST', '/api/files', formOf(['all.zip', zip]))
    expect(status).toBe(201)
    const { files, failed, skipped } = body as {
      files: { name: string }[]
      failed: { name: string; code: string }[]
      skipped: number
    }
    expect(files.map(({ name }) => name)).toEqual(['docs/readme.md', 'docs/data/teas.csv'])
    expect(failed.map(({ name, code }) => [name, code])).toEqual([
      ['broken.parquet', 'file_unreadable'],
      ['../climbs.txt', 'invalid_name'],
      ['inner.zip', 'file_unreadable'],
      ['changed.txt', 'file_unreadable'],
    ])
    expect(skipped).toBe(2)
    expect(await t.rows('SELECT title FROM files."docs/readme"')).toEqual([['Read me']])
    expect((await t.send('GET', '/api/files/docs%2Freadme.md')).body).toMatchObject({
      row_count: 1,
    })
    const content = await fetched('/api/files/docs%2Fdata%2Fteas.csv/content')
    expect(Buffer.from(content.bytes).toString()).toBe('a,b\n1,2\n')
    expect(content.headers.get('content-disposition')).toContain('filename="teas.csv"')
    await keptFiles()
  })

  test('with two files of one name, which differ in case, keeps the first and reports the other', async () => {
    const zip = zipSync({ 'Notes.txt': strToU8('one'), 'notes.txt': strToU8('two') })
    for (const options of ['', '?replace=1', '?replace=1']) {
      const { body } = await t.send('POST', `/api/files${options}`, formOf(['all.zip', zip]))
      expect(body).toMatchObject({
        files: [{ name: 'Notes.txt' }],
        failed: [{ name: 'notes.txt', code: 'file_exists' }],
      })
      expect(await t.rows('SELECT content FROM files."notes.txt"')).toEqual([['one']])
    }
    await t.send('DELETE', '/api/files/Notes.txt')
  })

  test.each([
    ['cut', () => zipSync({ 'a.txt': strToU8('a'.repeat(1000)) }).slice(0, 100)],
    ['of nothing', () => zipSync({})],
    ['that swells', () => zipSync({ 'a.txt': new Uint8Array(60_000_000) })],
    [
      'over the limit',
      () =>
        zipSync({
          'a.txt': crypto.getRandomValues(new Uint8Array(60_000)),
          'b.txt': new Uint8Array(3_000_000),
        }),
    ],
  ])('%s is refused', async (_, zip) => {
    const { status, text } = await t.send('PUT', '/api/files/bad.zip', formOf(['bad.zip', zip()]))
    expect([400, 413]).toContain(status)
    expect(text).not.toMatch(/\/tmp|node_modules/)
    await keptFiles()
  })
})

describe('a file by its address', () => {
  const site = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/robots.txt') return new Response('no', { status: 404 })
      if (pathname === '/moved') return Response.redirect('/data/teas%20of%20all.csv')
      if (pathname === '/out') return Response.redirect('http://10.0.0.1/x.csv')
      if (pathname === '/data/teas%20of%20all.csv') return new Response('a,b\n1,2\n')
      if (pathname === '/large') return new Response(new Uint8Array(3_000_000))
      return new Response('no', { status: 404 })
    },
  })
  afterAll(() => site.stop(true))
  const source = (path: string) => ({ source_type: 'url', source: `${site.url.origin}${path}` })

  test('is fetched, also behind a redirect', async () => {
    const own = await createTestApp({
      environment: { EIDER_CRAWL_ALLOW: '127.0.0.1', EIDER_FILE_BYTES_MAX: '2000000' },
    })
    const { status, body } = await own.send('PUT', '/api/files/fetched', source('/moved'))
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        name: 'fetched',
        original_file_name: 'teas of all.csv',
        source_url: `${site.url.origin}/data/teas%20of%20all.csv`,
        row_count: 1,
      },
    })
    expect((await own.send('PUT', '/api/files/x', source('/nothing'))).status).toBe(502)
    expect((await own.send('PUT', '/api/files/x', source('/out'))).status).toBe(400)
    expect((await own.send('PUT', '/api/files/x', source('/large'))).status).toBe(413)
    await own.close()
  })

  test('is refused where the settings do not allow the address', async () => {
    const refused = await t.send('PUT', '/api/files/x', source('/moved'))
    expect(refused).toMatchObject({ status: 400, body: { code: 'address_refused' } })
    const local = { source_type: 'url', source: 'file:///etc/passwd' }
    expect((await t.send('PUT', '/api/files/x', local)).status).toBe(400)
  })
})
