/** The protocol with clients whose messages are wrong, too many, too slow or missing. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CopyIn } from '../../../src/api/postgres/copy-in.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'
import {
  failureOf,
  int16,
  int32,
  message,
  RawClient,
  type Served,
  START,
  serve,
  startPacket,
  text,
  withClient,
} from './postgres-fixture.ts'

const PROTOCOL_3_0 = 196_608
const PROTOCOL_3_2 = 196_610

let open: Served
beforeAll(async () => {
  open = await serve()
})
afterAll(() => open.stop())

const SYNC = message('S')
const query = (sql: string) => message('Q', text(sql))
const kindsOf = (received: readonly { readonly kind: string }[]) => {
  return received.map(({ kind }) => kind).join('')
}

/** Checks that the server still responds to other clients. */
async function expectUnharmed(): Promise<void> {
  const { rows } = await withClient(open, (client) => client.query('SELECT 1 AS n'))
  expect(rows).toEqual([{ n: 1 }])
}

test('messages split over many packets, and many in one packet, are the same messages', async () => {
  const client = await RawClient.open(open.port)
  const bytes = Buffer.concat([START, query('SELECT 1'), query('SELECT 2'), query('SELECT 3')])
  for (let at = 0; at < bytes.length; at += 7) {
    client.send(bytes.subarray(at, at + 7))
    await Bun.sleep(1)
  }
  await client.until('Z')
  for (const number of ['1', '2', '3']) {
    const answer = await client.until('Z')
    expect(kindsOf(answer)).toBe('TDCZ')
    expect(answer[1]?.body.subarray(-1).toString()).toBe(number)
  }
  client.send(...Array.from({ length: 50 }, (_, index) => query(`SELECT ${index}`)))
  for (let index = 0; index < 50; index += 1) {
    expect(kindsOf(await client.until('Z'))).toBe('TDCZ')
  }
  client.close()
})

test('a statement ends with its tag', async () => {
  const client = await RawClient.open(open.port)
  client.send(START)
  await client.until('Z')
  for (const [sql, tag] of [
    ['/* a */ CREATE TABLE tagged AS SELECT 1 AS a', 'CREATE TABLE'],
    ['/* a */ INSERT INTO tagged VALUES (2), (3)', 'INSERT 0 2'],
    ['CREATE OR REPLACE VIEW shown AS SELECT a FROM tagged', 'CREATE VIEW'],
    ['DROP VIEW shown', 'DROP VIEW'],
    ['ALTER TABLE tagged ADD COLUMN b INTEGER', 'ALTER TABLE'],
    ['-- a\nDELETE FROM tagged WHERE a = 1', 'DELETE 1'],
    ['TRUNCATE tagged', 'TRUNCATE TABLE'],
    ['USE mindsdb', 'USE'],
    ['DISCARD TEMP', 'DISCARD TEMP'],
    ['DROP TABLE tagged', 'DROP TABLE'],
  ] as const) {
    client.send(query(sql))
    const answer = await client.until('Z')
    expect([sql, kindsOf(answer), answer[0]?.body.toString()]).toEqual([sql, 'CZ', `${tag}\0`])
  }
  client.close()
})

test('a prepared statement that returns changed rows is described', async () => {
  const client = await RawClient.started(open.port)
  client.send(query('CREATE TABLE made (id INTEGER, "a b" VARCHAR)'))
  await client.until('Z')
  for (const [sql, columns] of [
    ['INSERT INTO made VALUES ($1, $2) RETURNING id, "a b" AS c', ['id', 'c']],
    [
      'INSERT INTO mindsdb.made AS m (id) SELECT $1 ON CONFLICT DO NOTHING RETURNING m.*',
      ['id', 'a b'],
    ],
    ['UPDATE made AS m SET id = $1 FROM (SELECT 1 AS x) s WHERE m.id = s.x RETURNING m.id', ['id']],
    ['DELETE FROM made WHERE id = $1 RETURNING *', ['id', 'a b']],
  ] as const) {
    const parsed = message('P', text('s'), text(sql), int16(0))
    client.send(
      parsed,
      message('D', Buffer.from('S'), text('s')),
      message('C', Buffer.from('S'), text('s')),
      SYNC,
    )
    const answer = await client.until('Z')
    const { body } = answer.find(({ kind }) => kind === 'T') ?? { body: Buffer.from('') }
    for (const column of columns) expect([sql, body.includes(`${column}\0`)]).toEqual([sql, true])
  }
  client.close()
})

test('a cursor WITH HOLD stays open outside a transaction', async () => {
  const client = await RawClient.started(open.port)
  for (const [hold, kinds] of [
    ['WITH HOLD', 'TDDCZ'],
    ['', 'EZ'],
  ] as const) {
    const declared = `DECLARE c CURSOR ${hold} FOR SELECT i FROM range(2) t(i)`
    client.send(message('P', text(''), text(declared), int16(0)))
    client.send(message('B', text(''), text(''), int16(0), int16(0), int16(0)))
    client.send(message('E', text(''), int32(0)), SYNC)
    await client.until('Z')
    client.send(query('FETCH ALL FROM c'))
    expect(kindsOf(await client.until('Z'))).toBe(kinds)
    client.send(query('CLOSE ALL'))
    await client.until('Z')
  }
  client.close()
})

describe('the version of the protocol', () => {
  /** Returns the answer to a startup packet, without the settings. */
  async function answerTo(version: number, ...more: readonly string[]) {
    const client = await RawClient.open(open.port)
    client.send(startPacket(['user', 'eider', ...more], version))
    const answer = await client.until('Z')
    client.close()
    return answer.filter(({ kind }) => kind !== 'S')
  }

  test('3.0 has a key of four bytes for cancelling, 3.2 one of 32', async () => {
    for (const [version, length] of [
      [PROTOCOL_3_0, 4],
      [PROTOCOL_3_2, 32],
    ] as const) {
      const answer = await answerTo(version)
      expect([version, kindsOf(answer), answer[1]?.body.length]).toEqual([
        version,
        'RKZ',
        length + 4,
      ])
    }
  })

  test('a newer one, and options that the server does not have, are answered with what it has', async () => {
    const answer = await answerTo(PROTOCOL_3_2 + 5, '_pq_.new_thing', 'on', '_pq_.other', '1')
    expect(kindsOf(answer)).toBe('vRKZ')
    expect(answer[0]?.body).toEqual(
      Buffer.concat([int32(PROTOCOL_3_2), int32(2), text('_pq_.new_thing'), text('_pq_.other')]),
    )
  })

  test('protocol 2 and bytes of another protocol are refused', async () => {
    for (const bytes of [startPacket([], 131_072), Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
      const client = await RawClient.open(open.port)
      client.send(bytes)
      const [refusal] = await client.until('Z')
      expect(refusal && failureOf(refusal).C).toBe('08P01')
      await client.closed
    }
  })

  test('a key of 3.2 cancels whole only', async () => {
    const client = await RawClient.open(open.port)
    client.send(startPacket(['user', 'eider'], PROTOCOL_3_2))
    const key = (await client.until('Z')).find(({ kind }) => kind === 'K')?.body ?? Buffer.alloc(0)
    client.send(
      query(
        'SELECT count(*) FROM range(100000) a, range(10000000) b WHERE hash(a.range + b.range) % 7 = 3',
      ),
    )
    const cancel = async (bytes: Buffer) => {
      const other = await RawClient.open(open.port)
      other.send(message('', int32(80877102), bytes))
      await other.closed
    }
    await Bun.sleep(100)
    await cancel(key.subarray(0, 8))
    await cancel(Buffer.concat([key.subarray(0, 4), Buffer.alloc(32)]))
    await cancel(key)
    const [failure] = await client.until('Z')
    expect(failure && failureOf(failure).C).toBe('57014')
    client.close()
  })
})

test('pg_dump and replication are refused in one sentence', async () => {
  for (const parameters of [
    ['user', 'eider', 'application_name', 'pg_dump'],
    ['user', 'eider', 'replication', 'database'],
  ]) {
    const client = await RawClient.open(open.port)
    client.send(startPacket(parameters))
    const [refusal] = await client.until('Z')
    expect(refusal && failureOf(refusal)).toMatchObject({
      C: '0A000',
      M: expect.stringContaining('POST /api/backup'),
    })
    await client.closed
  }
})

describe('a client that does harm', () => {
  test('10,000 random messages end at most their own connection', async () => {
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % below
    }
    const words = ['SELECT', '1', 'COPY', '(', ')', "'", 'FROM', 'pg_class', '$1', ';', '::', 'x']
    const noise = (length: number) => {
      return Buffer.from(Array.from({ length }, () => random(256)))
    }
    const sql = () => {
      return text(Array.from({ length: random(9) }, () => words[random(words.length)]).join(' '))
    }
    const name = () => text(['', 'a', 'b'][random(3)] ?? '')
    const made: readonly (() => Buffer)[] = [
      () => message('Q', sql()),
      () => message('P', name(), sql(), int16(1), int32(random(2000))),
      () => message('B', name(), name(), int16(0), int16(random(3)), int32(random(9)), noise(9)),
      () => message('B', name(), name(), int16(1), int16(random(2)), int16(1), int32(4), noise(4)),
      () => message('D', Buffer.from(['S', 'P', 'x'][random(3)] ?? ''), name()),
      () => message('E', name(), int32(random(4) - 1)),
      () => message('C', Buffer.from(['S', 'P'][random(2)] ?? ''), name()),
      () => SYNC,
      () => message('dcfHp'[random(5)] ?? 'd', noise(random(20))),
      () => message('QPBDECSHdcfX'[random(12)] ?? 'Q', noise(random(60))),
    ]
    let sent = 0
    while (sent < 10_000) {
      const client = await RawClient.open(open.port)
      const batch = Array.from({ length: 40 }, () => (made[random(made.length)] ?? (() => SYNC))())
      // One packet in eight has a wrong length.
      if (random(8) === 0) batch[39]?.writeInt32BE(random(2 ** 31) - 2 ** 30, 1)
      client.send(random(10) === 0 ? noise(30) : START, ...batch, message('X'))
      sent += batch.length
      await Promise.race([client.closed, Bun.sleep(30)])
      client.close()
    }
    await expectUnharmed()
  }, 120_000)

  test('a message that is too long, too short or unknown ends the connection with a reason', async () => {
    const messages = [
      Buffer.concat([Buffer.from('Q'), int32(2_000_000_000)]),
      Buffer.concat([Buffer.from('Q'), int32(3)]),
      message('B', text('')),
      message('P', Buffer.from('no end')),
      message('?'),
    ]
    for (const bytes of messages) {
      const client = await RawClient.started(open.port)
      client.send(bytes)
      const [refusal] = await client.until('Z')
      expect(refusal && failureOf(refusal)).toMatchObject({ S: 'FATAL', C: '08P01' })
      await client.closed
    }
    await expectUnharmed()
  })

  test('before its login it may send little', async () => {
    const client = await RawClient.open(open.port)
    client.send(int32(50_000), int32(PROTOCOL_3_0))
    const [refusal] = await client.until('Z')
    expect(refusal && failureOf(refusal).M).toContain('length')
    await client.closed
  })

  test('data that it sends while its statement runs is not read yet', async () => {
    const client = await RawClient.started(open.port)
    client.send(
      query(
        'SELECT count(*) FROM range(20000) a, range(1000) b WHERE hash(a.range + b.range) % 7 = 3',
      ),
    )
    const long = query(`SELECT '${'x'.repeat(100_000)}'`)
    const more = Array.from({ length: 50 }, () => long)
    for (const one of more) client.socket.write(one)
    for (let index = 0; index < more.length + 1; index += 1) {
      expect(kindsOf(await client.until('Z'))).toBe('TDCZ')
    }
    client.close()
  }, 60_000)

  test('a client that does not read holds up only its own statement', async () => {
    const client = await RawClient.started(open.port)
    client.socket.pause()
    client.send(query("SELECT repeat('x', 1000) FROM range(1000000)"))
    for (let round = 0; round < 20; round += 1) await expectUnharmed()
    const parked = async () => {
      return Object((await open.t.send('GET', '/api/status')).body).statements.parked
    }
    while ((await parked()) < 1) await Bun.sleep(10)
    await expectUnharmed()
    client.close()
    while ((await parked()) > 0) await Bun.sleep(10)
  }, 30_000)
})

test('1,000 connections are served, more are refused, and a statement can still be cancelled', async () => {
  const clients = await Promise.all(
    Array.from({ length: 1_000 }, () => RawClient.started(open.port)),
  )
  const late = await RawClient.open(open.port)
  late.send(START)
  const [refusal] = await late.until('Z')
  expect(refusal && failureOf(refusal)).toMatchObject({ S: 'FATAL', C: '53300' })
  await late.closed
  const answers = await Promise.all(
    clients.map(async (client, index) => {
      for (;;) {
        client.send(query(`SELECT ${index}`))
        const answer = kindsOf(await client.until('Z'))
        // As over HTTP, one address can send the first statements of 200 connections per second.
        if (answer !== 'EZ') return answer
        await Bun.sleep(500)
      }
    }),
  )
  expect(new Set(answers)).toEqual(new Set(['TDCZ']))
  for (const client of clients) client.close()
  await Promise.all(clients.map(({ closed }) => closed))
  await expectUnharmed()
}, 60_000)

test.skipIf(Bun.which('openssl') === null)('TLS: the connection is encrypted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eider-pg-tls-'))
  const words = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'
  const names = ['-keyout', 'key', '-out', 'cert', '-subj', '/CN=localhost']
  Bun.spawnSync(['openssl', ...words.split(' '), ...names], { cwd: folder, stderr: 'ignore' })
  const served = await serve({
    EIDER_PG_TLS_CERT: join(folder, 'cert'),
    EIDER_PG_TLS_KEY: join(folder, 'key'),
  })
  const ca = readFileSync(join(folder, 'cert'), 'utf8')
  const { rows } = await withClient(
    served,
    (client) => client.query("SELECT repeat('é', 300000) AS s, $1::INT AS n", [7]),
    { host: 'localhost', ssl: { ca } },
  )
  expect([rows[0].s.length, rows[0].n]).toEqual([300_000, 7])
  // Unencrypted bytes after a request for TLS could come from anyone.
  const client = await RawClient.open(served.port)
  client.send(message('', int32(80877103)), START)
  const received = await new Promise<Buffer>((resolve) => client.socket.once('data', resolve))
  expect(received.toString('latin1')).toContain('data before encryption')
  client.close()
  await served.stop()
  rmSync(folder, { recursive: true })
})

test('a row of COPY in pieces of one byte is not read again for each of them', async () => {
  const stored: unknown[] = []
  const copy = new CopyIn(
    {
      direction: 'in',
      select: '',
      table: 't',
      columns: ['a'],
      format: 'csv',
      hasHeader: false,
      delimiter: ',',
      nullText: '',
    },
    [25],
    async (statement) => stored.push(statement),
  )
  const piece = Buffer.from('7')
  const ms = cpuMsOf(() => {
    for (let count = 0; count < 200_000; count += 1) void copy.push(piece)
  })
  expect(await copy.end()).toBe(1)
  expect(Bun.inspect(stored)).toContain('7'.repeat(1000))
  expect(ms).toBeLessThan(3000)
})
