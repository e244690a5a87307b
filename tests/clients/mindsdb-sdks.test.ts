/** MindsDB's two SDKs against a real server: without a login, with one, and with a key. */
import { afterAll, describe, expect } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerProcess, startServer } from '../../scripts/server-process.ts'
import { clientResult, clientTest } from './client-programs.ts'

const LOGIN = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'correct horse' }

const BY_PYTHON = {
  status: true,
  projects: [['house', 'mindsdb'], 'house'],
  files: [['prices', 'shops'], [{ id: 'sencha', price: 9 }], [{ shop: 'One', city: 'Kyoto' }]],
  tables: ['files', [{ id: 1, size: 2.5 }], ['cups']],
  views: [['dear'], 'dear', [{ id: 'assam', price: 6 }]],
  'knowledge bases': [
    ['rooibos'],
    ['id', 'chunk_id', 'chunk_content', 'metadata', 'relevance', 'distance'],
    ['assam', 'cha', 'mate', 'rooibos', 'sencha', 'shops:1'],
    ['teas'],
    ['id', ['price'], ['content']],
  ],
  agents: [
    true,
    'start',
    'end',
    true,
    ['message', 'warnings'],
    ['sommelier'],
    { knowledge_bases: ['house.teas'], tables: ['files.prices', 'files.shops'] },
    'Be short',
  ],
  jobs: [['block', 'later'], 'SELECT 1', '1 hour', true, 0],
  tree: ['project', 'data', ['cups', 'dear', 'models', 'sommelier', 'teas']],
  databases: [['files', 'pg'], ['files']],
  models: [],
  versions: [],
  engines: [],
  handlers: true,
  'ml handlers': true,
  config: [{}, {}],
  cleaned: [['mindsdb']],
}

const BY_JAVASCRIPT = {
  projects: [['house', 'mindsdb'], 'project'],
  databases: [['files', 'house', 'information_schema', 'mindsdb', 'pg'], 'postgres', null],
  tables: [{ id: 1, large: '9007199254740993' }],
  views: [['dear'], [{ id: 1 }], 0],
  'knowledge bases': [{ id: 'rooibos', chunk_content: expect.stringContaining('Rooibos') }],
  agents: true,
  models: [[], null],
  engines: [],
  'an error': 'failed: Table with name nothing does not exist',
  cleaned: ['mindsdb'],
}

const ended: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const end of ended) await end()
})

const started: { open?: Promise<ServerProcess>; locked?: Promise<ServerProcess> } = {}
const open = () => (started.open ??= serverWith({}))
const locked = () => (started.locked ??= serverWith(LOGIN))

async function serverWith(environment: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'eider-sdks-'))
  const server = await startServer({ dataDirectory, environment })
  ended.push(async () => {
    await server.stop()
    rmSync(dataDirectory, { recursive: true })
  })
  return server
}

async function post(url: string, body: object, token?: string): Promise<Record<string, string>> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const headers = { 'content-type': 'application/json', ...authorization }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as Record<string, string>
}

describe('mindsdb_sdk for Python', () => {
  const tour = (server: ServerProcess, options: object, steps: Record<string, string> = {}) => {
    const connect = JSON.stringify(options)
    return clientResult('mindsdb_sdk_tour.py', {
      EIDER_URL: server.baseUrl,
      CONNECT: connect,
      ...steps,
    })
  }

  clientTest('without a login', async () => {
    expect(await tour(await open(), {})).toEqual(BY_PYTHON)
  })

  clientTest('with a login', async () => {
    const { EIDER_USERNAME: login, EIDER_PASSWORD: password } = LOGIN
    const { projects, databases, handlers } = BY_PYTHON
    const steps = { STEPS: 'projects,databases,handlers' }
    const seen = await tour(await locked(), { login, password }, steps)
    expect(seen).toEqual({ projects, databases, handlers })
  })

  clientTest('with a key as its api_key, which is held to its scopes', async () => {
    const server = await locked()
    const { EIDER_USERNAME: username, EIDER_PASSWORD: password } = LOGIN
    const { token } = await post(`${server.baseUrl}/api/login`, { username, password })
    const keys = `${server.baseUrl}/api/keys`
    const all = await post(keys, { name: 'sdk', scopes: ['admin'] }, token)
    expect(await tour(server, { api_key: all.key })).toEqual(BY_PYTHON)
    const reads = await post(keys, { name: 'reads', scopes: ['read'] }, token)
    await expect(tour(server, { api_key: reads.key })).rejects.toThrow('admin')
    await expect(tour(server, { api_key: `${reads.key}x` })).rejects.toThrow('401')
  })
})

describe('mindsdb-js-sdk', () => {
  clientTest('without a login', async () => {
    const environment = { EIDER_URL: (await open()).baseUrl }
    expect(await clientResult('mindsdb-js-sdk.mjs', environment)).toEqual(BY_JAVASCRIPT)
  })

  clientTest('with a login', async () => {
    // It does not log in at addresses that it considers to be this machine.
    const url = (await locked()).baseUrl.replace('127.0.0.1', '0.0.0.0')
    const environment = { EIDER_URL: url, ...LOGIN }
    expect(await clientResult('mindsdb-js-sdk.mjs', environment)).toEqual(BY_JAVASCRIPT)
  })
})
