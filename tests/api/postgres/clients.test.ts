/** Uses the PostgreSQL port with node-postgres and psql. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type pg from 'pg'
import { makeKey } from '../../support/access-keys.ts'
import {
  addTeas,
  int32,
  message,
  RawClient,
  type Served,
  serve,
  withClient,
} from './postgres-fixture.ts'

let open: Served
let locked: Served
const LOGIN = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'secret' }

beforeAll(async () => {
  ;[open, locked] = await Promise.all([serve(), serve(LOGIN)])
  await addTeas(open)
})

afterAll(() => Promise.all([open.stop(), locked.stop()]))

/** Sends a CancelRequest for the statement of another connection. */
async function cancel(client: pg.Client): Promise<void> {
  const { processID, secretKey } = client as unknown as Record<string, number>
  const other = await RawClient.open(open.port)
  other.send(message('', int32(80877102), int32(processID ?? 0), int32(secretKey ?? 0)))
  await other.closed
}

describe('a client of PostgreSQL', () => {
  test('searches a knowledge base with parameters', async () => {
    const { rows, fields } = await withClient(open, (client) => {
      const sql = 'SELECT id, price FROM teas WHERE content = $1 AND price < $2 LIMIT $3'
      return client.query(sql, ['no caffeine', 8, 1])
    })
    expect(rows).toEqual([{ id: '2', price: '5' }])
    expect(fields.map(({ dataTypeID }) => dataTypeID)).toEqual([25, 20])
  })

  test('gets values with their types, and the types of columns that are null', async () => {
    const sql = `SELECT 1::SMALLINT AS a, 2.50::DECIMAL(5,2) AS b, true AS c, [1, NULL]::INTEGER[] AS d, 'ab'::BLOB AS e,
      NULL::INTEGER AS f, TIMESTAMPTZ '2026-01-02 03:04:05Z' AS g, {'x': 1} AS h, ['a "b"', 'c,d'] AS i`
    const { rows, fields } = await withClient(open, (client) => client.query(sql))
    expect(rows).toEqual([
      {
        ...{ a: 1, b: '2.50', c: true, d: [1, null], e: Buffer.from('ab'), f: null },
        ...{ g: new Date('2026-01-02T03:04:05Z'), h: { x: 1 }, i: ['a "b"', 'c,d'] },
      },
    ])
    expect(fields.map(({ dataTypeID }) => dataTypeID)).toEqual([
      21, 1700, 16, 1007, 17, 23, 1184, 114, 1009,
    ])
  })

  test('sends values that would end a literal, and they are still values', async () => {
    const values = ["it's", "' OR 1=1 --", '\\', "\\' OR 1=1 --", 'a\nb', '$1', '']
    const { rows } = await withClient(open, (client) => {
      return client.query(
        `SELECT ${values.map((_, index) => `$${index + 1} AS v${index}`)}`,
        values,
      )
    })
    expect(Object.values(rows[0])).toEqual(values)
  })

  test('writes rows of a table outside a transaction, and is refused within one', async () => {
    await withClient(open, async (client) => {
      await client.query('CREATE TABLE notes (a INTEGER PRIMARY KEY, b VARCHAR)')
      expect((await client.query("INSERT INTO notes VALUES (1, 'x'), (2, 'y')")).rowCount).toBe(2)
      expect((await client.query("UPDATE notes SET b = 'z' WHERE a = 2")).rowCount).toBe(1)
      await client.query('BEGIN')
      expect((await client.query('SELECT count(*)::INT AS n FROM notes')).rows).toEqual([{ n: 2 }])
      const failure = await client.query("INSERT INTO notes VALUES (3, 'q')").catch((e) => e)
      expect([failure.code, failure.message]).toEqual([
        '0A000',
        'Transactions are read-only: turn on autocommit for statements that change something',
      ])
      const later = await client.query('SELECT 1').catch((e) => e)
      expect(later.message).toContain('current transaction is aborted')
      await client.query('ROLLBACK')
      expect((await client.query('SELECT count(*)::INT AS n FROM notes')).rows).toEqual([{ n: 2 }])
    })
  })

  test('reads a failure with its SQLSTATE and place', async () => {
    await withClient(open, async (client) => {
      const syntax = await client.query('SELECT * FORM teas').catch((e) => e)
      expect([syntax.code, syntax.position]).toEqual(['42601', '15'])
      const name = await client.query('SELECT 1 FROM nowhere').catch((e) => e)
      expect([name.code, name.position]).toEqual(['42P01', '15'])
      const column = await client.query('SELECT b, nothing FROM notes').catch((e) => e)
      expect([column.code, column.position]).toEqual(['42703', '11'])
      const duplicate = await client.query("INSERT INTO notes VALUES (1, 'x')").catch((e) => e)
      expect(duplicate.code).toBe('23505')
      expect((await client.query('SELECT 7 AS n')).rows).toEqual([{ n: 7 }])
    })
  })

  test.each([
    ["INSERT INTO kept VALUES (1, NULL, 1, '2026-01-01')", '23502'],
    ["INSERT INTO kept VALUES (1, 'x', -1, '2026-01-01')", '23514'],
    ["INSERT INTO kept VALUES ('x', 'x', 1, '2026-01-01')", '22P02'],
    ['INSERT INTO kept (nothing) VALUES (1)', '42703'],
    ['SELECT 300::TINYINT', '22003'],
    ["SELECT '2026-13-01'::DATE", '22008'],
    ['FETCH BACKWARD 1 FROM c', '0A000'],
    ['MOVE -3 FROM c', '0A000'],
    ['SELECT a FROM kept FOR UPDATE', '0A000'],
    ['SELECT 9223372036854775807 + 1', '22003'],
    ['CREATE TABLE more (id SERIAL)', '42704'],
    ['LISTEN news', '0A000'],
    ['GRANT SELECT ON kept TO public', '0A000'],
    ['DO $$ BEGIN END $$', '0A000'],
  ])('reads the SQLSTATE of %s', async (sql, state) => {
    await withClient(open, async (client) => {
      const columns = 'a INTEGER, b VARCHAR NOT NULL, c INTEGER CHECK (c > 0), d DATE'
      await client.query(`CREATE TABLE kept (${columns})`)
      for (const config of [sql, { text: sql, values: [] }]) {
        expect((await client.query(config).catch((e) => e)).code).toBe(state)
      }
      await client.query('DROP TABLE kept')
    })
  })

  test('writes comments before its statements, as dbt does', async () => {
    await withClient(open, async (client) => {
      const results = await client.query('/* a */ SELECT 1 AS n; -- b\n/* c; */ SELECT 2 AS n')
      expect(results).toMatchObject([{ rows: [{ n: 1 }] }, { rows: [{ n: 2 }] }])
      for (const text of [
        '/* a */ SELECT $1::INT AS n',
        '-- a\n\n /* /* b */ */SELECT $1::INT AS n',
      ]) {
        expect((await client.query({ text, values: [7] })).rows).toEqual([{ n: 7 }])
      }
      const failure = await client.query('/* é\n */ SELECT 1 FROM nowhere').catch((e) => e)
      expect(failure.position).toBe('24')
      expect((await client.query('-- ping')).rows).toEqual([])
      await client.query('/* a */ BEGIN')
      await client.query('SELECT nothing').catch(() => {})
      await client.query('/* a */ ROLLBACK')
      expect((await client.query('/* a */ SHOW search_path')).command).toBe('SHOW')
    })
  })

  test('stores an array of texts without a type, as psycopg sends it', async () => {
    await withClient(open, async (client) => {
      await client.query('CREATE TABLE lists (n INTEGER, tags VARCHAR[], doc VARCHAR)')
      const row = [1, '{a,"b,c",NULL}', '{"a": 1}']
      await client.query('INSERT INTO lists (n, tags, doc) VALUES ($1, $2, $3)', row)
      await client.query('INSERT INTO lists VALUES ($1, $2, $3)', row)
      const { rows } = await client.query('SELECT tags, doc FROM lists WHERE tags = $1', [row[1]])
      const stored = { tags: ['a', 'b,c', null], doc: '{"a": 1}' }
      expect(rows).toEqual([stored, stored])
      await client.query('DROP TABLE lists')
    })
  })

  test('cannot send an array of arrays or a malformed one as a parameter', async () => {
    await withClient(open, async (client) => {
      for (const [value, state] of [
        ['{{1,2},{3,4}}', '0A000'],
        ['{1,2', '22023'],
        ['1', '22023'],
      ] as const) {
        const failure = await client.query('SELECT $1::INT[] AS v', [value]).catch((e) => e)
        expect([value, failure.code]).toEqual([value, state])
      }
      const { rows } = await client.query('SELECT $1::INT[] AS v', ['{1, 2} '])
      expect(rows).toEqual([{ v: [1, 2] }])
    })
  })

  test('reads a result in portions, by a cursor', async () => {
    await withClient(open, async (client) => {
      await client.query('BEGIN')
      await client.query('DECLARE c CURSOR FOR SELECT i::INT AS i FROM range(5) t(i)')
      expect((await client.query('FETCH 2 FROM c')).rows).toEqual([{ i: 0 }, { i: 1 }])
      expect((await client.query('FETCH ALL FROM c')).rows).toHaveLength(3)
      await client.query('CLOSE c')
      await client.query('COMMIT')
    })
  })

  test('reads settings whose names are words, as pgjdbc does', async () => {
    await withClient(open, async (client) => {
      for (const [name, value] of [
        ['TRANSACTION ISOLATION LEVEL', { transaction_isolation: 'repeatable read' }],
        ['TIME ZONE', { timezone: 'UTC' }],
      ] as const) {
        const { rows } = await client.query({ text: `SHOW ${name}`, values: [], name })
        expect(rows).toEqual([value])
      }
    })
  })

  test('is reset by a pool of asyncpg', async () => {
    await withClient(open, async (client) => {
      const sql = 'SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;'
      expect(await client.query(sql)).toHaveLength(4)
    })
  })

  test('drops prepared statements by SQL; a cursor that is missing is named', async () => {
    await withClient(open, async (client) => {
      const stateOf = (sql: string) => client.query(sql).catch(({ code }) => code)
      await client.query({ name: 'found', text: 'SELECT $1::int AS n', values: [1] })
      await client.query('DEALLOCATE found')
      await client.query('DEALLOCATE PREPARE ALL')
      expect(await stateOf('PREPARE two AS SELECT 2')).toBeString()
      expect(await stateOf('EXECUTE two')).toBeString()
      expect(await stateOf('FETCH 1 FROM nothing')).toBe('34000')
    })
  })

  test('finds tables, columns and keys in the catalog', async () => {
    await withClient(open, async (client) => {
      const columns = await client.query(
        `SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type
         FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'teas'::regclass AND a.attnum > 0 ORDER BY a.attnum`,
      )
      expect(columns.rows.slice(0, 2)).toEqual([
        { attname: 'id', type: 'text' },
        { attname: 'chunk_id', type: 'text' },
      ])
      const tables = await client.query(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'mindsdb' ORDER BY 1",
      )
      expect(tables.rows).toEqual([{ table_name: 'notes' }, { table_name: 'teas' }])
      const matching = await client.query(
        "SELECT relname FROM pg_class WHERE relname OPERATOR(pg_catalog.~) '^(te.*)$' COLLATE pg_catalog.default",
      )
      expect(matching.rows).toEqual([{ relname: 'teas' }])
    })
  })

  test('finds unique columns and conditions in the catalog', async () => {
    await withClient(open, async (client) => {
      await client.query(
        'CREATE TABLE rules (a INTEGER PRIMARY KEY, b VARCHAR UNIQUE, c INTEGER CHECK (c > 0), UNIQUE (c, b))',
      )
      const { rows } = await client.query(
        `SELECT conname, contype, conkey, pg_get_constraintdef(oid) AS text FROM pg_constraint
         WHERE conrelid = 'rules'::regclass ORDER BY conname`,
      )
      expect(rows.map((row) => Object.values(row))).toEqual([
        ['rules_b_key', 'u', [2], 'UNIQUE (b)'],
        ['rules_c_b_key', 'u', [3, 2], 'UNIQUE (c, b)'],
        ['rules_c_check', 'c', null, 'CHECK ((c > 0))'],
        ['rules_pkey', 'p', [1], 'PRIMARY KEY (a)'],
      ])
      const columns = await client.query(
        `SELECT constraint_type, k.column_name FROM information_schema.table_constraints AS t
         JOIN information_schema.key_column_usage AS k USING (constraint_name)
         WHERE t.table_name = 'rules' ORDER BY constraint_name, k.ordinal_position`,
      )
      expect(columns.rows.map((row) => Object.values(row))).toEqual([
        ['UNIQUE', 'b'],
        ['UNIQUE', 'c'],
        ['UNIQUE', 'b'],
        ['PRIMARY KEY', 'a'],
      ])
      const keys = await client.query(
        "SELECT indexname FROM pg_indexes WHERE tablename = 'rules' ORDER BY 1",
      )
      expect(keys.rows.map(({ indexname }) => indexname)).toEqual([
        'rules_b_key',
        'rules_c_b_key',
        'rules_pkey',
      ])
      await client.query('DROP TABLE rules')
    })
  })

  test('sees in the catalog what was made and dropped meanwhile, also by others', async () => {
    await withClient(open, async (client) => {
      const names = async () => {
        const { rows } = await client.query(
          "SELECT relname FROM pg_class WHERE relname LIKE 'brief\\_%'",
        )
        return rows.map(({ relname }) => relname)
      }
      expect(await names()).toEqual([])
      await open.t.send('POST', '/api/sql/query', { query: 'CREATE TABLE brief_one (a INTEGER)' })
      await client.query('CREATE TABLE briefs (a INTEGER)')
      expect(await names()).toEqual(['brief_one'])
      await client.query('DROP TABLE brief_one')
      await client.query('DROP TABLE briefs')
      expect(await names()).toEqual([])
    })
  })

  test('lists the statements that run', async () => {
    await withClient(open, async (client) => {
      const sql =
        'SELECT count(*) FROM range(100000) a, range(10000000) b WHERE hash(a.range + b.range) = 3'
      const started = Promise.withResolvers<pg.Client>()
      const slow = withClient(open, (other) => {
        started.resolve(other)
        return other.query(sql).catch((e) => e)
      })
      const other = await started.promise
      await Bun.sleep(100)
      const { rows } = await client.query(
        'SELECT datname, usename, state, left(query, 15) AS query FROM pg_stat_activity ORDER BY pid',
      )
      const shared = { datname: 'mindsdb', usename: 'anyone', state: 'active' }
      expect(rows).toEqual([
        { ...shared, query: 'SELECT count(*)' },
        { ...shared, query: 'SELECT datname,' },
      ])
      await cancel(other)
      expect((await slow).code).toBe('57014')
    })
  })

  test('cancels a statement', async () => {
    await withClient(open, async (client) => {
      const sql =
        'SELECT count(*) FROM range(100000) a, range(10000000) b WHERE hash(a.range + b.range) % 7 = 3'
      const running = client.query(sql).catch((e) => e)
      await Bun.sleep(200)
      await cancel(client)
      expect((await running).code).toBe('57014')
      expect((await client.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }])
    })
  })

  test.skipIf(Bun.which('psql') === null)('psql describes, copies out and copies in', async () => {
    const psql = async (...commands: readonly string[]) => {
      const args = commands.flatMap((command) => ['-c', command])
      const child = Bun.spawn(
        [
          'psql',
          '-X',
          '-h',
          '127.0.0.1',
          '-p',
          String(open.port),
          '-U',
          'eider',
          '-d',
          'mindsdb',
          ...args,
        ],
        { stdout: 'pipe', stderr: 'pipe', stdin: new Blob(['5\tfive\n6\t\\N\n']) },
      )
      const output = await new Response(child.stdout).text()
      return output + (await new Response(child.stderr).text())
    }
    expect(await psql('\\d notes')).toContain(' a      | integer |           | not null |')
    expect(await psql('\\d+ teas')).toContain('Searched by meaning')
    for (const command of ['\\dt', '\\dv', '\\dn', '\\l', '\\du', '\\df abs', '\\di', '\\dp']) {
      expect([command, await psql(command)]).toEqual([
        command,
        expect.not.stringContaining('ERROR'),
      ])
    }
    expect(await psql('COPY notes (a, b) FROM STDIN')).toBe('COPY 2\n')
    const copied = await psql(
      'COPY (SELECT * FROM notes WHERE a > 4 ORDER BY a) TO STDOUT (FORMAT csv, HEADER)',
    )
    expect(copied).toBe('a,b\n5,five\n6,\n')
  })
})

describe('a server with a login', () => {
  test('takes the password, refuses another, and keeps a key to its scopes', async () => {
    const ada = { user: 'ada', password: 'secret' }
    const one = (client: pg.Client) => client.query('SELECT 1 AS n')
    expect((await withClient(locked, one, ada)).rows).toEqual([{ n: 1 }])
    const refused = await withClient(locked, one, { user: 'ada', password: 'no' }).catch((e) => e)
    expect(refused.code).toBe('28P01')
    const { body } = await locked.t.send('POST', '/api/login', {
      username: 'ada',
      password: 'secret',
    })
    const admin = { authorization: `Bearer ${Object(body).token}` }
    const { key, id } = await makeKey(locked.t, ['read'], {}, admin)
    await withClient(
      locked,
      async (client) => {
        expect((await one(client)).rows).toEqual([{ n: 1 }])
        const denied = await client.query('CREATE TABLE t (a INT)').catch((e) => e)
        expect(denied.code).toBe('42501')
        const seen = await client.query('SELECT DISTINCT usename FROM pg_stat_activity')
        expect(seen.rows).toHaveLength(1)
        await locked.t.send('DELETE', `/api/keys/${id}`, undefined, admin)
        const revoked = await one(client).catch((e) => e)
        expect(revoked.code).toBe('28000')
      },
      { user: 'anyone', password: key },
    )
  })
})
