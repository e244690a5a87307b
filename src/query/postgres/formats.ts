/**
 * Translates PostgreSQL's patterns for dates and numbers (PostgreSQL manual, 9.8) to DuckDB
 * functions.
 */
import { literal } from '../../core/domain/names.ts'

/** A part of a date: a `strftime` code, or an expression over the value. */
type Part = string | ((value: string) => string)

const padded = (code: string, change = (text: string) => text): Part => {
  return (value) => `rpad(${change(`strftime(${value}, '${code}')`)}, 9, ' ')`
}
const changed = (code: string, change: 'upper' | 'lower'): Part => {
  return (value) => `${change}(strftime(${value}, '${code}'))`
}
const counted = (part: (value: string) => string): Part => {
  return (value) => `(${part(value)})::VARCHAR`
}
const upper = (text: string) => `upper(${text})`
const lower = (text: string) => `lower(${text})`

/** Longer patterns come before their prefixes. The second part is used after FM. */
const DATE_PARTS: readonly (readonly [pattern: string, part: Part, trimmed?: Part])[] = [
  ['YYYY', '%Y'],
  ['YY', '%y'],
  ['IYYY', '%G'],
  ['MONTH', padded('%B', upper), changed('%B', 'upper')],
  ['Month', padded('%B'), '%B'],
  ['month', padded('%B', lower), changed('%B', 'lower')],
  ['MON', changed('%b', 'upper')],
  ['Mon', '%b'],
  ['mon', changed('%b', 'lower')],
  ['MM', '%m', '%-m'],
  ['MI', '%M', '%-M'],
  ['MS', '%g'],
  ['DAY', padded('%A', upper), changed('%A', 'upper')],
  ['Day', padded('%A'), '%A'],
  ['day', padded('%A', lower), changed('%A', 'lower')],
  ['DDD', '%j', '%-j'],
  ['DD', '%d', '%-d'],
  ['DY', changed('%a', 'upper')],
  ['Dy', '%a'],
  ['dy', changed('%a', 'lower')],
  ['D', counted((value) => `dayofweek(${value}) + 1`)],
  ['HH24', '%H', '%-H'],
  ['HH12', '%I', '%-I'],
  ['HH', '%I', '%-I'],
  ['SS', '%S', '%-S'],
  ['US', '%f'],
  ['AM', '%p'],
  ['PM', '%p'],
  ['am', changed('%p', 'lower')],
  ['pm', changed('%p', 'lower')],
  ['ID', counted((value) => `isodow(${value})`)],
  ['IW', '%V'],
  ['WW', (value) => `lpad(((dayofyear(${value}) + 6) // 7)::VARCHAR, 2, '0')`],
  ['W', counted((value) => `(day(${value}) + 6) // 7`)],
  ['Q', counted((value) => `quarter(${value})`)],
  ['TZ', () => "'UTC'"],
]

/** @returns undefined if part of the pattern is not supported */
function dateParts(format: string): readonly Part[] | undefined {
  const parts: Part[] = []
  let at = 0
  let isTrimmed = false
  while (at < format.length) {
    const rest = format.slice(at)
    const [quoted, text = ''] = /^"([^"]*)"/.exec(rest) ?? []
    const found =
      DATE_PARTS.find(([pattern]) => rest.startsWith(pattern)) ??
      DATE_PARTS.find(([pattern]) => rest.startsWith(pattern.toLowerCase()))
    if (rest.startsWith('FM')) {
      isTrimmed = true
      at += 2
    } else if (quoted !== undefined) {
      parts.push(text.replaceAll('%', '%%'))
      at += quoted.length
    } else if (found !== undefined) {
      const [pattern, part, trimmed = part] = found
      parts.push(isTrimmed ? trimmed : part)
      isTrimmed = false
      at += pattern.length
    } else if (/^[a-z]/i.test(rest)) {
      return undefined
    } else {
      parts.push(rest.slice(0, 1).replace('%', '%%'))
      at += 1
    }
  }
  return parts
}

/** SQL that formats a date or time as text. */
function dateText(value: string, format: string): string | undefined {
  const parts = dateParts(format)
  if (parts === undefined) return undefined
  const texts: string[] = []
  let codes = ''
  const put = () => {
    if (codes !== '') texts.push(`strftime(${value}, ${literal(codes)})`)
    codes = ''
  }
  for (const part of parts) {
    if (typeof part === 'string') {
      codes += part
      continue
    }
    put()
    texts.push(part(value))
  }
  put()
  return `(${texts.length === 0 ? "''" : texts.join(' || ')})`
}

/** SQL that parses a text as a timestamp. */
export function dateFrom(text: string, format: string): string | undefined {
  const parts = dateParts(format.replaceAll(/FM|TM/g, ''))
  const codes = parts?.map((part) => (typeof part === 'string' ? part : READ_CODES.get(part)))
  if (codes === undefined || codes.includes(undefined)) return undefined
  return `strptime(${text}, ${literal(codes.join(''))})`
}

/** Names of months and days are read in any case. */
const READ_CODES: ReadonlyMap<Part, string> = new Map(
  DATE_PARTS.flatMap(([pattern, part]) => {
    const codes = { month: '%B', mon: '%b', day: '%A', dy: '%a', am: '%p', pm: '%p' }
    const code = Object.entries(codes).find(([name]) => name === pattern.toLowerCase())?.[1]
    return code === undefined ? [] : [[part, code] as const]
  }),
)

const NUMBER_FORMAT =
  /^(?<before>[^0-9.,GDSL]*)(?<whole>[09,G]*)(?:[.D](?<decimals>[09]*))?(?<after>[^0-9.,GDSL]*)$/

/** With digits, group separators, decimals, and PostgreSQL's leading spaces. */
function numberText(value: string, given: string): string | undefined {
  const isTrimmed = given.startsWith('FM')
  const {
    before = '',
    whole = '',
    decimals,
    after = '',
  } = NUMBER_FORMAT.exec(isTrimmed ? given.slice(2) : given)?.groups ?? {}
  const digits = whole.replaceAll(/[,G]/g, '')
  const zeros = digits.includes('0') ? digits.length - digits.indexOf('0') : 0
  const isGrouped = digits !== whole
  if (digits + (decimals ?? '') === '' || /[a-z]/i.test(before + after) || (isGrouped && zeros > 1))
    return undefined
  const places = decimals?.length ?? 0
  let text = `format('{:${isGrouped ? ',' : ''}.${places}f}', round(abs(${value})::DOUBLE, ${places}))`
  if (zeros === 0 && places > 0) text = `regexp_replace(${text}, '^0\\.', '.')`
  if (zeros > 1) {
    const width = zeros + (places === 0 ? 0 : places + 1)
    text = `lpad(${text}, greatest(${width}, length(${text})::INTEGER), '0')`
  }
  const optional = places - ((decimals ?? '').lastIndexOf('0') + 1)
  if (isTrimmed && optional > 0) text = `regexp_replace(${text}, '0{1,${optional}}$', '')`
  text = `(CASE WHEN ${value} < 0 THEN '-' ELSE '' END || ${text})`
  const point = decimals === undefined ? 0 : 1
  const width = whole.length + point + places + 1
  if (!isTrimmed) text = `lpad(${text}, greatest(${width}, length(${text})::INTEGER), ' ')`
  return `(${literal(before)} || ${text} || ${literal(after)})`
}

/** Translates `to_char`. If the format contains digit patterns, the value is a number. */
export function formatted(value: string, format: string): string | undefined {
  const isNumber = /[09]/.test(format.replaceAll(/"[^"]*"/g, ''))
  return isNumber ? numberText(`(${value})`, format) : dateText(`(${value})`, format)
}
