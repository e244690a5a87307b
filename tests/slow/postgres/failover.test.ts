/** A connection to several PostgreSQL servers: a primary and its standby, which takes over. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { testPgvector } from '../../support/pgvector-server.ts'
import type { TestApp } from '../../support/test-app.ts'
import { connection, must, postgresApps, run } from './apps.ts'

const { server, app, sql, close } = await postgresApps()
const standby = server && (await testPgvector({ standbyOf: server }))

afterAll(async () => {
  await close()
  await standby?.stop()
})

const STORAGE = 'storage = {"database": "pg", "table": "kb", "copy": false}'
const FOUND = `SELECT id FROM kb WHERE content = 'green tea' LIMIT 1`

describe.skipIf(server === null)('a primary and its standby', () => {
  let eider: TestApp

  const both = (more: object) => {
    const ports = `${standby?.port}, ${server?.port}`
    return { ...server?.parameters, host: '127.0.0.1,127.0.0.1', port: ports, ...more }
  }
  const portOf = async (name: string) => {
    const [[port] = []] = await eider.rows(`SELECT * FROM ${name} (SELECT inet_server_port())`)
    return port
  }

  beforeAll(async () => {
    eider = await app()
  })

  test('the first that fits is used', async () => {
    const wanted = [
      ['any', standby],
      ['standby', standby],
      ['read-only', standby],
      ['primary', server],
      ['read-write', server],
    ] as const
    for (const [attribute, used] of wanted) {
      const name = `at_${attribute.replace('-', '_')}`
      await must(eider, connection(both({ target_session_attrs: attribute }), name))
      expect([attribute, await portOf(name)]).toEqual([attribute, used?.port ?? 0])
    }
  })

  test('one that is not of that kind is refused, and named', async () => {
    const { parameters } = server ?? {}
    await must(eider, connection({ ...parameters, target_session_attrs: 'standby' }, 'alone'))
    const failure = await run(eider, 'SELECT * FROM alone (SELECT 1)')
    expect(failure).toContain('it is primary read-write, and target_session_attrs asks for standby')
    const none = { ...both({ target_session_attrs: 'standby' }), port: `1,${server?.port}` }
    await must(eider, connection(none, 'none'))
    expect(await run(eider, 'SELECT * FROM none (SELECT 1)')).toMatch(
      /127\.0\.0\.1:1: the connection is refused.*; 127\.0\.0\.1:\d+: it is primary/,
    )
  })

  test('knowledge bases go on with the one that takes over, without a restart', async () => {
    await must(eider, connection(both({ target_session_attrs: 'read-write' })))
    await must(eider, `CREATE KNOWLEDGE_BASE kb USING ${STORAGE}`)
    await must(eider, `INSERT INTO kb (id, content) VALUES ('a', 'a steamed green tea')`)
    expect(await eider.rows(FOUND)).toEqual([['a']])
    const [{ lsn } = {}] = await sql('SELECT pg_current_wal_lsn()::text AS lsn')
    const caughtUp = `SELECT pg_last_wal_replay_lsn() >= '${lsn}' AS yes`
    while ((await standby?.run(caughtUp))?.[0]?.yes !== true) await Bun.sleep(20)
    await server?.stop()
    const insert = `INSERT INTO kb (id, content) VALUES ('b', 'a roasted green tea')`
    expect(await run(eider, insert)).toContain('it is standby read-only')
    await standby?.run('SELECT pg_promote()')
    await must(eider, insert)
    expect(await eider.rows(`SELECT id FROM kb WHERE content = 'tea' LIMIT 5`)).toHaveLength(2)
  }, 60_000)
})
