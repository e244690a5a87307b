import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_RESTARTS, type Restarts } from '../../src/ops/supervisor/restart-policy.ts'
import { CrashReports } from '../../src/ops/supervisor/running-table.ts'

const CRASH_MS = Date.UTC(2026, 3, 30, 12, 0, 0)
const REFUSE_MS = 600_000
const WHAT = 'POST /api/sql/query'

/** Each process only opens the folder, like one that is killed later. It ends normally only if a test says so. */
function withFolder(work: (open: (init?: Partial<OpenInit>) => CrashReports) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'eider-crash-'))
  try {
    work(({ nowMs = CRASH_MS, restarts = NO_RESTARTS } = {}) => {
      return new CrashReports({ directory, restarts, refuseMs: REFUSE_MS, now: () => nowMs })
    })
  } finally {
    rmSync(directory, { recursive: true })
  }
}

interface OpenInit {
  readonly nowMs: number
  readonly restarts: Restarts
}

function run(reports: CrashReports, sql: string) {
  const entry = reports.begin(WHAT)
  entry.statement(sql)
  return entry
}

const BY_SIGNAL: Restarts = {
  count: 1,
  last: { at: CRASH_MS, reason: 'SIGSEGV', isPlanned: false },
}

const CRASHING = "SELECT f(a, 'x', 100)"
const SAME_SHAPE = [
  CRASHING,
  "  select F(a, 'it''s',\n 7e9) ;",
  'SELECT /* other */ f(a, $$y$$, 0.5) -- again',
]
const OTHER_SHAPES = ["SELECT g(a, 'x', 100)", `SELECT f("A", 'x', 100)`, "SELECT f(a, 'x')"]

test('what ran is reported after a crash, and its statement is refused for a while', () => {
  withFolder((open) => {
    const crashed = open({ nowMs: CRASH_MS - 1000 })
    run(crashed, 'SELECT b').end()
    run(crashed, CRASHING)
    crashed.begin('GET /healthz')
    const next = open({ restarts: BY_SIGNAL })
    expect(next.restarts()).toEqual({
      count: 1,
      last: {
        at: '2026-04-30 12:00:00.000000',
        reason: 'SIGSEGV',
        running: [
          { since: '2026-04-30 11:59:59.000000', request: WHAT, statement: 'SELECT f(a, ?, ?)' },
          { since: '2026-04-30 11:59:59.000000', request: 'GET /healthz', statement: null },
        ],
      },
    })
    const message =
      'A statement like this one ran when the server crashed (SIGSEGV) at 2026-04-30 12:00:00.000000 UTC; ' +
      'it is refused until 2026-04-30 12:10:00.000000 UTC. ' +
      'Use smaller values, fewer rows at once, or a narrower join'
    for (const sql of SAME_SHAPE) {
      expect(() => next.refuseSuspect(sql)).toThrow(
        expect.objectContaining({ code: 'sql_too_costly', message }),
      )
    }
    for (const sql of OTHER_SHAPES) next.refuseSuspect(sql)
    open({ nowMs: CRASH_MS + REFUSE_MS, restarts: BY_SIGNAL }).refuseSuspect(CRASHING)
  })
})

test('a process that was killed together with its supervisor is noticed at the next start', () => {
  withFolder((open) => {
    run(open(), 'SELECT 1')
    const next = open({ nowMs: CRASH_MS + 5000 })
    expect(next.found).toMatchObject({ at: '2026-04-30 12:00:05.000000', running: [{}] })
    expect(() => next.refuseSuspect('SELECT 1')).toThrow('ran when the server crashed')
  })
})

test('nothing is refused after an end in order, and a planned restart is shown as one', () => {
  withFolder((open) => {
    const reports = open()
    run(reports, 'SELECT 1')
    reports.endInOrder()
    const last = { at: CRASH_MS, reason: 'planned', isPlanned: true }
    const next = open({ restarts: { count: 3, last } })
    expect([next.found, next.restarts()]).toEqual([
      null,
      { count: 3, last: { at: '2026-04-30 12:00:00.000000', reason: 'planned', running: [] } },
    ])
    next.refuseSuspect('SELECT 1')
  })
})

test('a statement that did not stop is refused by this server and by the next', () => {
  withFolder((open) => {
    const reports = open()
    reports.noteStuck("SELECT slow('a', 1)")
    reports.noteStuck('DELETE FROM a')
    const message = expect.stringContaining('did not stop, so the server was replaced')
    const refused = expect.objectContaining({ code: 'sql_too_costly', message })
    expect(() => reports.refuseSuspect("SELECT slow('b', 2)")).toThrow(refused)
    reports.endInOrder()
    const last = { at: CRASH_MS, reason: 'planned', isPlanned: true }
    const next = open({ restarts: { count: 1, last } })
    expect(() => next.refuseSuspect("SELECT slow('c', 3)")).toThrow(refused)
    next.refuseSuspect('SELECT 1')
    next.refuseSuspect('DELETE FROM a')
  })
})

test('an earlier crash is known after a second one, and still refuses', () => {
  withFolder((open) => {
    run(open(), 'SELECT a')
    run(open({ restarts: BY_SIGNAL }), 'SELECT b')
    const at = CRASH_MS + 1000
    const last = { at, reason: 'SIGABRT', isPlanned: false }
    const third = open({ nowMs: at, restarts: { count: 2, last } })
    expect(() => third.refuseSuspect('SELECT a')).toThrow('SIGSEGV')
    expect(() => third.refuseSuspect('SELECT b')).toThrow('SIGABRT')
  })
})

test('a statement that had run before is innocent beside others, unless crashes repeat', () => {
  withFolder((open) => {
    const crash = (reports: CrashReports) => {
      run(reports, 'SELECT common').end()
      run(reports, 'SELECT common')
    }
    const first = open()
    crash(first)
    run(first, 'SELECT rare')
    const second = open({ restarts: BY_SIGNAL })
    expect(() => second.refuseSuspect('SELECT rare')).toThrow('crashed')
    second.refuseSuspect('SELECT common')
    crash(second)
    run(second, 'SELECT other')
    const third = open({ restarts: BY_SIGNAL })
    expect(() => third.refuseSuspect('SELECT common')).toThrow('crashed')
  })
  withFolder((open) => {
    const reports = open()
    run(reports, 'SELECT common').end()
    run(reports, 'SELECT common')
    expect(() => open().refuseSuspect('SELECT common')).toThrow('crashed')
  })
})

test('of statements other than SELECT two words are noted, and no options with keys', () => {
  const shown: readonly (readonly [string, string])[] = [
    ["CREATE KNOWLEDGE_BASE k USING api_key = 'sk'", 'CREATE KNOWLEDGE_BASE'],
    ["SET @key = 'sk'", 'SET'],
    ["/* sk */ -- sk\n UPDATE k SET key = 'sk'", 'UPDATE k'],
    ["SELECT answer FROM a USING model = {'api_key': 'sk'}", 'SELECT answer FROM a USING …'],
    ['(WITH t AS (SELECT 1) SELECT * FROM t)', '(WITH t AS (SELECT ?) SELECT * FROM t)'],
    [
      "SELECT id FROM k WHERE content = 'sk' AND price < 5",
      'SELECT id FROM k WHERE content = ? AND price < ?',
    ],
    ['SELECT $a$sk$a$, $$sk', 'SELECT ?, ?'],
    [`SELECT "${'ä'.repeat(300)}"`, `SELECT "${'ä'.repeat(192)}…`],
    ["'sk'", ''],
    [`${'/**/'.repeat(900)}sk`, 'sk'],
  ]
  for (const [sql, expected] of shown) {
    withFolder((open) => {
      run(open(), sql)
      expect(open().found?.running[0]?.statement ?? '').toBe(expected)
    })
  }
})

test('more requests than there is room for are not noted, and later ones are', () => {
  withFolder((open) => {
    const reports = open()
    const entries = Array.from({ length: 400 }, () => reports.begin(WHAT))
    for (const entry of entries) entry.end()
    run(reports, 'SELECT last')
    expect(open().found?.running.map(({ statement }) => statement)).toEqual(['SELECT last'])
  })
})

test('the files are private, and damaged ones do no harm', () => {
  const directory = mkdtempSync(join(tmpdir(), 'eider-crash-'))
  const open = () => {
    return new CrashReports({ directory, restarts: NO_RESTARTS, refuseMs: 1, now: Date.now })
  }
  try {
    run(open(), 'SELECT 1')
    open()
    for (const name of ['eider.running', 'eider.crash.json']) {
      expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600)
    }
    writeFileSync(join(directory, 'eider.running'), 'torn')
    writeFileSync(join(directory, 'eider.crash.json'), '{"at":')
    expect(open().restarts()).toEqual({ count: 0, last: null })
  } finally {
    rmSync(directory, { recursive: true })
  }
})
