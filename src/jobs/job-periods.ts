import { Cron } from 'croner'
import type { ScheduleTimes } from '../domain/ports/schedule-ports.ts'
import { AppError } from '../errors.ts'

const UNITS: Readonly<Record<string, { readonly ms: number } | { readonly months: number }>> = {
  second: { ms: 1000 },
  sec: { ms: 1000 },
  minute: { ms: 60_000 },
  min: { ms: 60_000 },
  hour: { ms: 3_600_000 },
  day: { ms: 86_400_000 },
  week: { ms: 7 * 86_400_000 },
  month: { months: 1 },
}

const INTERVAL = /^(?:(\d{1,9})\s+)?([a-z]+?)s?$/i

/** When schedules run: counted from their start, so that no run moves the next one. All times are UTC. */
export function scheduleTimes(secondsMin: number): ScheduleTimes {
  return {
    next({ startAt, endAt, every }, afterMs) {
      const startMs = millisOf(startAt)
      const next = every === null ? once(startMs, afterMs) : repeated(every, startMs, afterMs)
      if (next === null || (endAt !== null && next > millisOf(endAt))) return null
      return next
    },
  }

  function repeated(every: string, startMs: number, afterMs: number): number | null {
    const [, count = '1', name = ''] = INTERVAL.exec(every.trim()) ?? []
    const unit = UNITS[name.toLowerCase()]
    if (unit === undefined) return byPattern(every, startMs, afterMs)
    const number = Number(count)
    if (number < 1) throw wrong(every, 'a period is at least 1')
    return 'ms' in unit
      ? byMillis(every, number * unit.ms, startMs, afterMs)
      : byMonths(number * unit.months, startMs, afterMs)
  }

  function byMillis(every: string, ms: number, startMs: number, afterMs: number): number {
    if (ms < secondsMin * 1000) {
      throw wrong(every, `the shortest is ${secondsMin} seconds (EIDER_SCHEDULE_SECONDS_MIN)`)
    }
    if (startMs > afterMs) return startMs
    return startMs + (Math.floor((afterMs - startMs) / ms) + 1) * ms
  }

  function byPattern(every: string, startMs: number, afterMs: number): number | null {
    const cron = patternOf(every)
    const from = new Date(Math.max(startMs - 1, afterMs))
    const [first, second] = cron.nextRuns(2, from)
    const gapMs = first && second ? second.getTime() - first.getTime() : Number.POSITIVE_INFINITY
    if (gapMs < secondsMin * 1000) {
      throw wrong(every, `the shortest is ${secondsMin} seconds (EIDER_SCHEDULE_SECONDS_MIN)`)
    }
    return first?.getTime() ?? null
  }
}

/** Points in time of the API's format, or as people write them; UTC. */
export function millisOf(text: string): number {
  const zoned = /(?:z|[+-]\d{2}:?\d{2})$/i.test(text) ? text : `${text}Z`
  const millis = Date.parse(/^\d{4}-\d{2}-\d{2}$/.test(text) ? text : zoned.replace(' ', 'T'))
  if (Number.isNaN(millis)) {
    throw new AppError(
      'invalid_schedule',
      `"${text.slice(0, 40)}" is no time: write YYYY-MM-DD HH:MM:SS, UTC`,
    )
  }
  return millis
}

function once(startMs: number, afterMs: number): number | null {
  return startMs > afterMs ? startMs : null
}

/** The same day of later months, or their last one. */
function byMonths(months: number, startMs: number, afterMs: number): number {
  const start = new Date(startMs)
  for (let count = 0; ; count += 1) {
    const month = new Date(startMs)
    month.setUTCDate(1)
    month.setUTCMonth(start.getUTCMonth() + count * months)
    const last = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 0))
    month.setUTCDate(Math.min(start.getUTCDate(), last.getUTCDate()))
    if (month.getTime() > afterMs) return month.getTime()
  }
}

function patternOf(every: string): Cron {
  try {
    return new Cron(every, { timezone: 'UTC', paused: true })
  } catch (error) {
    const known = 'write EVERY 2 hours, EVERY day, or a cron expression in quotes'
    throw new AppError('invalid_schedule', `"${every.slice(0, 80)}" is no period: ${known}`, {
      cause: error,
    })
  }
}

function wrong(every: string, why: string): AppError {
  return new AppError('invalid_schedule', `EVERY ${every.slice(0, 80)}: ${why}`)
}
