import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import {
  addressPolicy,
  type Guard,
  internet,
  pinnedFetch,
} from '../../src/core/runtime/address-policy.ts'

const never = new AbortController().signal
const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close()
})

/** Answers each request with the number of its connection. */
async function listening(
  make: (answer: (socket: Socket) => void) => Server,
): Promise<{ readonly port: number; readonly hosts: string[] }> {
  const hosts: string[] = []
  let connections = 0
  const server = make((socket) => {
    connections += 1
    const text = `connection ${connections}`
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      hosts.push(/^host: ([^:\r]*)/im.exec(String(bytes))?.[1] ?? '')
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return { port: typeof address === 'object' && address !== null ? address.port : 0, hosts }
}

/** @param meaning the address of every name, which may change */
function guardOf(meaning: { address: string }, tls: object = {}): Guard {
  return {
    policy: addressPolicy({ setting: 'EIDER_NETWORK_ALLOW', entries: ['127.0.0.1'] }),
    network: {
      resolve: async () => [meaning.address],
      fetch: (url, init) => {
        return internet.fetch(url, {
          ...init,
          ...(init.tls === undefined ? {} : { tls: { ...init.tls, ...tls } }),
        })
      },
    },
  }
}

const asked = async (url: string, guard: Guard) => {
  return (await pinnedFetch(new URL(url), {}, guard, never)).text()
}

test('a connection to a checked address is used again, and the name is checked each time', async () => {
  const { port, hosts } = await listening((answer) => createServer(answer))
  const meaning = { address: '127.0.0.1' }
  const guard = guardOf(meaning)
  for (const _ of [1, 2, 3]) {
    expect(await asked(`http://one.test:${port}/`, guard)).toBe('connection 1')
  }
  meaning.address = '10.0.0.1'
  await expect(asked(`http://one.test:${port}/`, guard)).rejects.toMatchObject({
    code: 'address_refused',
  })
  expect(hosts).toEqual(['one.test', 'one.test', 'one.test'])
})

test('an encrypted connection serves the name alone whose certificate was checked', async () => {
  if (Bun.which('openssl') === null) {
    process.stderr.write('skipped: OpenSSL is not installed (Debian: openssl)\n')
    return
  }
  const { key, cert } = certificateOf('one.test')
  const { port, hosts } = await listening((answer) => createTlsServer({ key, cert }, answer))
  const guard = guardOf({ address: '127.0.0.1' }, { ca: cert })
  expect(await asked(`https://one.test:${port}/`, guard)).toBe('connection 1')
  expect(await asked(`https://one.test:${port}/`, guard)).toBe('connection 1')
  await expect(asked(`https://two.test:${port}/`, guard)).rejects.toMatchObject({
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  })
  expect(await asked(`https://one.test:${port}/`, guard)).toBe('connection 1')
  expect(hosts).toEqual(['one.test', 'one.test', 'one.test'])
})

function certificateOf(name: string): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'eider-tls-'))
  try {
    const made = Bun.spawnSync(
      [
        'openssl',
        ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'.split(' '),
        ...`-keyout key -out cert -days 2 -subj /CN=${name}`.split(' '),
        '-addext',
        `subjectAltName=DNS:${name}`,
      ],
      { cwd: folder },
    )
    if (made.exitCode !== 0) throw new Error(String(made.stderr))
    return {
      key: readFileSync(join(folder, 'key'), 'utf8'),
      cert: readFileSync(join(folder, 'cert'), 'utf8'),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
