/**
 * Servers that violate their protocol. The client must get an error in time, and Eider must stay
 * small and respond to others.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MYSQL_KINDS } from '../../support/misbehaving-mysql.ts'
import { POSTGRES_KINDS } from '../../support/misbehaving-postgres.ts'
import { type MisbehavingServer, startMisbehaving } from '../../support/misbehaving-server.ts'
import { sampleOf } from '../../support/sample.ts'
import { type ServerProcess, startServer } from '../server/server-process.ts'

const PASSWORD = 'pass-w0rd'
const MEMORY_MB = 1024
const HEADROOM_MB = 200

const LATE = /took longer than \d+ ms/
const SILENT = /the server does not answer/
const LOST = /the server closed the connection/
const TOO_LONG = /the server sends a message of more than (16|1) MB/
const UNASKED = /more than 128 MB that was not asked for/
const BROKEN = /the server breaks its protocol/
const NUMBERS = /where it promised a number|CSV Error/
const COLUMNS = /the result has more than 4096 columns/

type Expected = Readonly<Record<string, RegExp>>

const OF_POSTGRES: Expected = {
  honest: /"data":/,
  'silence-after-accept': SILENT,
  'garbage-after-accept': /does not answer like this database; check the port/,
  'reset-after-accept': LOST,
  'silence-after-start-up': SILENT,
  'reset-after-start-up': LOST,
  'clear-text-password': /asks for the password in clear text; set sslmode/,
  'md5-loop': /128 MB|does not answer/,
  'sasl-loop': SILENT,
  'sasl-many-rounds': /iteration count 2147483647 exceeds/,
  'unknown-auth': /message type 99/,
  'endless-notices-at-login': UNASKED,
  'endless-parameter-status': UNASKED,
  'error-of-50-mb': TOO_LONG,
  'error-without-end': BROKEN,
  'reset-after-login': LOST,
  'silence-after-login': LATE,
  'endless-notices': UNASKED,
  'ready-flood': /ended the statement before its end|gives no rows/,
  'complete-flood': /128 MB|without an end/,
  'copy-in-response': BROKEN,
  'copy-out-response': /before its end|took longer/,
  'unknown-messages': /invalid response/,
  'columns-65535': BROKEN,
  'columns-32767': COLUMNS,
  'endless-descriptions': UNASKED,
  'huge-column-name': /name has more than 1000 characters/,
  'column-name-of-40-mb': TOO_LONG,
  'one-endless-value': /more than 16 MB|not asked for/,
  'endless-copy-value': /more than 16 MB|not asked for/,
  'endless-rows-of-1-mb': LATE,
  'endless-small-rows': LATE,
  'length-2-gb': TOO_LONG,
  'length-negative': TOO_LONG,
  'length-zero': BROKEN,
  'value-longer-than-its-row': BROKEN,
  'value-of-negative-length': BROKEN,
  'row-without-columns': BROKEN,
  'more-columns-than-described': BROKEN,
  'fewer-columns-than-described': BROKEN,
  'silence-in-mid-row': /took longer|not asked for/,
  'one-byte-a-second': /took longer|not asked for/,
  'reset-in-mid-row': /closed the connection|not asked for/,
  'garbage-in-mid-row': /protocol|more than|invalid response/,
  'wrong-order': /before its end|not asked for/,
  'invalid-utf-8': /��|CSV Error/,
  'numbers-that-are-none': NUMBERS,
  'error-after-rows': /it broke|not asked for/,
}

const OF_MYSQL: Expected = {
  honest: /"data":/,
  'silence-after-accept': SILENT,
  'garbage-after-accept': /protocol|more than|Unexpected packet|out of range/,
  'reset-after-accept': LOST,
  'endless-greeting': TOO_LONG,
  'silence-after-greeting': SILENT,
  'reset-after-greeting': LOST,
  'clear-text-password': /login method mysql_clear_password/,
  'clear-text-greeting': /"data":/,
  'sha256-greeting': /"data":/,
  'unknown-auth': /login method dialog/,
  'prototype-auth': /login method __proto__/,
  'auth-switch-loop': SILENT,
  'auth-more-data-flood': /protocol|no auth plugin|Unexpected/,
  'silence-after-login': LATE,
  'reset-after-login': LOST,
  'ok-flood': /protocol|Unexpected packet|closed/,
  'eof-flood': /protocol|Unexpected packet|out of range/,
  'ok-of-20-mb': TOO_LONG,
  'ok-with-endless-session-state': /Should not reach here|out of range/,
  'error-of-50-mb': TOO_LONG,
  'error-of-10-mb': /more than 64 KB/,
  'local-infile': LATE,
  'wrong-sequence': BROKEN,
  'columns-65535': COLUMNS,
  'columns-65535-described': COLUMNS,
  'columns-without-end': /128 MB|took longer/,
  'prepared-columns-65535': LATE,
  'huge-column-name': /name has more than 1000 characters/,
  'one-endless-value': TOO_LONG,
  'endless-rows-of-1-mb': LATE,
  'endless-small-rows': LATE,
  'length-of-16-mb-and-silence': TOO_LONG,
  'length-zero': BROKEN,
  'value-longer-than-its-row': BROKEN,
  'more-columns-than-described': BROKEN,
  'fewer-columns-than-described': BROKEN,
  'silence-in-mid-row': LATE,
  'one-byte-a-second': LATE,
  'reset-in-mid-row': LOST,
  'garbage-in-mid-row': /protocol|more than/,
  'invalid-utf-8': /��|CSV Error/,
  'numbers-that-are-none': NUMBERS,
  'large-numbers-that-are-none': NUMBERS,
  'error-after-rows': /it broke/,
}

const ENGINES = [
  { engine: 'postgres', kinds: POSTGRES_KINDS, expected: OF_POSTGRES },
  { engine: 'mysql', kinds: MYSQL_KINDS, expected: OF_MYSQL },
] as const

/** These wait until a deadline, so all run at the same time. */
const WAITING = /^(silence|md5|sasl-loop|auth-switch|local-infile|prepared|copy-out|one-byte)/

/** These servers never stop sending, and must lose their connection at the end of the statement. */
const ENDLESS = /^endless-(small-)?rows|^columns-without-end/

describe.each(ENGINES)('$engine', ({ engine, kinds, expected }) => {
  let fake: MisbehavingServer
  let server: ServerProcess
  let folder: string
  let pinging: Promise<void>
  let isOver = false
  const pingMs: number[] = []
  const peaks: { readonly kinds: string; readonly mb: number }[] = []

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'eider-misbehaving-'))
    const entry = join(import.meta.dir, `../../support/misbehaving-${engine}.ts`)
    fake = await startMisbehaving(entry, kinds)
    server = await startServer({
      EIDER_DATA_DIR: folder,
      EIDER_MEMORY_LIMIT: `${MEMORY_MB}MB`,
      EIDER_QUERY_MS: '3000',
    })
    pinging = (async () => {
      while (!isOver) {
        await ping()
        await Bun.sleep(10)
      }
    })()
  }, 120_000)

  afterAll(async () => {
    isOver = true
    await pinging
    pingMs.sort((a, b) => a - b)
    const p99 = pingMs[Math.floor(pingMs.length * 0.99)]?.toFixed(0)
    const { kinds: worst, mb } = peaks.sort((a, b) => b.mb - a.mb)[0] ?? {}
    process.stderr.write(
      `${engine}: ${pingMs.length} pings, p99 ${p99} ms; ${mb} MB at most, by ${worst}\n`,
    )
    server.kill('SIGKILL')
    await server.exited
    await fake.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function ping(): Promise<void> {
    const startedAt = performance.now()
    const answer = await server.send('GET', '/api/util/ping')
    await answer.text()
    pingMs.push(performance.now() - startedAt)
  }

  /**
   * The peak with only these kinds, so that the memory of earlier ones neither adds to it nor hides
   * it.
   */
  async function peakOf(kinds: string, work: () => Promise<unknown>): Promise<void> {
    writeFileSync(`/proc/${server.pid}/clear_refs`, '5')
    await work()
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8')
    const mb = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
    peaks.push({ kinds, mb })
    const limit = MEMORY_MB + HEADROOM_MB
    if (!(mb < limit)) throw new Error(`${kinds}: ${mb} MB at most; allowed are ${limit}`)
  }

  /** Returns the last part of the answer, which may be endless. */
  async function asked(query: string): Promise<string> {
    const { body } = await server.send('POST', '/api/sql/query', { query })
    let end = ''
    const decoder = new TextDecoder()
    for await (const bytes of body ?? []) end = (end + decoder.decode(bytes)).slice(-3000)
    return end
  }

  async function create(kind: string, more: Record<string, unknown> = {}): Promise<string> {
    const name = `d_${kind.replaceAll('-', '_')}_${Object.keys(more).length}`
    const login = { host: '127.0.0.1', port: fake.portOf(kind), user: 'u', password: PASSWORD }
    const parameters = JSON.stringify({ ...login, database: 'd', ...more })
    await asked(`CREATE DATABASE ${name} ENGINE = '${engine}', PARAMETERS = ${parameters}`)
    return name
  }

  async function check(kind: string): Promise<void> {
    const name = await create(kind)
    const read = () => asked(`SELECT * FROM ${name} (SELECT v FROM t)`)
    const staged = () => asked(`SELECT max(v) FROM ${name} (SELECT v FROM t) AS x, range(2)`)
    const answers = WAITING.test(kind)
      ? await Promise.all([read(), staged()])
      : [await read(), await staged()]
    for (const answer of answers) expect(answer).toMatch(expected[kind] ?? /^$/)
    const answered = pingMs.length
    await ping()
    expect(pingMs.length).toBeGreaterThan(answered)
    const received = await fake.receivedBy(kind)
    expect([kind, received.includes(PASSWORD)]).toEqual([kind, false])
    if (ENDLESS.test(kind)) expect(await lastOpen(kind)).toBe(0)
  }

  /** Returns how many connections of ended statements are still open after a while. */
  async function lastOpen(kind: string): Promise<number> {
    for (let tries = 0; tries < 50 && (await fake.openOf(kind)) > 0; tries += 1)
      await Bun.sleep(100)
    return fake.openOf(kind)
  }

  test('each misbehaviour has an answer here', () => {
    expect(Object.keys(expected)).toEqual([...kinds])
  })

  test('those that make it wait', async () => {
    const waiting = kinds.filter((kind) => WAITING.test(kind))
    await peakOf(waiting.join(', '), () => Promise.all(waiting.map(check)))
  }, 120_000)

  const others = kinds.filter((kind) => !WAITING.test(kind))
  test.each(sampleOf(others, 4))('%s', (kind) => peakOf(kind, () => check(kind)), 60_000)

  test.if(engine === 'postgres')(
    'a password is sent in clear text where that is asked for',
    async () => {
      const name = await create('clear-text-password', { sslmode: 'disable' })
      expect(await asked(`SELECT * FROM ${name} (SELECT v FROM t)`)).toContain('fine')
      expect((await fake.receivedBy('clear-text-password')).includes(PASSWORD)).toBe(true)
    },
  )
})
