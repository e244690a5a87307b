import type { ScheduleTimes } from '../../core/domain/ports/job-ports.ts'
import { AppError } from '../../core/errors.ts'
import { checkedSchedule, nextTime } from '../../core/runtime/schedule-times.ts'

/** Schedule periods, counted from their start, so that no run moves the next one. All times are UTC. */
export function scheduleTimes(secondsMin: number): ScheduleTimes {
  return {
    check(every) {
      const hint = ' (EIDER_SCHEDULE_SECONDS_MIN)'
      checkedSchedule(every, { secondsMin, code: 'invalid_schedule', hint })
    },
    next({ startAt, endAt, every }, afterMs) {
      const startMs = millisOf(startAt)
      const once = startMs > afterMs ? startMs : null
      const next = every === null ? once : nextTime(every, startMs, afterMs)
      return next === null || (endAt !== null && next > millisOf(endAt)) ? null : next
    },
  }
}

/** Points in time in the API's format, or as people write them; UTC. */
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
