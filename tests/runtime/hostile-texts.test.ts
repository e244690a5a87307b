import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PgSession } from '../../src/api/postgres/session-statements.ts'
import { robotsTag } from '../../src/ingest/crawl/robots.ts'
import { NO_RESTARTS } from '../../src/ops/supervisor/restart-policy.ts'
import { CrashReports } from '../../src/ops/supervisor/running-table.ts'
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
