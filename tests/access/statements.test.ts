/** Statements that might get a caller further than their key allows. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { CLASSIFIED_KINDS, scopesOf } from '../../src/query/run/statement-scopes.ts'
import { parseStatement, type Statement } from '../../src/sql/dialect/parse-statement.ts'
import { tokenize } from '../../src/sql/lexer/tokens.ts'
import { makeKey } from '../support/access-keys.ts'
import type { TestApp } from '../support/test-app.ts'
import { CHANGES, NAMING, READS, VEILED } from './attacks.ts'
import { asked, SECRET, twoProjects } from './two-projects.ts'

let t: TestApp
const keys: Record<string, HeadersInit> = {}
beforeAll(async () => {
  t = await twoProjects()
  for (const scope of ['read', 'write', 'ask'] as const) {
    keys[scope] = (await makeKey(t, [scope])).headers
  }
  const projects = { projects: ['open'] }
  keys.limited = (await makeKey(t, ['read', 'write', 'ask'], projects)).headers
  keys.limitedAdmin = (await makeKey(t, ['admin'], projects)).headers
})
afterAll(() => t.close())

const FORBIDDEN = '"error_code":1106'

const linesOf = (text: string) => text.trim().split('\n')

/** `readonly kind: 'use'`, and the kinds of statements that have the same fields: `Dropped<'drop_job'>`. */
const KINDS = /(?:readonly kind: |\b(?:Named|Created|Altered|Dropped)<)((?:'\w+'(?: \| )?)+)/g

test('every kind of statement is classified', async () => {
  const files = new Bun.Glob('{parse-*,object-statements}.ts').scan(
    `${import.meta.dir}/../../src/sql/dialect`,
  )
  const kinds = new Set<string>()
  for await (const file of files) {
    const text = await Bun.file(`${import.meta.dir}/../../src/sql/dialect/${file}`).text()
    for (const [, kind = ''] of text.matchAll(KINDS)) {
      for (const one of kind.split(' | ')) kinds.add(one.slice(1, -1))
    }
  }
  expect(kinds.size).toBeGreaterThan(30)
  expect([...kinds].filter((kind) => !CLASSIFIED_KINDS.includes(kind))).toEqual([])
})

test('an unclassified kind needs an admin of everything', () => {
  expect(scopesOf({ kind: 'conquer_world' } as unknown as Statement)).toEqual(['everything'])
  expect(scopesOf({ kind: 'toString' } as unknown as Statement)).toEqual(['everything'])
})

test('every kind of statement that changes something is in the list of changes', () => {
  const listed = new Set<string>(
    linesOf(CHANGES).map((line) => parseStatement(line, tokenize(line))?.kind ?? ''),
  )
  const harmless = /^(describe|show|explain|use$|set$|transaction)/
  const changing = CLASSIFIED_KINDS.filter(
    (kind) => !harmless.test(kind) && !/_(key|user)s?$/.test(kind),
  )
  expect(changing.filter((kind) => !listed.has(kind))).toEqual([])
})

test('a key that may only read or only ask changes nothing', async () => {
  for (const statement of linesOf(CHANGES)) {
    for (const key of ['read', 'ask']) {
      const isAsking = statement.startsWith('EVALUATE AGENT') && key === 'ask'
      const { text } = await asked(t, statement, keys[key] ?? {})
      expect([statement, key, text.includes(FORBIDDEN)]).toEqual([statement, key, true])
      if (!isAsking) expect(text).toContain('scope')
    }
  }
})

test('a key that may only write or only ask reads nothing', async () => {
  for (const statement of linesOf(READS)) {
    for (const key of ['write', 'ask']) {
      const { text } = await asked(t, statement, keys[key] ?? {})
      expect([statement, key, text.includes(FORBIDDEN)]).toEqual([statement, key, true])
    }
  }
})

test('a key that may not ask reaches no agent', async () => {
  for (const statement of [
    "SELECT answer FROM open.kettle_agent WHERE question = 'x'",
    "SELECT (SELECT answer FROM open.kettle_agent WHERE question = 'x')",
    "EXPLAIN ANALYZE SELECT answer FROM open.kettle_agent WHERE question = 'x'",
    "CREATE TABLE open.a AS SELECT answer FROM open.kettle_agent WHERE question = 'x'",
    "SET @x = (SELECT answer FROM open.kettle_agent WHERE question = 'x')",
    'EVALUATE AGENT open.kettle_agent USING questions = (SELECT word AS question FROM open.kettle_table)',
  ]) {
    for (const key of ['read', 'write']) {
      const { text } = await asked(t, statement, keys[key] ?? {})
      expect([statement, key, text.includes(FORBIDDEN)]).toEqual([statement, key, true])
    }
  }
})

test('a key that may only ask gets an answer', async () => {
  const statement =
    "SELECT answer FROM open.kettle_agent WHERE question = 'What does the kettle do?'"
  expect((await asked(t, statement, keys.ask ?? {})).text).toContain('kettle')
})

test('no statement shows a limited key anything of another project', async () => {
  for (const statement of linesOf(VEILED)) {
    // An admin asks first. The key must not see anything that this leaves behind.
    if (!/^(DROP|EVALUATE)|query_/.test(statement)) await asked(t, statement, {})
    for (const key of ['limited', 'limitedAdmin']) {
      for (const accept of ['application/json', 'text/csv', 'application/x-ndjson']) {
        const headers = { ...keys[key], accept }
        const { text } = await asked(t, statement, headers)
        const shown = text
          .replaceAll(statement, '')
          .replaceAll(/["']?zanzibar_\w+["']?/g, (name) => {
            return statement.includes(name.replaceAll(/["']/g, '')) ? '' : name
          })
        expect([statement, key, shown.includes(SECRET)]).toEqual([statement, key, false])
      }
    }
  }
})

test('a name that a key may not use gets the same answer whether it exists or not', async () => {
  for (const statement of linesOf(NAMING)) {
    for (const key of ['limited', 'limitedAdmin']) {
      const answers: string[] = []
      for (const name of [SECRET, 'neverwas']) {
        const { text } = await asked(t, statement.replaceAll('{}', name), keys[key] ?? {})
        answers.push(
          text
            .replaceAll(name, 'NAME')
            .replaceAll(`NAME_`, `${SECRET}_`)
            .replaceAll(/ +\^|-+/g, ''),
        )
      }
      const [there = '', gone = ''] = answers.map((text) => text.replaceAll(`${SECRET}_`, 'NAME_'))
      expect([statement, key, there.includes('"type":"error"')]).toEqual([statement, key, true])
      expect([statement, there]).toEqual([statement, gone])
    }
  }
})

test('a Parquet answer contains only rows that the limited key may see', async () => {
  for (const query of [
    `SELECT * FROM ${SECRET}.${SECRET}_table`,
    'SELECT * FROM open.leak',
    'CREATE TABLE open.x AS SELECT 1 AS one',
  ]) {
    const headers = { ...keys.limited, accept: 'application/vnd.apache.parquet' }
    const { status } = await t.send('POST', '/api/sql/query', { query }, headers)
    expect(status).toBeGreaterThanOrEqual(400)
  }
  const headers = { ...keys.write, accept: 'application/vnd.apache.parquet' }
  const query = 'SELECT * FROM open.kettle_table'
  expect((await t.send('POST', '/api/sql/query', { query }, headers)).status).toBe(403)
})

test('parameters, contexts and variables do not bypass access checks', async () => {
  const limited = keys.limited ?? {}
  await asked(t, `SET @secret = '${SECRET}'`, { 'x-session': 'shared' })
  const own = await asked(t, 'SELECT @secret', { ...limited, 'x-session': 'shared' })
  expect(own.text).not.toContain(SECRET)
  const there = await asked(t, 'SELECT 1', limited, { context: { db: SECRET } })
  const gone = await asked(t, 'SELECT 1', limited, { context: { db: 'neverwas' } })
  expect(there.text.replaceAll(SECRET, 'NAME')).toBe(gone.text.replaceAll('neverwas', 'NAME'))
  const given = { params: { name: `${SECRET}.${SECRET}_table` } }
  expect((await asked(t, 'SELECT * FROM query_table(:name)', limited, given)).isRefused).toBe(true)
  expect((await asked(t, 'EXECUTE x', limited)).isRefused).toBe(true)
  expect(
    (await asked(t, `SELECT 1; SELECT * FROM ${SECRET}.${SECRET}_table`, limited)).isRefused,
  ).toBe(true)
})
