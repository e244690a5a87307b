/**
 * When a recurring schedule is due: `every 15 minutes`, `2 hours`, `month`, or a cron expression.
 * All times are UTC.
 */

import { Cron } from 'croner'
import { AppError, type ErrorCode } from '../errors.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../time.ts'

const PERIOD_UNITS: Readonly<
  Record<string, { readonly ms: number } | { readonly months: number }>
> = {
  second: { ms: SECOND_MS },
  sec: { ms: SECOND_MS },
  minute: { ms: MINUTE_MS },
  min: { ms: MINUTE_MS },
  hour: { ms: HOUR_MS },
  day: { ms: DAY_MS },
  week: { ms: 7 * DAY_MS },
  month: { months: 1 },
  year: { months: 12 },
}

const INTERVAL = /^(?:every\s+)?(?:(\d{1,9})\s+)?([a-z]+?)s?$/i

const SCHEDULE_CHARS_MAX = 200
/** Enough runs to find the shortest interval of a cron expression. */
const RUNS_LOOKED_AT = 10
/** The latest time that a timestamp with a four-digit year can express. */
const LAST_MS = Date.UTC(9999, 11, 31)

type Period = { readonly ms: number } | { readonly months: number } | { readonly cron: Cron }

/** In ms since 1970; null if never. @throws Error for what `checkedSchedule` refuses */
export function nextTime(schedule: string, startMs: number, afterMs: number): number | null {
  const period = periodOf(schedule)
  if ('cron' in period) {
    return period.cron.nextRun(new Date(Math.max(startMs - 1, afterMs)))?.getTime() ?? null
  }
  if (startMs > afterMs) return startMs
  const next = 'ms' in period ? afterMillis(period.ms, startMs, afterMs) : null
  const time = 'months' in period ? afterMonths(period.months, startMs, afterMs) : next
  return time !== null && time <= LAST_MS ? time : null
}

/** The schedule in the form in which it is stored. @throws AppError */
export function checkedSchedule(
  text: string,
  given: {
    /** The shortest allowed time between two runs. */
    readonly secondsMin: number
    /** The error code for a schedule that is invalid, never due, or due too often. */
    readonly code: ErrorCode
    /** Added to the message about too short an interval, such as the name of the setting. */
    readonly hint?: string
  },
): string {
  const { secondsMin, code, hint = '' } = given
  const schedule = text.trim()
  const shown = JSON.stringify(schedule.slice(0, 80))
  let gapMs: number | null = null
  try {
    gapMs = schedule.length <= SCHEDULE_CHARS_MAX ? shortestGapMs(schedule) : null
  } catch {
    // Handled below: such a schedule is never due.
  }
  if (gapMs === null) {
    const expected =
      'expected "every 15 minutes", "2 hours", or a recurring cron expression such as "0 3 * * *" (UTC)'
    throw new AppError(code, `${shown} is not a valid schedule: ${expected}`)
  }
  if (gapMs >= secondsMin * SECOND_MS) return schedule
  throw new AppError(
    code,
    `${shown}: there are at least ${secondsMin} seconds between two runs${hint}`,
  )
}

/** Returns null if the schedule is never due. */
function shortestGapMs(schedule: string): number | null {
  const period = periodOf(schedule)
  if ('ms' in period) return nextTime(schedule, 0, 0) === null || period.ms === 0 ? null : period.ms
  if ('months' in period) {
    return period.months === 0 || nextTime(schedule, 0, 0) === null
      ? null
      : period.months * 28 * DAY_MS
  }
  const runs = period.cron.nextRuns(RUNS_LOOKED_AT).map((run) => run.getTime())
  if (runs.length === 0) return null
  return Math.min(...runs.slice(1).map((run, index) => run - (runs[index] ?? run)))
}

function periodOf(schedule: string): Period {
  const [, count = '1', name = ''] = INTERVAL.exec(schedule.trim()) ?? []
  const unit = PERIOD_UNITS[name.toLowerCase()]
  if (unit === undefined) return { cron: new Cron(schedule, { timezone: 'UTC', paused: true }) }
  const number = Number(count)
  return 'ms' in unit ? { ms: number * unit.ms } : { months: number * unit.months }
}

function afterMillis(ms: number, startMs: number, afterMs: number): number {
  return startMs + (Math.floor((afterMs - startMs) / ms) + 1) * ms
}

/** The same day of a later month, or that month's last day. */
function afterMonths(months: number, startMs: number, afterMs: number): number | null {
  const start = new Date(startMs)
  const after = new Date(afterMs)
  const years = after.getUTCFullYear() - start.getUTCFullYear()
  const passed = years * 12 + after.getUTCMonth() - start.getUTCMonth()
  // The first candidate may be too early; the second never is.
  const first = Math.max(1, Math.floor(passed / months))
  for (const count of [first, first + 1]) {
    const month = new Date(startMs)
    month.setUTCDate(1)
    month.setUTCMonth(start.getUTCMonth() + count * months)
    const last = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 0))
    month.setUTCDate(Math.min(start.getUTCDate(), last.getUTCDate()))
    if (month.getTime() > afterMs) return month.getTime()
  }
  return null
}
