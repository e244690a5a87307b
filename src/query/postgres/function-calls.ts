/** PostgreSQL functions that DuckDB lacks or names differently. */
import { literal } from '../../core/domain/names.ts'

/** DuckDB's name, or a function that builds the call. Undefined leaves it unchanged. */
type Call = string | ((args: readonly string[]) => string | undefined)

const ago = (unit: string) => (count: string) => `to_${unit}(${count})`
const INTERVAL_UNITS = ['years', 'months', 'weeks', 'days', 'hours', 'minutes', 'seconds']

export const CALLS: Readonly<Record<string, Call>> = {
  array_remove: ([list, value]) => `list_filter(${list}, z_i -> z_i IS DISTINCT FROM ${value})`,
  array_replace: ([list, from, to]) =>
    `list_transform(${list}, z_i -> CASE WHEN z_i IS NOT DISTINCT FROM ${from} THEN ${to} ELSE z_i END)`,
  btrim: 'trim',
  clock_timestamp: 'now',
  current_timestamp: () => 'now()',
  date_bin: ([width, time, from]) => `time_bucket((${width})::INTERVAL, ${time}, ${from})`,
  date_trunc: ([unit, time, zone]) =>
    zone && `timezone(${zone}, date_trunc(${unit}, timezone(${zone}, ${time})))`,
  decode: ([text, format]) => inFormat(text, format, { hex: 'unhex', base64: 'from_base64' }),
  div: ([a, b]) => `trunc((${a}) / (${b}))`,
  encode: ([bytes, format]) => {
    const text = inFormat(bytes, format, { hex: 'hex', base64: 'to_base64' })
    return text?.startsWith('hex') ? `lower(${text})` : text
  },
  every: 'bool_and',
  format: ([format, ...values]) => positional(textOf(format), values),
  generate_series: ([from, to, step]) =>
    step?.startsWith("'") ? `generate_series(${from}, ${to}, ${step}::INTERVAL)` : undefined,
  initcap: ([text]) =>
    `array_to_string(list_transform(regexp_extract_all(lower(${text}), '[\\p{L}\\d]+|[^\\p{L}\\d]+'), z_w -> upper(z_w[1]) || z_w[2:]), '')`,
  json_agg: 'json_group_array',
  json_build_array: 'json_array',
  json_build_object: 'json_object',
  json_object_agg: 'json_group_object',
  jsonb_agg: 'json_group_array',
  jsonb_array_length: 'json_array_length',
  jsonb_build_array: 'json_array',
  jsonb_build_object: 'json_object',
  jsonb_extract_path: (args) => jsonPath('json_extract', args),
  jsonb_extract_path_text: (args) => jsonPath('json_extract_string', args),
  jsonb_object_agg: 'json_group_object',
  jsonb_object_keys: ([value]) => `unnest(json_keys(${value}))`,
  jsonb_pretty: 'json_pretty',
  json_extract_path: (args) => jsonPath('json_extract', args),
  json_extract_path_text: (args) => jsonPath('json_extract_string', args),
  json_object_keys: ([value]) => `unnest(json_keys(${value}))`,
  localtimestamp: () => 'now()::TIMESTAMP',
  make_interval: (args) => {
    const parts = args.map((arg, index) => {
      const [, name, value = arg] = /^(\w+)\s*=>\s*(.*)$/s.exec(arg) ?? []
      const unit = { mins: 'minutes', secs: 'seconds' }[name ?? ''] ?? name
      return ago(unit ?? INTERVAL_UNITS[index] ?? '')(value)
    })
    return parts.length === 0 ? undefined : `(${parts.join(' + ')})`
  },
  quote_ident: ([name]) => quotedName(name ?? ''),
  quote_literal: ([text]) => quotedText(text ?? ''),
  regexp_count: ([text, pattern]) => `len(regexp_extract_all(${text}, ${pattern}))`,
  regexp_like: 'regexp_matches',
  regexp_match: ([text, pattern]) => {
    const groups = groupsOf(textOf(pattern) ?? '')
    const found = groups.map((group) => `regexp_extract(${text}, ${pattern}, ${group})`)
    return `CASE WHEN regexp_matches(${text}, ${pattern}) THEN [${found.join(', ')}] END`
  },
  regexp_substr: ([text, pattern]) => `nullif(regexp_extract(${text}, ${pattern}), '')`,
  statement_timestamp: 'now',
  string_to_array: 'string_split',
  substring: ([whole, other]) => {
    const [, text, pattern = ''] = /^(.*)\sfrom\s+('(?:[^']|'')*')$/is.exec(whole ?? '') ?? []
    if (text === undefined || other !== undefined) return undefined
    const [group] = groupsOf(textOf(pattern) ?? '')
    return `nullif(regexp_extract(${text}, ${pattern}, ${group}), '')`
  },
  to_char: ([value, format]) => withFormat(formatted, value, format),
  to_date: ([text, format]) => cast(withFormat(dateFrom, text, format), 'DATE'),
  to_jsonb: 'to_json',
  to_number: ([text, format]) => {
    const [, decimals = ''] = /[.D]([09]*)/.exec(textOf(format) ?? '') ?? []
    return `regexp_replace(${text}, '[^0-9.-]', '', 'g')::DECIMAL(30, ${decimals.length})`
  },
  to_timestamp: ([text, format]) => cast(withFormat(dateFrom, text, format), 'TIMESTAMPTZ'),
  width_bucket: ([x, low, high, count]) =>
    `greatest(0, least((${count}) + 1, floor(((${x}) - (${low})) / ((${high}) - (${low})) * (${count})) + 1))::INTEGER`,
}

/** Longer formats and patterns are left to DuckDB, because reading them takes quadratic time. */
const FORMAT_CHARS_MAX = 1_000

function textOf(sql = ''): string | undefined {
  if (sql.length > FORMAT_CHARS_MAX) return undefined
  return /^'((?:[^']|'')*)'(?:\s*::\s*\w+)?$/.exec(sql)?.[1]?.replaceAll("''", "'")
}

function cast(expression: string | undefined, type: string): string | undefined {
  return expression && `${expression}::${type}`
}

function withFormat(
  write: (value: string, format: string) => string | undefined,
  value: string | undefined,
  format: string | undefined,
): string | undefined {
  const text = textOf(format)
  return value === undefined || text === undefined ? undefined : write(value, text)
}

function inFormat(
  value: string | undefined,
  format: string | undefined,
  functions: Readonly<Record<string, string>>,
): string | undefined {
  const name = functions[textOf(format) ?? '']
  return name && `${name}(${value})`
}

function quotedName(name: string): string {
  const quoted = `'"' || replace(${name}, '"', '""') || '"'`
  return `CASE WHEN regexp_full_match(${name}, '[a-z_][a-z0-9_$]*') THEN ${name} ELSE ${quoted} END`
}

function quotedText(text: string): string {
  return `'''' || replace((${text})::VARCHAR, '''', '''''') || ''''`
}

/** Translates `format('%s is %I', a, b)`, because DuckDB's `format` uses braces. */
function positional(format: string | undefined, values: readonly string[]): string | undefined {
  if (format === undefined || !/%[sIL]/.test(format)) return undefined
  let next = 0
  const parts = format.split(/(%[sIL%])/).map((part) => {
    if (part === '%%' || !/^%[sIL]$/.test(part)) return literal(part === '%%' ? '%' : part)
    const value = `(${values[next] ?? 'NULL'})::VARCHAR`
    next += 1
    if (part === '%s') return value
    return part === '%I' ? quotedName(value) : `coalesce(${quotedText(value)}, 'NULL')`
  })
  return `concat(${parts.join(', ')})`
}

function jsonPath(name: string, [value, ...keys]: readonly string[]): string | undefined {
  const texts = keys.map(textOf)
  const path = pathLiteral(texts.map((text) => text ?? null))
  return path && `${name}(${value}, ${path})`
}

/** `{a,0}` becomes `$."a"[0]`. Undefined if a key is unknown or cannot be written. */
export function pathLiteral(keys: readonly (string | null)[]): string | undefined {
  if (keys.some((key) => key === null || key.includes('"'))) return undefined
  const steps = keys.map((key) => (/^\d+$/.test(key ?? '') ? `[${key}]` : `."${key}"`))
  return literal(`$${steps.join('')}`)
}

/** The numbers of a pattern's groups; without groups, 0 for the whole match. */
function groupsOf(pattern: string): readonly number[] {
  const count = pattern.replaceAll(/\\.|\[[^\]]*\]/g, '').match(/\((?!\?)/g)?.length ?? 0
  return count === 0 ? [0] : Array.from({ length: count }, (_, index) => index + 1)
}

// Translates PostgreSQL's patterns for dates and numbers (PostgreSQL manual, 9.8) to DuckDB
// functions.

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
function dateFrom(text: string, format: string): string | undefined {
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
function formatted(value: string, format: string): string | undefined {
  const isNumber = /[09]/.test(format.replaceAll(/"[^"]*"/g, ''))
  return isNumber ? numberText(`(${value})`, format) : dateText(`(${value})`, format)
}
