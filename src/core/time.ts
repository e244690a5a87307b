/** Units of time. Shorter ones, and other meanings, are named where they are used. */
export const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** Microseconds since 1970 as `YYYY-MM-DD HH:MM:SS.ffffff`, UTC: the one format of the API. */
export function timestampOf(micros: bigint): string {
  const millis = micros >= 0n ? micros / 1000n : -((-micros + 999n) / 1000n)
  const rest = micros - millis * 1000n
  const date = new Date(Number(millis))
  if (Number.isNaN(date.getTime())) return 'infinity'
  return `${date.toISOString().replace('T', ' ').replace('Z', '')}${rest.toString().padStart(3, '0')}`
}

/** The same for a point in time in milliseconds. */
export function timestampOfMillis(millis: number): string {
  return timestampOf(BigInt(Math.round(millis * 1000)))
}
