/** Data folders of earlier versions, packed by `scripts/data-folder.ts` when those were current. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { FOLDERS, type PackedFolder } from '../../../scripts/data-folder.ts'
import { startServer, whileRunning } from '../../../scripts/server-process.ts'
import { describedFile, MANIFEST_FILE, newManifest } from '../../../src/store/backup/manifest.ts'
import { MIGRATIONS } from '../../../src/store/catalog/migrate.ts'
import { KEY_FILES } from '../../../src/store/catalog/secrets.ts'
import { restore } from '../../../src/store/restore.ts'
import { sampleOf } from '../../support/sample.ts'
import { createTestApp } from '../../support/test-app.ts'

const packed = readdirSync(FOLDERS).filter((name) => name.endsWith('.zst'))
const KBS = '/api/projects/mindsdb/knowledge_bases'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-older-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function unpack(name: string): Promise<PackedFolder> {
  const bytes = Bun.zstdDecompressSync(await readFile(join(FOLDERS, name)))
  const found: PackedFolder = JSON.parse(bytes.toString())
  for (const [path, content] of Object.entries(found.files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), Buffer.from(content, 'base64'))
  }
  return found
}

async function call(url: string, method: string, path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) })
  return { status: answer.status, text: await answer.text() }
}

async function rowsOf(url: string, query: string): Promise<unknown> {
  const { text } = await call(url, 'POST', '/api/sql/query', { query })
  const { data, error_message } = JSON.parse(text)
  return data ?? error_message
}

test('there are folders of at least four versions', () => {
  expect(packed.length).toBeGreaterThanOrEqual(4)
})

for (const name of sampleOf(packed, 3)) {
  test(`the folder ${name} opens with what it held, and takes new rows`, async () => {
    const { answers } = await unpack(name)
    expect(answers.length).toBeGreaterThan(2)
    await whileRunning(await startServer({ dataDirectory: folder }), async () => {})
    const server = await startServer({ dataDirectory: folder })
    await whileRunning(server, async () => {
      const { baseUrl: url } = server
      for (const { query, data } of answers) {
        expect([query, await rowsOf(url, query)]).toEqual([query, data])
      }
      const question = { messages: [{ question: 'Which tea has no caffeine?', answer: '' }] }
      const agent = '/api/projects/mindsdb/agents/sommelier/completions'
      // Terms built by an earlier version's rules are rebuilt in the background. Until then, hybrid
      // searches use only the vectors.
      let answer = ''
      for (let tries = 0; tries < 100 && !answer.includes('Rooibos'); tries++) {
        if (tries > 0) await Bun.sleep(200)
        answer = (await call(url, 'POST', agent, question)).text
      }
      expect(answer).toContain('Rooibos')
      const rows = [{ id: 4, content: 'Oolong is between green and black tea', price: 8 }]
      const put = await call(url, 'PUT', `${KBS}/teas`, { knowledge_base: { rows } })
      expect(put).toEqual({ status: 200, text: '""' })
      expect(await rowsOf(url, 'SELECT count(*) FROM teas')).toEqual([[4]])
    })
  }, 60_000)
}

test('a backup of an earlier version can be restored', async () => {
  await unpack('catalog-14.zst')
  const path = join(folder, 'eider-data.duckdb')
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  const named = await connection.runAndReadAll(
    'SELECT schema_name, table_name FROM duckdb_tables()',
  )
  const tables = []
  for (const [schema, name] of named.getRows().map((row) => row.map(String))) {
    const counted = await connection.runAndReadAll(`SELECT count(*) FROM "${schema}"."${name}"`)
    const rowCount = Number(counted.getRows()[0]?.[0])
    tables.push({ schema: schema ?? '', name: name ?? '', rowCount })
  }
  instance.closeSync()
  const names = ['eider-data.duckdb', ...KEY_FILES]
  const files = await Promise.all(names.map((name) => describedFile(folder, name)))
  const written = { eiderVersion: '0', createdAt: '', folderId: '', contents: {} }
  const manifest = newManifest({ ...written, tables, files })
  await writeFile(join(folder, MANIFEST_FILE), JSON.stringify(manifest))
  await restore({ backup: folder, folder: join(folder, 'restored') })
  const server = await startServer({ dataDirectory: join(folder, 'restored') })
  await whileRunning(server, async () => {
    expect(await rowsOf(server.baseUrl, 'SELECT count(*) FROM teas')).toEqual([[3]])
  })
}, 60_000)

test('a folder of a newer version is refused with a sentence, and not changed', async () => {
  const later = { number: MIGRATIONS.length + 1, name: 'later', sql: 'SELECT 1' }
  const newer = await createTestApp({ directory: folder, migrations: [...MIGRATIONS, later] })
  await newer.close()
  const digests = async () => {
    const names = (await readdir(folder)).filter((name) => !name.endsWith('.lock')).sort()
    return Promise.all(
      names.map(async (name) => {
        const bytes = await readFile(join(folder, name)).catch(() => Buffer.of())
        return [name, new Bun.CryptoHasher('sha256').update(bytes).digest('hex')]
      }),
    )
  }
  const before = await digests()
  const message = await startServer({ dataDirectory: folder }).then(
    () => 'it started',
    (error: Error) => error.message,
  )
  expect(message).toContain(
    `The data folder was written by a newer Eider (catalog version ${later.number}, this program knows up to ${MIGRATIONS.length}): start that version, or restore a backup from before its upgrade`,
  )
  expect(await digests()).toEqual(before)
})
