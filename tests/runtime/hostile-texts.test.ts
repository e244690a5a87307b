import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cursorStatement } from '../../src/api/postgres/cursor-statements.ts'
import { PgSession } from '../../src/api/postgres/session-statements.ts'
import { robotsTag } from '../../src/ingest/crawl/robots.ts'
import { answerabilityOf } from '../../src/models/builtin/chat/unit-ranking.ts'
import { NO_RESTARTS } from '../../src/ops/supervisor/restart-policy.ts'
import { CrashReports } from '../../src/ops/supervisor/running-table.ts'
import { overCatalog } from '../../src/query/postgres/catalog-statement.ts'
import { arrayElements, parameterColumns } from '../../src/query/postgres/statement-text.ts'
import { withNativeTexts } from '../../src/sql/lexer/database-names.ts'
import { kindOfStatement } from '../../src/wiring/metric-parts.ts'
import { cpuMsOf } from '../support/cpu-time.ts'

/** Takes seconds or more if read in quadratic time. */
const TIMES = 200_000

test.each([
  ['comments before a number', () => kindOfStatement(`${'/**/'.repeat(60)}1`)],
  ['blanks in the definition of a view', () => withNativeTexts(`${' '.repeat(TIMES)}x`)],
  [
    'comments without an end in a PostgreSQL session',
    () => new PgSession('mindsdb').answer(`select ${'/*-'.repeat(TIMES)}`),
  ],
  ['blanks in DECLARE', () => cursorStatement(`declare c${' '.repeat(TIMES)}x`)],
  ['blanks in CLOSE', () => cursorStatement(`close${' '.repeat(TIMES)}x y`)],
  [
    'blanks in FETCH',
    () => expect(() => cursorStatement(`fetch${' '.repeat(TIMES)}x y`)).toThrow('forward only'),
  ],
  [
    'blanks in the text of an array',
    () => expect(() => arrayElements(`{${'\t'.repeat(TIMES)}"}`)).toThrow('Not an array'),
  ],
  [
    'casts in a statement about the catalog',
    () => overCatalog(`select ${'a::regclass, "b".tableoid, '.repeat(4_000)}1 from pg_class`),
  ],
  [
    'parameters in a list',
    () => {
      const list = Array.from({ length: 12_000 }, (_, index) => `$${index + 1}`).join(', ')
      const { columns } = parameterColumns(`SELECT * FROM t WHERE a IN (7, ${list})`)
      expect(columns.at(-1)).toEqual({ number: 12_000, column: 'a', isArray: false })
    },
  ],
  [
    'blanks in a passage that may answer a question',
    () => {
      const passage = { documentId: 'd', text: `${' '.repeat(60_000)}x`, heading: '' }
      answerabilityOf('What is the size of x?', [{ ...passage, relevance: 0.5 }])
    },
  ],
  ['blanks in a header of robots', () => robotsTag(`${'a '.repeat(TIMES)}\n`)],
])('%s', (_what, read) => {
  expect(cpuMsOf(read)).toBeLessThan(1_000)
})

test('statements of quotes and comments without an end are noted', () => {
  const directory = mkdtempSync(join(tmpdir(), 'eider-notes-'))
  const init = { directory, restarts: NO_RESTARTS, refuseMs: 1_000, now: Date.now }
  const reports = new CrashReports(init)
  try {
    for (const piece of ['/*', '-/*', '$a$b', '$$', "'", '"', '--']) {
      const note = (sql: string) => {
        const noted = reports.begin('POST /api/sql/query')
        noted.statement(sql)
        noted.end()
      }
      expect(cpuMsOf(() => note(`select ${piece.repeat(TIMES)}`))).toBeLessThan(1_000)
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
})
