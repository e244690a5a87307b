/** `eider upgrade --check` as a program, with a server that plays the releases' host. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { version } from '../../package.json'

const PROGRAM = join(import.meta.dir, '../../src/eider.ts')
const FILE = `eider-${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}${
  process.platform === 'win32' ? '.exe' : ''
}`
const NEWER = {
  version: '99.0.0',
  date: '2030-01-02',
  upgrade: 'Make a backup first.',
  files: { [FILE]: { url: 'https://example.org/file', sha256: 'ab12' } },
}

let host: Bun.Server<undefined>
let answer: () => Response
let asked: string[]
beforeAll(() => {
  host = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      asked.push(new URL(request.url).pathname)
      return answer()
    },
  })
})
beforeEach(() => {
  asked = []
})
afterAll(() => host.stop(true))

async function check(url: string | undefined, ...args: readonly string[]) {
  const child = Bun.spawn([process.execPath, PROGRAM, 'upgrade', ...args], {
    env: { PATH: process.env.PATH, ...(url === undefined ? {} : { EIDER_RELEASES_URL: url }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, out, err }
}

test('shows a newer release with its file, checksum and what to know before', async () => {
  answer = () => Response.json(NEWER)
  const { code, out, err } = await check(`${host.url.origin}/releases/`, '--check')
  expect([code, err]).toEqual([0, ''])
  expect(out).toBe(`Eider 99.0.0 (2030-01-02) is out; this is ${version}
  https://example.org/file
  SHA-256 ab12
Make a backup first.
`)
  expect(asked).toEqual(['/releases/latest/download/release.json'])
  const json = await check(host.url.origin, '--check', '--json')
  const file = NEWER.files[FILE]
  const found = { current: version, newest: '99.0.0', is_newer: true, file }
  expect(JSON.parse(json.out)).toEqual(found)
})

test('says so where this is the newest release, or a later one', async () => {
  for (const newest of [version, '0.0.9']) {
    answer = () => Response.json({ ...NEWER, version: newest, files: {} })
    const { code, out } = await check(host.url.origin, '--check')
    expect([code, out]).toEqual([0, `Eider ${version} is the newest release\n`])
  }
})

test('fails with the next step where nothing useful answers', async () => {
  const answers: readonly (readonly [() => Response, string])[] = [
    [() => new Response('gone', { status: 404 }), 'answered 404'],
    [() => new Response('<html>Log in</html>'), 'not a release of Eider'],
    [() => Response.json(null), 'not a release of Eider'],
    [() => Response.json({ ...NEWER, version: 'x' }), 'not a release of Eider'],
    [() => Response.json({ ...NEWER, files: { [FILE]: { url: 1 } } }), 'not a release of Eider'],
    [() => new Response(`{"version":"${'9'.repeat(300_000)}"}`), 'not a release of Eider'],
  ]
  for (const [one, words] of answers) {
    answer = one
    const { code, out, err } = await check(host.url.origin, '--check')
    expect([code, out, err]).toEqual([1, '', expect.stringContaining(words)])
  }
  const offline = await check('http://ann:secret@127.0.0.1:9/r', '--check')
  expect([offline.code, offline.err]).toEqual([1, expect.stringContaining('check the connection')])
  expect(offline.err).not.toContain('secret')
  const nowhere = await check(undefined, '--check')
  expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringContaining('EIDER_RELEASES_URL')])
  const bare = await check(host.url.origin)
  expect([bare.code, bare.err]).toEqual([2, expect.stringContaining('--check is missing')])
})

test('control characters of the host are not sent to the terminal', async () => {
  answer = () => Response.json({ ...NEWER, upgrade: 'a\u001b[31mred' })
  const { out } = await check(host.url.origin, '--check')
  expect(out).not.toContain('\u001b')
})
