import { expect, test } from 'bun:test'
import { COMMANDS, type Command, parseWords } from '../../src/cli/commands.ts'
import { clientOptionsOf, httpClient } from '../../src/cli/http-client.ts'

interface Seen {
  readonly method: string
  readonly path: string
  readonly authorization: string | null
  readonly body: string
}

/** A server that answers by path, and remembers what it was asked. */
function fakeServer(answers: Readonly<Record<string, () => Response>>) {
  const seen: Seen[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { pathname: path } = new URL(request.url)
      const authorization = request.headers.get('authorization')
      seen.push({ method: request.method, path, authorization, body: await request.text() })
      return answers[path]?.() ?? Response.json({ title: 'Not found' }, { status: 404 })
    },
  })
  return { seen, url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) }
}

const BACKUP = {
  name: 'b',
  size_bytes: 1024 ** 2,
  created_at: '2026-11-22 12:00:00.1',
  row_count: 3,
}

function run(command: Command | undefined, options: Parameters<typeof httpClient>[0]) {
  if (command === undefined) throw new Error('no such command')
  const client = httpClient(options)
  return command.run({ words: [], options: new Map(), client, say: () => {} })
}

test('backup sends the key as a bearer token', async () => {
  await using server = fakeServer({ '/api/backup': () => Response.json(BACKUP, { status: 201 }) })
  const { lines, json } = await run(COMMANDS.backup, { url: `${server.url}/`, apiKey: 'k1' })
  expect(lines).toEqual(['b  2026-11-22 12:00:00 UTC  1.0 MiB  3 rows'])
  expect(json).toEqual(BACKUP)
  expect(server.seen).toEqual([
    { method: 'POST', path: '/api/backup', authorization: 'Bearer k1', body: '' },
  ])
})

test('without a key it logs in with name and password', async () => {
  await using server = fakeServer({
    '/api/login': () => Response.json({ token: 't1' }),
    '/api/backups': () => Response.json([BACKUP]),
  })
  await run(COMMANDS.backups, { url: server.url, username: 'ann', password: 'p' })
  expect(server.seen.map(({ path, authorization, body }) => [path, authorization, body])).toEqual([
    ['/api/login', null, '{"username":"ann","password":"p"}'],
    ['/api/backups', 'Bearer t1', ''],
  ])
})

test("a refusal is told in the server's own words", async () => {
  const refusals = { title: 'Unauthorized', detail: 'Authorization is required' }
  await using server = fakeServer({ '/api/status': () => Response.json(refusals, { status: 401 }) })
  await expect(run(COMMANDS.status, { url: server.url })).rejects.toThrow(
    'Authorization is required. Set EIDER_API_KEY',
  )
})

test('a server that is not there, and one that is no Eider, are told apart', async () => {
  await using server = fakeServer({ '/api/status': () => new Response('<html>') })
  await expect(run(COMMANDS.status, { url: server.url })).rejects.toThrow('is no Eider')
  await server[Symbol.asyncDispose]()
  await expect(run(COMMANDS.status, { url: server.url })).rejects.toThrow('No server answers at')
})

test('a key is sent to no other address', async () => {
  await using other = fakeServer({ '/api/status': () => Response.json({}) })
  await using server = fakeServer({
    '/api/status': () => Response.redirect(`${other.url}/api/status`),
  })
  await expect(run(COMMANDS.status, { url: server.url, apiKey: 'k' })).rejects.toThrow()
  expect(other.seen).toEqual([])
})

test('the address is EIDER_URL, else the port of this machine', () => {
  expect(clientOptionsOf({}, '47334').url).toBe('http://127.0.0.1:47334')
  expect(clientOptionsOf({ EIDER_PORT: '99' }, '47334').url).toBe('http://127.0.0.1:99')
  expect(clientOptionsOf({ EIDER_URL: 'https://h' }, '47334').url).toBe('https://h')
  expect(() => clientOptionsOf({ EIDER_URL: 'h:1' }, '47334')).toThrow('EIDER_URL')
})

test('words and options are checked before anything runs', () => {
  const command: Command = {
    usage: 'copy <from> --to <folder>',
    summary: '',
    wordCount: 1,
    options: ['to'],
    run: async () => ({ lines: [], json: null }),
  }
  const parse = (...args: readonly string[]) => parseWords('copy', command, args)
  expect(parse('a', '--to', 'b')).toEqual({ words: ['a'], options: new Map([['to', 'b']]) })
  expect(parse('a', '--to=b=c').options.get('to')).toBe('b=c')
  expect(() => parse('a', '--to')).toThrow('--to needs a value. Usage: eider copy')
  expect(() => parse('a', '--x')).toThrow('there is no option --x')
  expect(() => parse()).toThrow('expected 1 word after it, found 0')
})

test('the loss of what is in no folder is not accepted', async () => {
  const command = COMMANDS['accept-loss']
  const words = ['/nowhere']
  const client = httpClient({ url: 'http://127.0.0.1:1' })
  const run = async () => command?.run({ words, options: new Map(), client, say: () => {} })
  await expect(run()).rejects.toThrow('/nowhere has no eider-data.duckdb')
})
