import { DAY_MS } from '../../../core/time.ts'

/** What a number in a cell stands for. */
export type NumberFormat = 'number' | 'date' | 'timestamp' | 'time' | 'duration'

/** By the number of a built-in format, or the code of one of the workbook's own. */
export function excelFormat(id: number, code: string | undefined): NumberFormat {
  if (code !== undefined) return formatOfCode(code)
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id === 36 || (id >= 50 && id <= 58)) {
    return 'date'
  }
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || id === 45 || id === 47) return 'time'
  if (id === 22) return 'timestamp'
  return id === 46 ? 'duration' : 'number'
}

function formatOfCode(code: string): NumberFormat {
  // The first of up to four sections, without texts, colours and conditions.
  const [section = ''] = code.split(';')
  if (/\[(h+|m+|s+)\]/i.test(section)) return 'duration'
  const plain = section.replace(/"[^"]*"|\\.|_.|\*.|\[[^\]]*\]/g, '')
  const hasDay = /[dy年月日]/i.test(plain) || /mmm/i.test(plain)
  const hasClock = /[hs]/i.test(plain)
  if (/general|standard/i.test(plain)) return 'number'
  if (/^\s*m+\s*$/i.test(plain)) return 'date'
  if (hasDay) return hasClock ? 'timestamp' : 'date'
  if (hasClock) return 'time'
  return 'number'
}

const LAST_DAY = 2_958_466

/** `2026-01-31 12:00:00`; null: before 1900 or after 9999. Excel counts a 29 February 1900, as its ancestor did. */
export function calendarText(serial: number, is1904: boolean): string | null {
  if (serial < 0 || serial >= LAST_DAY - (is1904 ? 1462 : 0)) return null
  const start = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, serial < 60 ? 31 : 30)
  const text = new Date(start + Math.round(serial * DAY_MS)).toISOString()
  return text
    .slice(0, 23)
    .replace('T', ' ')
    .replace(/\.000$/, '')
}

/** `36:15:00` of one and a half days and a quarter of an hour. */
export function clockText(days: number): string {
  const total = Math.round(Math.abs(days) * DAY_MS)
  const [hours, minutes, seconds, rest] = [
    Math.floor(total / 3_600_000),
    Math.floor(total / 60_000) % 60,
    Math.floor(total / 1000) % 60,
    total % 1000,
  ]
  const clock = [hours, minutes, seconds].map((part) => String(part).padStart(2, '0')).join(':')
  const fraction = rest === 0 ? '' : `.${String(rest).padStart(3, '0')}`
  return `${days < 0 ? '-' : ''}${clock}${fraction}`
}
