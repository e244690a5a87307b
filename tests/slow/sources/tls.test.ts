/** Connections with TLS, using a certificate of a test authority for the name localhost. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DataSourceEngine } from '../../../src/core/domain/flow/source-parameters.ts'
import { testMariadb, testPostgres } from '../../support/database-servers.ts'
import { dataSource, LIMITS, readRows, testSources } from '../../support/test-sources.ts'

const certificates = madeCertificates()
const { ca = '', ...files } = certificates ?? {}
const postgres = certificates && (await testPostgres({ settings: ['ssl=on'], files }))
/** A server that asks for the password itself, for example to pass it on to LDAP. */
const clearText =
  certificates &&
  (await testPostgres({
    settings: ['ssl=on'],
    files: { ...files, 'pg_hba.conf': 'host all all all password\n' },
  }))
const settings = ['ssl-cert=$DATA/server.crt', 'ssl-key=$DATA/server.key']
const mariadb = certificates && (await testMariadb({ settings, files }))
const { sources, close } = testSources()

afterAll(async () => {
  await close()
  await postgres?.stop()
  await clearText?.stop()
  await mariadb?.stop()
})

/** Returns null without OpenSSL. */
function madeCertificates(): Readonly<Record<string, string>> | null {
  if (Bun.which('openssl') === null) {
    process.stderr.write('skipped: OpenSSL is not installed (Debian: openssl)\n')
    return null
  }
  const folder = mkdtempSync(join(tmpdir(), 'eider-tls-'))
  const openssl = (command: string) => {
    const { exitCode, stderr } = Bun.spawnSync(['openssl', ...command.split(' ')], { cwd: folder })
    if (exitCode !== 0) throw new Error(String(stderr))
  }
  try {
    writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost\n')
    openssl(
      'req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=authority',
    )
    openssl('req -newkey rsa:2048 -nodes -keyout server.key -out request -subj /CN=localhost')
    openssl(
      'x509 -req -in request -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 -extfile names',
    )
    const text = (name: string) => readFileSync(join(folder, name), 'utf8')
    return {
      ca: text('ca.crt'),
      'server.crt': text('server.crt'),
      'server.key': text('server.key'),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const IS_ENCRYPTED: Readonly<Record<string, string>> = {
  postgres: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
  mysql:
    "SELECT VARIABLE_VALUE <> '' FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_cipher'",
}

/**
 * This is about the connection to stored knowledge bases, which is not the connection for
 * statements.
 */
async function isStorageEncrypted(change: Readonly<Record<string, unknown>>) {
  const source = dataSource('postgres', { ...postgres?.parameters, ...change })
  const failure = (error: unknown) => error
  const begin = { mode: 'write', settings: {}, failure } as const
  const { signal } = new AbortController()
  const rows = await sources.transaction(source, begin, signal, (run) => {
    return run(IS_ENCRYPTED.postgres ?? '')
  })
  return rows[0]?.[0] === 't'
}

async function isEncrypted(engine: DataSourceEngine, change: Readonly<Record<string, unknown>>) {
  const server = engine === 'postgres' ? postgres : mariadb
  const source = dataSource(engine, { ...server?.parameters, ...change })
  const sql = IS_ENCRYPTED[engine] ?? ''
  const signal = new AbortController().signal
  const { rows } = await readRows(sources, [source, { sql, values: [] }], LIMITS, signal)
  return Boolean(rows[0]?.[0])
}

describe.skipIf(postgres === null)('TLS to PostgreSQL', () => {
  test.each([
    [{}, true],
    [{ sslmode: 'disable' }, false],
    [{ sslmode: 'no-verify' }, true],
    [{ host: 'localhost', sslmode: 'verify-full', sslrootcert: ca }, true],
    [{ sslmode: 'verify-ca', sslrootcert: ca }, true],
    [{ host: 'localhost', sslrootcert: ca }, true],
    // The first is for another host.
    [{ host: '127.0.0.1,localhost', sslrootcert: ca }, true],
  ])('%j', async (change, expected) => {
    expect(await isEncrypted('postgres', change)).toBe(expected)
    expect(await isStorageEncrypted(change)).toBe(expected)
  })

  test.each([
    [{ sslmode: 'require' }, 'authority that is not known'],
    [{ sslmode: 'verify-full', sslrootcert: ca }, 'for another host'],
    [{ sslrootcert: ca }, 'for another host'],
  ])('refuses %#', async (change, message) => {
    await expect(isEncrypted('postgres', change)).rejects.toThrow(message)
    await expect(isStorageEncrypted(change)).rejects.toThrow(message)
  })
})

describe.skipIf(clearText === null)('a password in clear text', () => {
  const checked = (change: Readonly<Record<string, unknown>>) => {
    const source = dataSource('postgres', { ...clearText?.parameters, ...change })
    return sources.check(source, new AbortController().signal)
  }

  test.each([
    { sslmode: 'disable' },
    { ssl: false },
    { host: 'localhost', sslmode: 'verify-full', sslrootcert: ca },
    { sslmode: 'verify-ca', sslrootcert: ca },
  ])('is sent with %j', (change) => checked(change))

  test.each([{}, { sslmode: 'prefer' }, { sslmode: 'allow' }, { sslmode: 'no-verify' }])(
    'is not sent with %j, although that encrypts',
    (change) => expect(checked(change)).rejects.toThrow('asks for the password in clear text'),
  )
})

describe.skipIf(mariadb === null)('TLS to MariaDB', () => {
  test.each([
    [{}, false],
    [{ ssl: true, ssl_verify: false }, true],
    [{ host: 'localhost', ssl_ca: ca }, true],
  ])('%j', async (change, expected) => {
    expect(await isEncrypted('mysql', change)).toBe(expected)
  })

  test.each([
    [{ ssl: true }, 'authority that is not known'],
    [{ ssl_ca: ca }, 'for another host'],
  ])('refuses %#', async (change, message) => {
    expect(isEncrypted('mysql', change)).rejects.toThrow(message)
  })
})
