import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const AGENTS = '/api/projects/mindsdb/agents'
const KEY = 'a-key-of-the-tests-77'
const SHOWN_URL = 'https://8.8.8.8/v1/******/mcp?api_key=******'
const SERVER = {
  name: 'docs',
  url: `https://8.8.8.8/v1/abcdefghijkl0123456789mnop/mcp?api_key=${KEY}`,
  headers: { Authorization: `Bearer ${KEY}` },
  tools: ['search_*'],
}
const SHOWN = { ...SERVER, url: SHOWN_URL, headers: { Authorization: '******' } }

let app: TestApp
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-mcp-'))
  app = await createTestApp({
    directory: folder,
    environment: { EIDER_HOST: '0.0.0.0', EIDER_ALLOW_OPEN: '1' },
  })
})

afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

async function stored(name: string) {
  const agent = app.store.catalog.snapshot().agents.find((one) => one.name === name)
  return agent?.data?.mcp?.[0]
}

/** A statement without rows. */
async function run(query: string) {
  const { body } = await app.send('POST', '/api/sql/query', { query })
  expect(body).toMatchObject({ type: 'ok' })
}

test('keys are never shown, and are kept when the masked form is sent back', async () => {
  const created = await app.send('POST', AGENTS, {
    agent: { name: 'one', data: { mcp: [SERVER] } },
  })
  expect(created).toMatchObject({ status: 201, body: { data: { mcp: [SHOWN] } } })
  const read = await app.send('GET', `${AGENTS}/one`)
  const { data } = read.body as { data: object }
  const sent = await app.send('PUT', `${AGENTS}/one`, { agent: { data } })
  expect(sent).toMatchObject({ status: 200, body: { data: { mcp: [SHOWN] } } })
  expect(await stored('one')).toEqual(SERVER)
  const rows = await app.rows("SELECT * FROM information_schema.agents WHERE name = 'one'")
  const all = JSON.stringify([created.body, read.body, sent.body, rows])
  expect(all).toContain('search_*')
  expect(all).not.toContain(KEY)
  expect(all).not.toContain('abcdefghijkl0123456789mnop')
})

test('a key is sent only to the address it was given for', async () => {
  await app.send('POST', AGENTS, { agent: { name: 'two', data: { mcp: [SERVER] } } })
  const elsewhere = { ...SHOWN, url: 'https://9.9.9.9/mcp' }
  const moved = await app.send('PUT', `${AGENTS}/two`, { agent: { data: { mcp: [elsewhere] } } })
  expect(moved).toMatchObject({ status: 400 })
  expect(moved.text).toContain('must be sent again')
  const masked = { ...SHOWN, url: SHOWN_URL.replace('8.8.8.8', '9.9.9.9') }
  const hidden = await app.send('PUT', `${AGENTS}/two`, { agent: { data: { mcp: [masked] } } })
  expect(hidden).toMatchObject({ status: 400 })
  expect(await stored('two')).toEqual(SERVER)
})

test('statements take and show servers as well', async () => {
  await run(`CREATE AGENT three USING data = ${JSON.stringify({ mcp: [SERVER] })}`)
  expect(await stored('three')).toEqual(SERVER)
  const more = { ...SHOWN, tools: ['*'] }
  await run(`ALTER AGENT three USING data = ${JSON.stringify({ mcp: [more] })}`)
  expect(await stored('three')).toEqual({ ...SERVER, tools: ['*'] })
  expect(JSON.stringify(await app.rows('SHOW AGENTS'))).not.toContain(KEY)
})

test('the data folder contains no key in plain text', async () => {
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of names) {
    if (!entry.isFile()) continue
    const bytes = await readFile(join(entry.parentPath, entry.name))
    expect({ file: entry.name, holds: bytes.includes(KEY) }).toEqual({
      file: entry.name,
      holds: false,
    })
  }
})

test.each([
  ['a private address', { url: 'http://10.0.0.7/mcp' }, 'EIDER_NETWORK_ALLOW'],
  ['a file', { url: 'file:///etc/passwd' }, 'http or https'],
  ['a password in the address', { url: 'https://u:p4ssw0rd@8.8.8.8/mcp' }, 'as a header'],
  ['a header of the protocol', { headers: { Host: 'x' } }, '"headers"'],
  ['a header of two lines', { headers: { 'X-A': 'a\r\nHost: b' } }, '"headers"'],
  ['a number for a header', { headers: { 'X-A': 5 } }, '"headers"'],
  ['a name with two underscores', { name: 'a__b' }, '"name"'],
  ['an unknown field', { command: 'sh' }, 'Unknown field'],
  ['a text for tools', { tools: 'all' }, '"tools"'],
])('%s is refused', async (_name, change, told) => {
  const mcp = [{ ...SERVER, ...change }]
  const answer = await app.send('POST', AGENTS, { agent: { name: 'bad', data: { mcp } } })
  expect(answer.status).toBeGreaterThanOrEqual(400)
  expect(answer.status).toBeLessThan(500)
  expect(answer.text).toContain(told.replaceAll('"', '\\"'))
  expect(answer.text).not.toContain('p4ssw0rd')
})

test('the built-in agent says that it calls none', async () => {
  const mcp = [{ ...SERVER, url: 'https://8.8.8.8/mcp' }]
  const created = await app.send('POST', AGENTS, { agent: { name: 'plain', data: { mcp } } })
  expect(created.text).toContain('The built-in model cannot call tools of MCP servers')
  const messages = [{ role: 'user', content: 'Well?' }]
  const answer = await app.send('POST', `${AGENTS}/plain/completions`, { messages })
  expect(answer.text).toContain('The built-in model cannot call tools of MCP servers')
})
