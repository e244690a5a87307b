/** Units of time. Shorter or special ones are defined where they are used. */
export const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC, the API's only timestamp format. */
export function timestampOf(micros: bigint): string {
  const millis = micros >= 0n ? micros / 1000n : -((-micros + 999n) / 1000n)
  const rest = micros - millis * 1000n
  const date = new Date(Number(millis))
  if (Number.isNaN(date.getTime())) return 'infinity'
  return `${date.toISOString().replace('T', ' ').replace('Z', '')}${rest.toString().padStart(3, '0')}`
}

/** Like `timestampOf`, for milliseconds. */
export function timestampOfMillis(millis: number): string {
  return timestampOf(BigInt(Math.round(millis * 1000)))
}

/** Converts an API timestamp to milliseconds since 1970. */
export function millisOf(timestamp: string): number {
  return Date.parse(`${timestamp.replace(' ', 'T')}Z`)
}

/** Whether the text is an existing day from year 1 on, as `YYYY-MM-DD`. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text.startsWith('0000')) return false
  const date = new Date(`${text}T00:00:00Z`)
  // For a date such as 30 February, the result is another day or invalid.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

/** From DuckDB or `timestampOf`: fractions without trailing zeros, BC at the end. */
export function postgresMoment(text: string, zone = ''): string {
  if (text.endsWith('infinity')) return text
  const short = text.endsWith('0') && text.includes('.') ? text.replace(/\.?0+$/, '') : text
  const isEarly = /^[-+]|^0000-|\(BC\)/.test(short)
  if (!isEarly) return short + zone
  const [, sign, year = '', rest = ''] = /^([-+]?)(\d+)(.*)$/.exec(short.replace(' (BC)', '')) ?? []
  const hasEra = short.includes('(BC)')
  const isBefore = hasEra || sign === '-' || Number(year) === 0
  // In ISO 8601, the year before year 1 is 0.
  const shown = isBefore && !hasEra ? Number(year) + 1 : Number(year)
  return `${String(shown).padStart(4, '0')}${rest}${zone}${isBefore ? ' BC' : ''}`
}
