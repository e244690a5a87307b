import { expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer, whileRunning } from '../../../scripts/server-process.ts'

const ROOT = join(import.meta.dir, '../../..')

test('the demo makes its data alone, and a server serves them', async () => {
  const home = await mkdtemp(join(tmpdir(), 'eider-demo-'))
  const dataDirectory = join(home, 'demo-data')
  const script = join(ROOT, 'scripts/demo.ts')
  const made = Bun.spawn([process.execPath, script, '--data-only', dataDirectory, '2'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  expect(await made.exited).toBe(0)
  const server = await startServer({ dataDirectory })
  const answer = await whileRunning(server, async () => {
    const response = await fetch(`${server.baseUrl}/api/sql/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'SELECT count(DISTINCT id) FROM readmes' }),
    })
    return response.json()
  })
  expect(answer).toMatchObject({ data: [[2]] })
  await rm(home, { recursive: true })
}, 180_000)

test('a stop while the demo is being made leaves no server and no data', async () => {
  const home = await mkdtemp(join(tmpdir(), 'eider-demo-'))
  const starting = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), '--demo'], {
    cwd: home,
    env: { ...process.env, EIDER_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  for await (const text of starting.stdout.pipeThrough(new TextDecoderStream())) {
    output += text
    if (output.includes('Inserting')) break
  }
  starting.kill('SIGTERM')
  expect(await starting.exited).toBe(130)
  expect(await readdir(home)).toEqual([])
  await rm(home, { recursive: true })
}, 180_000)
