import { literal } from '../../core/domain/names.ts'

/** DuckDB tests rows with the SQL, but the pattern tests the first: they must mean the same. */
export interface CellKind {
  readonly name: string
  readonly type: string
  readonly pattern: RegExp
  /** NULL if the value is not of this kind. */
  readonly cast: (value: string) => string
  /** True if the value is of this kind; by default `cast(value) IS NOT NULL`. */
  readonly holds?: (value: string) => string
}

const SMALL_INTEGER_DIGITS = 18

/** Ways to write "no value" in columns other than text. In text, NA may be a name, or Namibia. */
export const NULL_MARKERS: readonly string[] =
  ' NA N/A n/a #N/A NULL Null null None NaN nan \\N - -- ? .'.split(' ')

export const IS_NULL_MARKER: ReadonlySet<string> = new Set(NULL_MARKERS)

/** A number with a leading zero, which a numeric type would lose. */
const leadsWithZero = (value: string) =>
  `((${value} >= '00' AND ${value} < '0:') OR (${value} >= '-00' AND ${value} < '-0:'))`

/** DuckDB's regular expressions match whole values and write code points differently. */
function matches(value: string, pattern: RegExp): string {
  return `regexp_full_match(${value}, ${literal(duckPattern(pattern.source.replace(/^\^|\$$/g, '')))}${pattern.ignoreCase ? ", 'i'" : ''})`
}

function duckPattern(source: string): string {
  return source.replace(/\\u([0-9a-f]{4})/g, '\\x{$1}')
}

function integer(name: string, type: string, pattern: RegExp): CellKind {
  const cast = (value: string) => `TRY_CAST(${value} AS ${type})`
  // A number must be the same when written back, without losing a leading zero, a plus or a
  // fraction.
  return {
    name,
    type,
    pattern,
    cast,
    holds: (value) => `CAST(${cast(value)} AS VARCHAR) = ${value}`,
  }
}

/** Numbers with thousands separators, a decimal comma, or both. */
function grouped(name: string, pattern: RegExp, group: string, decimal: '.' | ','): CellKind {
  const cast = (value: string) => {
    const whole =
      group === '' ? value : `regexp_replace(${value}, ${literal(duckPattern(group))}, '', 'g')`
    return `TRY_CAST(${decimal === ',' ? `replace(${whole}, ',', '.')` : whole} AS DOUBLE)`
  }
  return {
    name,
    type: 'DOUBLE',
    pattern,
    cast: (value) => `CASE WHEN ${matches(value, pattern)} THEN ${cast(value)} END`,
  }
}

function moment(type: 'DATE' | 'TIMESTAMP' | 'TIME', format: string, pattern: RegExp): CellKind {
  return {
    name: format,
    type,
    pattern,
    cast: (value) =>
      `CASE WHEN ${matches(value, pattern)} THEN CAST(TRY_STRPTIME(${value}, '${format}') AS ${type}) END`,
  }
}

const DAY = '\\d{1,2}'
const CLOCK = String.raw`\d{1,2}:\d{2}`

/** Dates in other orders, optionally followed by a time. */
function days(): CellKind[] {
  const formats: [format: string, pattern: string][] = [
    ['%Y/%m/%d', String.raw`\d{4}/${DAY}/${DAY}`],
    ['%Y.%m.%d', String.raw`\d{4}\.${DAY}\.${DAY}`],
    ['%d.%m.%Y', String.raw`${DAY}\.${DAY}\.\d{4}`],
    ['%d/%m/%Y', `${DAY}/${DAY}/\\d{4}`],
    ['%m/%d/%Y', `${DAY}/${DAY}/\\d{4}`],
    ['%d-%m-%Y', `${DAY}-${DAY}-\\d{4}`],
    ['%m-%d-%Y', `${DAY}-${DAY}-\\d{4}`],
    ['%d.%m.%y', String.raw`\d{2}\.\d{2}\.\d{2}`],
    ['%d/%m/%y', `${DAY}/${DAY}/\\d{2}`],
    ['%m/%d/%y', `${DAY}/${DAY}/\\d{2}`],
    ['%d-%b-%Y', `${DAY}-[A-Za-z]{3}-\\d{4}`],
    ['%d %b %Y', `${DAY} [A-Za-z]{3} \\d{4}`],
    ['%d %B %Y', `${DAY} [A-Za-z]{3,9} \\d{4}`],
    ['%b %d, %Y', `[A-Za-z]{3} ${DAY}, \\d{4}`],
    ['%B %d, %Y', `[A-Za-z]{3,9} ${DAY}, \\d{4}`],
    ['%b %d %Y', `[A-Za-z]{3} ${DAY} \\d{4}`],
  ]
  return formats.flatMap(([format, pattern]) => [
    moment('DATE', format, new RegExp(`^${pattern}$`)),
    moment('TIMESTAMP', `${format} %H:%M`, new RegExp(`^${pattern} ${CLOCK}$`)),
    moment('TIMESTAMP', `${format} %H:%M:%S`, new RegExp(`^${pattern} ${CLOCK}:\\d{2}$`)),
    moment('TIMESTAMP', `${format} %I:%M %p`, new RegExp(`^${pattern} ${CLOCK} [AaPp][Mm]$`)),
    moment(
      'TIMESTAMP',
      `${format} %I:%M:%S %p`,
      new RegExp(`^${pattern} ${CLOCK}:\\d{2} [AaPp][Mm]$`),
    ),
  ])
}

const ISO_DAY = /^\d{4}-\d{2}-\d{2}$/
const ISO_MOMENT = /^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?$/
const ISO_ZONED =
  /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?\s?([Zz]|[+-]\d{2}(:?\d{2})?)$/
const TIME_CELL = /^([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?$/

const simple = (name: string, type: string, pattern: RegExp): CellKind => ({
  name,
  type,
  pattern,
  cast: (value) => `TRY_CAST(${value} AS ${type})`,
  holds: (value) => `(${matches(value, pattern)} AND TRY_CAST(${value} AS ${type}) IS NOT NULL)`,
})

/** Narrower types come first. A column gets the first type that fits all of its values. */
export const CELL_KINDS: readonly CellKind[] = [
  {
    name: 'boolean',
    type: 'BOOLEAN',
    pattern: /^(true|false)$/i,
    cast: (value) => `TRY_CAST(${value} AS BOOLEAN)`,
    holds: (value) => `lower(${value}) IN ('true', 'false')`,
  },
  integer('integer', 'BIGINT', new RegExp(`^(0|-?[1-9]\\d{0,${SMALL_INTEGER_DIGITS}})$`)),
  integer('long integer', 'HUGEINT', /^(0|-?[1-9]\d{0,38})$/),
  {
    name: 'number',
    type: 'DOUBLE',
    // A plus without a fraction marks a telephone number. A double would lose further digits.
    pattern:
      /^(-?(0|[1-9]\d{0,14})|[-+]?(0|[1-9]\d{0,14})?\.\d+|[-+]?(0|[1-9]\d{0,14})\.|[-+]?(0|[1-9]\d{0,14})(\.\d*)?[eE][-+]?\d{1,3}|[-+]?\.\d+[eE][-+]?\d{1,3}|[-+]?([Ii]nf|Infinity|INF))$/,
    cast: (value) => `nullif(TRY_CAST(${value} AS DOUBLE), 'nan'::DOUBLE)`,
    holds: (value) =>
      `(TRY_CAST(${value} AS DOUBLE) IS NOT NULL AND NOT ${leadsWithZero(value)} AND NOT (${value} >= '+' AND ${value} < ',' AND NOT contains(${value}, '.')) AND TRY_CAST(${value} AS DOUBLE) <> 'nan'::DOUBLE AND (abs(TRY_CAST(${value} AS DOUBLE)) < 1e15 OR CAST(TRY_CAST(${value} AS HUGEINT) AS VARCHAR) IS DISTINCT FROM ${value}))`,
  },
  grouped('1,234.5', /^-?(0|[1-9]\d{0,14}|[1-9]\d{0,2}(,\d{3}){1,4})(\.\d+)?$/, ',', '.'),
  grouped('1.234,5', /^-?(0|[1-9]\d{0,14}|[1-9]\d{0,2}(\.\d{3}){1,4})(,\d+)?$/, '\\.', ','),
  grouped(
    '1 234,5',
    /^-?(0|[1-9]\d{0,14}|[1-9]\d{0,2}([ \u00a0\u202f]\d{3}){1,4})(,\d+)?$/,
    '[ \u00a0\u202f]',
    ',',
  ),
  grouped(
    '1 234.5',
    /^-?(0|[1-9]\d{0,14}|[1-9]\d{0,2}([ \u00a0\u202f'’]\d{3}){1,4})(\.\d+)?$/,
    String.raw`[ \u00a0\u202f'’]`,
    '.',
  ),
  {
    name: 'day',
    type: 'DATE',
    pattern: ISO_DAY,
    cast: (value) => `TRY_CAST(${value} AS DATE)`,
    holds: (value) => `CAST(TRY_CAST(${value} AS DATE) AS VARCHAR) = ${value}`,
  },
  simple('moment', 'TIMESTAMP', ISO_MOMENT),
  simple('moment with a zone', 'TIMESTAMP WITH TIME ZONE', ISO_ZONED),
  {
    name: 'time',
    type: 'TIME',
    pattern: TIME_CELL,
    cast: (value) =>
      `TRY_CAST(CASE WHEN length(${value}) < 6 THEN ${value} || ':00' ELSE ${value} END AS TIME)`,
    holds: (value) => matches(value, TIME_CELL),
  },
  ...days(),
]
