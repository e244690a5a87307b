/** When something is due that comes again: a cron expression, or `every 15 minutes`. */
import { Cron } from 'croner'
import { AppError, type ErrorCode } from '../errors.ts'

const UNIT_MS: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
}

const EVERY = /^every\s+(?:(\d{1,6})\s+)?(second|minute|hour|day|week)s?$/i

/** Nothing is due more often. */
const PERIOD_MS_MIN = 10_000

/**
 * The first time after `afterMs`, in milliseconds since 1970; null: never. Cron expressions are in the time zone of the
 * machine.
 */
export function nextTime(schedule: string, afterMs: number): number | null {
  const period = periodOf(schedule)
  if (period !== null) return afterMs + period
  return new Cron(schedule, { paused: true }).nextRun(new Date(afterMs))?.getTime() ?? null
}

/** The schedule as it is stored. @throws AppError of that code for what is none, or never comes */
export function checkedSchedule(text: string, code: ErrorCode): string {
  const schedule = text.trim()
  const period = periodOf(schedule)
  if (period !== null && period < PERIOD_MS_MIN) {
    throw new AppError(code, `A schedule has at least ${PERIOD_MS_MIN / 1000} seconds between runs`)
  }
  try {
    if (schedule.length < 200 && nextTime(schedule, Date.now()) !== null) return schedule
  } catch {
    // Said below.
  }
  const expected =
    'expected "every 15 minutes", or a cron expression that comes again as "0 3 * * *"'
  throw new AppError(code, `${JSON.stringify(schedule.slice(0, 80))} is no schedule: ${expected}`)
}

function periodOf(schedule: string): number | null {
  const [, count = '1', unit = ''] = EVERY.exec(schedule.trim()) ?? []
  const unitMs = UNIT_MS[unit.toLowerCase()]
  return unitMs === undefined ? null : Number(count) * unitMs
}
