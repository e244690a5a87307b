import { describe, expect, test } from 'bun:test'
import { checkedSchedule, nextTime } from '../../src/core/runtime/schedule-times.ts'

function times(schedule: string, start: string, after: string, count: number): readonly string[] {
  const found: string[] = []
  let afterMs = Date.parse(after)
  while (found.length < count) {
    const next = nextTime(schedule, Date.parse(start), afterMs)
    if (next === null) break
    found.push(new Date(next).toISOString().slice(0, 16))
    afterMs = next
  }
  return found
}

describe('nextTime', () => {
  test('months keep their day, or end with the month', () => {
    const start = '2027-10-31T03:00:00Z'
    expect(times('month', start, '2027-10-31T02:59:00Z', 6)).toEqual([
      '2027-10-31T03:00',
      '2027-11-30T03:00',
      '2027-12-31T03:00',
      '2028-01-31T03:00',
      '2028-02-29T03:00',
      '2028-03-31T03:00',
    ])
    expect(times('every 3 months', '2026-11-30T00:00:00Z', '2026-12-01T00:00:00Z', 2)).toEqual([
      '2027-02-28T00:00',
      '2027-05-30T00:00',
    ])
    expect(times('year', '2024-02-29T00:00:00Z', '2024-03-01T00:00:00Z', 4)).toEqual([
      '2025-02-28T00:00',
      '2026-02-28T00:00',
      '2027-02-28T00:00',
      '2028-02-29T00:00',
    ])
  })

  test('each month once, from any moment of four years', () => {
    const startMs = Date.parse('2027-01-31T12:30:00Z')
    for (let afterMs = startMs; afterMs < Date.parse('2031-01-01'); afterMs += 13 * 3_600_000) {
      const next = nextTime('month', startMs, afterMs) ?? 0
      expect(next).toBeGreaterThan(afterMs)
      expect(next - afterMs).toBeLessThanOrEqual(31 * 86_400_000)
      expect(
        new Date(next + 86_400_000).getUTCDate() === 1 || new Date(next).getUTCDate() === 31,
      ).toBe(true)
    }
  })

  test('periods are counted from the start, however late one is', () => {
    expect(times('2 hours', '2026-01-01T00:10:00Z', '2026-03-29T00:59:00Z', 3)).toEqual([
      '2026-03-29T02:10',
      '2026-03-29T04:10',
      '2026-03-29T06:10',
    ])
    expect(times('every week', '2030-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 1)).toEqual([
      '2030-01-01T00:00',
    ])
  })

  test('cron expressions are in UTC, across clock changes', () => {
    expect(times('30 2 * * *', '2026-01-01T00:00:00Z', '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T02:30',
      '2026-03-29T02:30',
      '2026-03-30T02:30',
    ])
    expect(times('0 0 29 2 *', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 2)).toEqual([
      '2028-02-29T00:00',
      '2032-02-29T00:00',
    ])
    expect(times('0 3 31 * *', '2026-01-01T00:00:00Z', '2026-04-01T00:00:00Z', 2)).toEqual([
      '2026-05-31T03:00',
      '2026-07-31T03:00',
    ])
  })

  test('what lies beyond all calendars never comes, and takes no time to say so', () => {
    const now = Date.parse('2026-01-01')
    for (const schedule of ['999999999 months', '999999999 years', '999999999 weeks']) {
      expect(nextTime(schedule, now, now)).toBeNull()
    }
    expect(nextTime('month', Date.parse('0001-01-31'), now)).toBe(Date.parse('2026-01-31'))
  })
})

describe('checkedSchedule', () => {
  const rules = { secondsMin: 60, code: 'invalid_schedule', hint: ' (SETTING)' } as const

  test.each(['minute', ' every 2 hours', '60 seconds', '1 MONTH', '0 3 * * *', '*/5 8-18 * * 1-5'])(
    '%p is one',
    (text) => {
      expect(checkedSchedule(text, rules)).toBe(text.trim())
    },
  )

  test.each(['59 seconds', 'every second', '* * * * * *', '0,59 0 0 * * *'])(
    '%p is too often',
    (text) => {
      expect(() => checkedSchedule(text, rules)).toThrow(
        'at least 60 seconds between two runs (SETTING)',
      )
    },
  )

  test.each([
    '',
    'fortnight',
    '0 minutes',
    '0 months',
    '0 0 30 2 *',
    '999999999 months',
    'x'.repeat(300),
  ])('%p is none', (text) => {
    expect(() => checkedSchedule(text, rules)).toThrow('is not a valid schedule')
  })
})
