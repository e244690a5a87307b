/** `eider mcp` while the server is not running yet, stops, and comes back. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../server/server-process.ts'

const PROGRAM = join(import.meta.dir, '../../../src/eider.ts')
const LOGIN = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'correct horse' }
const CLIENT = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'a', version: '1' },
}

interface Said {
  readonly id?: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly message: string; readonly data?: { readonly code: string } }
}

/** A program that has started `eider mcp`, with what it sends and receives. */
function bridgeTo(url: string) {
  const child = Bun.spawn([process.execPath, PROGRAM, 'mcp'], {
    env: { PATH: process.env.PATH, EIDER_URL: url, ...LOGIN },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const lines = linesOf(child.stdout)
  return {
    async ask(id: number, method: string, params: object = {}): Promise<Said> {
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
      await child.stdin.flush()
      const { value } = await lines.next()
      return JSON.parse(value ?? '{}')
    },
    async ended() {
      await child.stdin.end()
      return { status: await child.exited, rest: (await lines.next()).value }
    },
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let held = ''
  for await (const bytes of stream) {
    const parts = (held + decoder.decode(bytes, { stream: true })).split('\n')
    held = parts.pop() ?? ''
    yield* parts
  }
  return undefined
}

/** Returns an address on which no server listens. */
async function freePort(): Promise<string> {
  const listener = createServer()
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  await new Promise((resolve) => listener.close(resolve))
  return String(typeof address === 'object' ? address?.port : '')
}

test('a request fails while no server answers, and the next server answers later ones', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'eider-bridge-'))
  const EIDER_PORT = await freePort()
  const start = () => startServer({ ...LOGIN, EIDER_DATA_DIR: folder, EIDER_PORT })
  const bridge = bridgeTo(`http://127.0.0.1:${EIDER_PORT}`)
  expect(await bridge.ask(1, 'initialize', CLIENT)).toMatchObject({
    id: 1,
    error: { message: expect.stringContaining('No server answers'), data: { code: 'no_server' } },
  })

  const first = await start()
  expect((await bridge.ask(2, 'initialize', CLIENT)).result).toMatchObject({
    serverInfo: { name: 'eider' },
  })
  expect((await bridge.ask(3, 'tools/list')).result?.tools).toHaveLength(6)
  first.kill('SIGTERM')
  await first.exited

  // The program knows nothing of the restart and continues with its session.
  const second = await start()
  const listed = await bridge.ask(4, 'tools/call', { name: 'list_data', arguments: {} })
  expect(listed).toMatchObject({ id: 4, result: { structuredContent: { items: [] } } })
  expect(await bridge.ended()).toEqual({ status: 0, rest: undefined })
  second.kill('SIGTERM')
  await second.exited
  await rm(folder, { recursive: true })
}, 180_000)
