import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
let folder: string
let parquet: Uint8Array
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-hostile-uploads-'))
  t = await createTestApp({ directory: folder })
  expect((await upload('kept', 'a,b\n1,2\n')).status).toBe(200)
  parquet = await parquetBytes()
}, 60_000)
afterAll(async () => {
  await t.close()
  await rm(folder, { recursive: true, force: true })
})

type Sent = string | Uint8Array<ArrayBuffer> | FormData

async function upload(name: string, body: Sent, type?: string, original?: string) {
  const query = original === undefined ? '' : `?original_file_name=${encodeURIComponent(original)}`
  const request = new Request(`http://localhost/api/files/${encodeURIComponent(name)}${query}`, {
    method: 'PUT',
    body,
    ...(type === undefined ? {} : { headers: { 'content-type': type } }),
  })
  const answer = await t.app.handle(request)
  return { status: answer.status, text: await answer.text() }
}

async function parquetBytes(): Promise<Uint8Array> {
  const query = 'SELECT range AS id, repeat(range::VARCHAR, 20) AS text FROM range(5000)'
  const answer = await t.app.handle(
    new Request('http://localhost/api/sql/query', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/vnd.apache.parquet',
      },
      body: JSON.stringify({ query }),
    }),
  )
  return new Uint8Array(await answer.arrayBuffer())
}

async function fileNames(): Promise<unknown> {
  const { body } = await t.send('GET', '/api/files')
  return (body as readonly { readonly name: string }[]).map(({ name }) => name)
}

/** Checks that nothing was stored or left behind, and that the server still works. */
async function expectUnharmed(): Promise<void> {
  expect(await fileNames()).toEqual(['kept'])
  expect(await readdir(join(folder, 'uploads')).catch(() => [])).toEqual([])
  expect((await t.send('GET', '/api/util/ping')).status).toBe(200)
}

const BOUNDARY = 'multipart/form-data; boundary=b'

function part(head: string, content: string): string {
  return `--b\r\n${head}\r\n\r\n${content}\r\n`
}

const FILE = 'content-disposition: form-data; name="file"; filename="x.csv"'

/** Returns magic bytes followed by what might confuse a reader. */
function bytes(head: string, ...rest: readonly number[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...Buffer.from(head, 'latin1'), ...rest])
}

function cut(fraction: number): Uint8Array<ArrayBuffer> {
  return parquet.slice(0, Math.floor(parquet.length * fraction))
}

/** Changes the metadata of a file, which comes after the pages and before the length at the end. */
function withMetadata(change: (footer: Uint8Array) => void): Uint8Array<ArrayBuffer> {
  const changed = new Uint8Array(parquet)
  change(changed.subarray(Math.floor(changed.length * 0.97), changed.length - 4))
  return changed
}

const LIES = {
  objects: `${Array.from({ length: 30 }, (_, n) => `${n} 0 obj<</Kids[${n + 1} 0 R]>>endobj\n`).join('')}`,
  loop: '%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0 R]/Count 999999999>>endobj\ntrailer<</Root 1 0 R/Size 3>>\n%%EOF',
}

interface Hostile {
  readonly body: () => Sent
  readonly type?: string
  readonly original?: string
}

/** Each of these must be refused. */
const REFUSED: Readonly<Record<string, Hostile>> = {
  'a form without a boundary': { body: () => part(FILE, 'a\n1'), type: 'multipart/form-data' },
  'a form with another boundary': {
    body: () => part(FILE, 'a\n1'),
    type: 'multipart/form-data; boundary=other',
  },
  'a form without an end': { body: () => '--b\r\ncontent-disposition: form-', type: BOUNDARY },
  'a form without the part file': {
    body: () => `${part('content-disposition: form-data; name="x"', '1')}--b--\r\n`,
    type: BOUNDARY,
  },
  'a form of ten thousand parts without a file': {
    body: () => {
      const one = part('content-disposition: form-data; name="x"', '1')
      return `${one.repeat(10_000)}--b--\r\n`
    },
    type: BOUNDARY,
  },
  'a form that is empty': { body: () => '--b--\r\n', type: BOUNDARY },
  'a form whose file is a field': {
    body: () => `${part('content-disposition: form-data; name="file"', 'a\n1')}--b--\r\n`,
    type: BOUNDARY,
  },
  'a body over the limit': { body: () => new Uint8Array(64 * 1024 * 1024 + 1) },
  nothing: { body: () => '' },
  'a PDF that is cut': { body: () => bytes('%PDF-1.7\n', 1, 2, 3), original: 'x.pdf' },
  'a PDF whose pages are their own parents': { body: () => LIES.loop, original: 'x.pdf' },
  'a PDF of objects that lead nowhere': {
    body: () => `%PDF-1.7\n${LIES.objects}`,
    original: 'x.pdf',
  },
  'a PDF of a stream that says it is a terabyte': {
    body: () => '%PDF-1.7\n1 0 obj<</Length 1099511627776>>stream\nabc',
    original: 'x.pdf',
  },
  'a Parquet file cut in the middle': { body: () => cut(0.5), original: 'x.parquet' },
  'a Parquet file cut before its end': { body: () => cut(0.99), original: 'x.parquet' },
  'a Parquet file of its first bytes': { body: () => bytes('PAR1'), original: 'x.parquet' },
  'a Parquet file whose metadata are longer than it': {
    body: () => bytes('PAR1', ...Array(40).fill(7), 255, 255, 255, 127, 80, 65, 82, 49),
    original: 'x.parquet',
  },
  'a Parquet file whose metadata are zeros': {
    body: () => withMetadata((footer) => footer.fill(0)),
    original: 'x.parquet',
  },
  'a Parquet file whose metadata are ones': {
    body: () => withMetadata((footer) => footer.fill(255, 0, footer.length - 4)),
    original: 'x.parquet',
  },
  'JSON nested a hundred thousand deep': {
    body: () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
    original: 'x.json',
  },
  'twenty thousand brackets': { body: () => '['.repeat(20_000), original: 'x.json' },
  'three thousand brackets': { body: () => '['.repeat(3000), original: 'x.json' },
  'five thousand objects within each other': {
    body: () => '{"a":'.repeat(5000),
    original: 'x.json',
  },
  'a CSV of twenty thousand columns': {
    body: () =>
      `${Array.from({ length: 20_000 }, (_, n) => `c${n}`).join(',')}\n${'1,'.repeat(20_000)}\n`,
    original: 'x.csv',
  },
  'a wide line behind a quote that is open': {
    body: () => `a,b\n1,"${'x,'.repeat(20_000)}\n${'y,'.repeat(20_000)}`,
    original: 'x.csv',
  },
  'JSON lines, the second of them deep': {
    body: () => `{"a":"x\n${'[{"a":'.repeat(50_000)}`,
    original: 'x.jsonl',
  },
  'a CSV of a hundred thousand columns': {
    body: () => `${Array.from({ length: 100_000 }, (_, n) => `c${n}`).join(',')}\n`,
    original: 'x.csv',
  },
  'JSON cut short': { body: () => '[{"a":1},{"a":', original: 'x.json' },
  'bytes that are no text': { body: () => bytes('', ...Array(4000).fill(0)), original: 'x.csv' },
  'a file that swells when it is unpacked': {
    body: () => new Uint8Array(gzipSync(Buffer.alloc(50_000_000, 'a,b\n'))),
    original: 'x.csv',
  },
}

describe('an upload is refused, and nothing of it stays:', () => {
  for (const [name, { body, type, original }] of Object.entries(REFUSED)) {
    test(name, async () => {
      const { status, text } = await upload('hostile', body(), type, original)
      expect({ status, isClientError: status >= 400 && status < 500 }).toEqual({
        status,
        isClientError: true,
      })
      expect(text).not.toMatch(/\/tmp|node_modules|\.ts\b|uploads/)
      await expectUnharmed()
    }, 60_000)
  }

  for (const name of ['..', '../x', '..\\x', 'a/b', 'a\0b', 'a\nb', '.', ' ', 'a'.repeat(300)]) {
    test(`under the name ${JSON.stringify(name).slice(0, 20)}`, async () => {
      const path = `/api/files/${encodeURIComponent(name)}`
      const { status } = await t.send('PUT', path, 'a,b\n1,2\n')
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
      await expectUnharmed()
    })
  }
})

/** The server may store or refuse these, but must respond, and what it stores can be dropped. */
const ODD: Readonly<Record<string, Hostile>> = {
  'a name that climbs': {
    body: () => {
      const head = 'content-disposition: form-data; name="file"; filename="../../../etc/x.csv"'
      return `${part(head, 'a\n1')}--b--\r\n`
    },
    type: BOUNDARY,
  },
  'a name with a NUL and a line end': { body: () => 'a\n1', original: 'a\0\r\nb.csv' },
  'two files of one name': {
    body: () => `${part(FILE, 'a\n1')}${part(FILE, 'b\n2')}--b--\r\n`,
    type: BOUNDARY,
  },
  'a CSV of a thousand columns': {
    body: () => `${Array.from({ length: 1000 }, (_, n) => `c${n}`).join(',')}\n`,
    original: 'x.csv',
  },
  'a CSV with one line of four megabytes': { body: () => 'x'.repeat(4_000_000), original: 'x.csv' },
  'a CSV of quotes': { body: () => '"'.repeat(100_000), original: 'x.csv' },
  'HTML nested twenty thousand deep': {
    body: () => `${'<div>'.repeat(20_000)}text`,
    original: 'x.html',
  },
  'HTML of attributes': {
    body: () => `<a ${'b="c" '.repeat(50_000)}>text</a>`,
    original: 'x.html',
  },
  'Markdown of brackets': { body: () => '['.repeat(100_000), original: 'x.md' },
  'JSON with a key of a megabyte': {
    body: () => `[{"${'k'.repeat(1_000_000)}":1}]`,
    original: 'x.json',
  },
}

describe('an upload is answered, and the server keeps working:', () => {
  for (const [name, { body, type, original }] of Object.entries(ODD)) {
    test(name, async () => {
      const { status, text } = await upload('odd', body(), type, original)
      expect([200, 400, 413, 504]).toContain(status)
      expect(text).not.toMatch(/node_modules|\.ts\b|\/tmp/)
      if (status === 200) expect((await t.send('DELETE', '/api/files/odd')).status).toBe(204)
      await expectUnharmed()
    }, 60_000)
  }
})

const DEEP_LIST = `${'['.repeat(5000)}${']'.repeat(5000)}`
const DEEP_OBJECT = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`

describe('deep JSON is bounded before DuckDB sees it:', () => {
  const kb = '/api/projects/mindsdb/knowledge_bases'
  const header = { 'content-type': 'application/json' }
  beforeAll(async () => {
    await t.send('POST', kb, { knowledge_base: { name: 'deep' } })
  })

  test.each([
    ['metadata', 'PUT', `${kb}/deep`, '{"knowledge_base":{"rows":[{"id":1,"content":"x","m":$}]}}'],
    ['a filter', 'POST', `${kb}/deep/search`, '{"query":"x","filters":$}'],
    ['a parameter of a statement', 'POST', '/api/sql/query', '{"query":"SELECT $a","params":$}'],
    ['a body', 'POST', kb, '$'],
  ])('%s', async (_, method, path, body) => {
    for (const deep of [DEEP_LIST, DEEP_OBJECT]) {
      const answer = await t.send(method, path, body.replace(/\$(?!a)/, deep), header)
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_json' } })
      expect(answer.text).toContain('nested more than 200 levels deep')
    }
  })

  test('as text it is text, in rows and in statements', async () => {
    const rows = [{ id: '1', content: 'x', m: DEEP_LIST, n: DEEP_OBJECT }]
    const inserted = await t.send('PUT', `${kb}/deep`, { knowledge_base: { rows } })
    expect(inserted.status).toBe(200)
    const found = await t.rows('SELECT length(json(m)::VARCHAR), json_type(n) FROM deep')
    expect(found).toEqual([[10_000, 'OBJECT']])
    const compared = t.rows('SELECT json_structure($a)', { a: '['.repeat(9000) + ']'.repeat(9000) })
    await expect(compared).rejects.toThrow('JSON has at most 5000 objects and lists')
  })
})
