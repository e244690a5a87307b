import { afterAll, describe, expect, test } from 'bun:test'
import { makeKey } from '../support/access-keys.ts'
import { createTestApp } from '../support/test-app.ts'

const environment = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'secret' }
const logged: string[] = []
const t = await createTestApp({
  environment,
  log: {
    request: (entry) => logged.push(JSON.stringify(entry)),
    failure: ({ error }) => logged.push(String(error)),
  },
})
const PASSWORD = 'correct horse'
const admin = await loggedIn('ada', 'secret')

afterAll(() => t.close())

async function loggedIn(username: string, password: string) {
  const { body, status, text } = await t.send('POST', '/api/login', { username, password })
  if (status !== 200) throw new Error(text)
  return { authorization: `Bearer ${Object(body).token}` }
}

interface SqlAnswer {
  readonly type: string
  readonly column_names?: readonly string[]
  readonly data?: readonly unknown[][]
  readonly error_message?: string
}

/** Returns the whole response to a statement. */
async function sql(query: string, headers: HeadersInit = admin): Promise<SqlAnswer> {
  // The route's schema defines this form.
  return (await t.send('POST', '/api/sql/query', { query }, headers)).body as SqlAnswer
}

const names = async (query: string, headers: HeadersInit = admin) => {
  return (await sql(query, headers)).data?.map(([name]) => name)
}

describe('statements about keys', () => {
  test('create a key that is shown once, list it, and revoke it at once', async () => {
    const made = await sql(
      "CREATE KEY `by sql` USING scopes = ['read'], projects = ['mindsdb'], expires_at = '2099-01-31', requests_per_minute = 90",
    )
    expect(made.column_names).toEqual(['id', 'name', 'key', 'scopes', 'projects', 'expires_at'])
    const [, name, key, ...rest] = made.data?.[0] ?? []
    expect([name, ...rest]).toEqual(['by sql', 'read', 'mindsdb', '2099-01-31 00:00:00.000000'])
    const headers = { authorization: `Bearer ${key}` }
    expect((await sql('SELECT 1', headers)).data).toEqual([[1]])
    const { text } = await t.send('POST', '/api/sql/query', { query: 'SHOW KEYS' }, admin)
    expect(text).toContain('"by sql"')
    expect(text).not.toContain(String(key))
    expect(await names("SHOW KEYS LIKE 'by%'")).toEqual(['by sql'])
    expect((await sql('DROP KEY "by sql"')).type).toBe('ok')
    expect((await t.send('GET', '/api/projects', undefined, headers)).status).toBe(401)
  })

  test('are for admins, and never grant more rights than the admin has', async () => {
    const writer = await makeKey(t, ['read', 'write', 'ask'], {}, admin)
    const limited = await makeKey(t, ['admin'], { projects: ['mindsdb'] }, admin)
    for (const query of [
      "CREATE KEY up USING scopes = ['read']",
      'SHOW KEYS',
      'DROP KEY IF EXISTS up',
      `CREATE USER up USING password = '${PASSWORD}', role = 'viewer'`,
      "ALTER USER ada USING role = 'viewer'",
      'SHOW USERS',
      'DROP USER IF EXISTS ada',
    ]) {
      expect([query, (await sql(query, writer.headers)).error_message]).toEqual([
        query,
        expect.stringContaining('lacks the scope "admin"'),
      ])
    }
    const everything = "CREATE KEY up USING scopes = ['read']"
    expect((await sql(everything, limited.headers)).error_message).toContain('Name the projects')
    const shown = await sql('SHOW KEYS', limited.headers)
    expect(shown.data?.every((row) => row[3] === 'mindsdb')).toBe(true)
    expect((await sql('SHOW USERS', limited.headers)).data).toEqual([])
    expect((await sql('DROP KEY nosuch', limited.headers)).error_message).toContain('no key named')
  })

  test('do not run by themselves', async () => {
    const query = "CREATE JOB keys (CREATE KEY hidden USING scopes = ['admin'])"
    expect((await sql(query)).error_message).toContain('not by a job')
    expect(await names("SHOW KEYS LIKE 'hidden'")).toEqual([])
  })
})

describe('statements about users', () => {
  test('make, change and remove a user', async () => {
    const made = await sql(
      `CREATE USER bo USING password = '${PASSWORD}', role = 'viewer', projects = ['mindsdb']`,
    )
    expect(made.type).toBe('ok')
    const headers = await loggedIn('bo', PASSWORD)
    expect((await sql('SHOW USERS')).data?.map((row) => row.slice(0, 4))).toEqual([
      ['ada', 'admin', null, 'settings'],
      ['bo', 'viewer', 'mindsdb', 'ada'],
    ])
    expect((await sql('CREATE PROJECT by_bo', headers)).error_message).toContain('"write"')
    await sql("ALTER USER bo USING role = 'editor', projects = null")
    expect((await sql('CREATE PROJECT by_bo', headers)).type).toBe('ok')
    await sql(`ALTER USER bo USING password = '${PASSWORD} 2'`)
    expect((await t.send('GET', '/api/projects', undefined, headers)).status).toBe(401)
    await loggedIn('bo', `${PASSWORD} 2`)
    expect((await sql('DROP USER bo')).type).toBe('ok')
    await expect(loggedIn('bo', `${PASSWORD} 2`)).rejects.toThrow('Invalid username or password')
  })

  test('never change the user defined in the settings', async () => {
    for (const query of ['DROP USER ada', "ALTER USER Ada USING role = 'viewer'"]) {
      expect((await sql(query)).error_message).toContain('user defined in the settings')
    }
    const again = `CREATE USER ada USING password = '${PASSWORD}', role = 'admin'`
    expect((await sql(again)).error_message).toContain('in the settings')
  })
})

test('no password appears in an error, the log or the audit log, however a statement is wrong', async () => {
  const secret = 'hunter2-hunter2'
  const wrong = [
    `CREATE USER cy USING password = '${secret}', role = 'nobody'`,
    `CREATE USER cy USING password = '${secret}' role`,
    `CREATE USER cy USING password '${secret}'`,
    `CREATE USER cy IDENTIFIED BY '${secret}'`,
    `CREATE USER cy PASSWORD '${secret}'`,
    `CREATE USER cy '${secret}'`,
    `CREATE USER '${secret}`,
    `ALTER USER cy SET PASSWORD "${secret}"`,
    `ALTER USER cy USING pass = '${secret}'`,
    `CREATE USERS cy IDENTIFIED BY '${secret}'`,
    `SET PASSWORD FOR cy = '${secret}'`,
    `CREATE ROLE cy PASSWORD '${secret}'`,
    `CREATE JOB j (ALTER USER cy USING password = '${secret}')`,
    `EXPLAIN CREATE USER cy USING password = '${secret}'`,
    `SELECT 1; CREATE USER cy IDENTIFIED BY '${secret}'`,
    `GRANT ALL ON x TO cy IDENTIFIED BY '${secret}'`,
  ]
  for (const query of wrong) {
    const { text } = await t.send('POST', '/api/sql/query', { query }, admin)
    expect([query, text]).toEqual([query, expect.stringContaining('"type":"error"')])
    expect([query, text]).toEqual([query, expect.not.stringContaining('hunter2')])
  }
  const audit = await t.send('GET', '/api/audit?limit=200', undefined, admin)
  expect(audit.text).toContain('ALTER USER')
  expect(audit.text).not.toContain('hunter2')
  expect(logged.join('\n')).not.toContain('hunter2')
})

test('the audit log has the names that the statements were about', async () => {
  await sql("CREATE KEY noted USING scopes = ['read']")
  await sql('DROP KEY noted')
  const { body } = await t.send('GET', '/api/audit?limit=2', undefined, admin)
  const [dropped, made] = Object(body).items
  expect([made.action, made.targets, made.outcome]).toEqual(['CREATE KEY', ['noted'], 'ok'])
  expect([dropped.action, dropped.targets, dropped.outcome]).toEqual(['DROP KEY', ['noted'], 'ok'])
})
