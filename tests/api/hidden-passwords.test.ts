import { expect, test } from 'bun:test'
import { createTestApp } from '../support/test-app.ts'

test('no password appears in an error, the log or the audit log, however a statement is wrong', async () => {
  const environment = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'secret' }
  const logged: string[] = []
  const t = await createTestApp({
    environment,
    log: {
      request: (entry) => logged.push(JSON.stringify(entry)),
      failure: ({ error }) => logged.push(String(error)),
    },
  })
  const login = await t.send('POST', '/api/login', { username: 'ada', password: 'secret' })
  const admin = { authorization: `Bearer ${Object(login.body).token}` }
  const secret = 'hunter2-hunter2'
  const wrong = [
    `CREATE USER cy USING password = '${secret}', role = 'nobody'`,
    `CREATE USER cy USING password '${secret}'`,
    `CREATE USER cy IDENTIFIED BY '${secret}'`,
    `CREATE USER cy '${secret}'`,
    `CREATE USER '${secret}`,
    `ALTER USER cy SET PASSWORD "${secret}"`,
    `ALTER USER cy USING pass = '${secret}'`,
    `SET PASSWORD FOR cy = '${secret}'`,
    `CREATE ROLE cy PASSWORD '${secret}'`,
    `CREATE JOB j (ALTER USER cy USING password = '${secret}')`,
    `EXPLAIN CREATE USER cy USING password = '${secret}'`,
    `SELECT 1; CREATE USER cy IDENTIFIED BY '${secret}'`,
    `GRANT ALL ON x TO cy IDENTIFIED BY '${secret}'`,
    `ALTER DATABASE cy PARAMETERS = {"password": "${secret}"} again`,
  ]
  for (const query of wrong) {
    const { text } = await t.send('POST', '/api/sql/query', { query }, admin)
    expect([query, text]).toEqual([query, expect.stringContaining('"type":"error"')])
    expect([query, text]).toEqual([query, expect.not.stringContaining('hunter2')])
  }
  const audit = await t.send('GET', '/api/audit?limit=200', undefined, admin)
  expect(audit.status).toBe(200)
  expect(audit.text).not.toContain('hunter2')
  expect(logged.join('\n')).not.toContain('hunter2')
  await t.close()
})
