import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { failureFields, logStyleOf, logText } from '../../src/ops/telemetry/log-text.ts'

const TIME = new Date(2026, 3, 30, 12, 3, 4).getTime()
const REQUEST = {
  ...{ level: 30, time: TIME, method: 'POST', path: '/api/sql/query', status: 200, ms: 12.4 },
  ...{ requestId: '7f0c', msg: 'request' },
}

function shown(fields: object, hasColours = false): string {
  return logText(JSON.stringify({ level: 30, time: TIME, ...fields }), hasColours)
}

test('a request is one line, with its principal if known', () => {
  expect(shown(REQUEST)).toBe('12:03:04 POST /api/sql/query 200 12 ms  7f0c\n')
  expect(shown({ ...REQUEST, principal: 'key ci' })).toBe(
    '12:03:04 POST /api/sql/query 200 12 ms  key ci  7f0c\n',
  )
  expect(shown({ ...REQUEST, status: 404, code: 'not_found' })).toBe(
    '12:03:04 POST /api/sql/query 404 not_found 12 ms  7f0c\n',
  )
})

test('colours are there where they are wanted, and nowhere else', () => {
  expect(shown({ ...REQUEST, status: 500 }, true)).toContain('\u001b[31m500\u001b[0m')
  expect(shown({ ...REQUEST, status: 500 })).not.toContain('\u001b')
})

test('what clients send forges no line and obeys no order to the terminal', () => {
  const hostile = 'a\n12:00:00 forged\r\u001b[2J\u009b1m\u2028\u202e'
  for (const fields of [
    { ...REQUEST, path: hostile, method: hostile, principal: hostile, requestId: hostile },
    { level: 50, msg: hostile, field: hostile, other: [hostile] },
    { msg: 'job over', kind: 'insert', title: hostile, state: 'failed', error: hostile },
    { msg: 'failure', requestId: hostile, message: hostile, stack: `Error: ${hostile}` },
  ]) {
    const text = shown(fields)
    const lines = text.trimEnd().split('\n')
    // A stack has several lines, all of which but the first are indented.
    expect(lines.slice(1).every((line) => line.startsWith('  '))).toBe(true)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters.
    expect(text.replaceAll('\n', '')).not.toMatch(/[\x00-\x1f\x7f-\x9f\u2028\u202e]/)
  }
})

test('a failure is logged with its causes', () => {
  const error = new Error('the file is gone', { cause: new Error('ENOENT: eider.duckdb') })
  const text = shown({ level: 50, msg: 'failure', requestId: '7f0c', ...failureFields(error) })
  expect(text).toStartWith('12:03:04 failure of 7f0c: Error: the file is gone\n')
  expect(text).toContain('\n  caused by Error: ENOENT: eider.duckdb\n')
})

test('causes without end are not followed for ever', () => {
  const error = new Error('x'.repeat(10_000))
  error.cause = error
  const { causes = [] } = failureFields(error)
  expect(causes).toHaveLength(5)
  expect(causes.join('').length).toBeLessThan(30_000)
  expect(failureFields('a text')).toMatchObject({ message: 'a text' })
})

test('jobs and crashes are one line', () => {
  const job = {
    id: 7,
    kind: 'insert',
    state: 'completed',
    title: 'docs in shop',
    rows: 3,
    total: 4,
  }
  expect(shown({ ...job, msg: 'job over', rate: null, errorCount: 1 })).toBe(
    '12:03:04 job 7 insert completed: docs in shop  3 of 4 rows  1 errors\n',
  )
  const failed = { ...job, state: 'failed', error: 'The source is empty' }
  expect(shown({ ...failed, msg: 'job over' })).toBe(
    '12:03:04 job 7 insert failed: docs in shop  3 of 4 rows  The source is empty\n',
  )
  expect(shown({ level: 60, reason: 'SIGSEGV', running: [], msg: 'the server crashed' })).toBe(
    '12:03:04 the server crashed  reason=SIGSEGV  running=[]\n',
  )
})

describe('the form', () => {
  const cases = [
    ['auto', true, {}, { isText: true, hasColours: true }],
    ['auto', false, {}, { isText: false, hasColours: false }],
    ['auto', true, { NO_COLOR: '1' }, { isText: true, hasColours: false }],
    ['auto', true, { NO_COLOR: '' }, { isText: true, hasColours: true }],
    ['auto', true, { TERM: 'dumb' }, { isText: true, hasColours: false }],
    ['text', false, {}, { isText: true, hasColours: false }],
    ['json', true, {}, { isText: false, hasColours: false }],
  ] as const
  for (const [logFormat, isTerminal, environment, style] of cases) {
    test(`${logFormat}, ${isTerminal ? 'a terminal' : 'a pipe'}, ${JSON.stringify(environment)}`, () => {
      expect(logStyleOf({ logFormat }, environment, isTerminal)).toEqual(style)
    })
  }
})

test('a log ends with its last line, also while the lines before are being written', async () => {
  const path = join(import.meta.dir, '../../src/ops/telemetry/log-lines.ts')
  const script = `const { LogLines } = await import(${JSON.stringify(path)})
    const lines = new LogLines()
    lines.write('x'.repeat(9000) + '\\n')
    lines.write('last\\n')
    await lines.end()
    process.exit(0)`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
  expect(await new Response(child.stdout).text()).toEndWith('x\nlast\n')
})
