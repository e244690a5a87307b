import {
  BACKSLASH,
  bytesOf,
  CARRIAGE_RETURN,
  type CsvDialect,
  CsvRows,
  DOUBLE_QUOTE,
  LINE_FEED,
  OpenQuote,
  SINGLE_QUOTE,
  SPACE,
  TooWide,
} from './csv-rows.ts'

/** Delimiters to try, most common first. The order also decides ties. */
const DELIMITERS = [...',;\t|:^~\x01\x1f#'].map((sign) => sign.charCodeAt(0))

const ROWS_LOOKED_AT = 500
const CELLS_PER_ROW = 60

interface DialectHints {
  readonly delimiter?: number
  /** Whether the file's name says so. */
  readonly isTabSeparated: boolean
}

/** Tries all delimiters with all ways of quoting; the best has rows of equal width. */
export function sniffedDialect(
  sample: Uint8Array,
  isWhole: boolean,
  hints: DialectHints,
): CsvDialect {
  const lineEnd = lineEndOf(sample)
  const rows = isWhole ? sample : wholeRows(sample, lineEnd)
  const text = new TextDecoder('latin1').decode(rows)
  const quotings = quotingsOf(text)
  let best: { dialect: CsvDialect; score: number } | null = null
  let tooWide: TooWide | null = null
  for (const quoting of quotings) {
    for (const delimiting of delimitings(text, hints)) {
      const dialect: CsvDialect = { ...quoting, ...delimiting, lineEnd }
      let score = 0
      try {
        score = scoreOf(rows, dialect, hints) * quoting.weight
      } catch (error) {
        // Text that is not a table in this dialect may be one in another. Words between spaces are
        // not columns.
        if (!(error instanceof TooWide)) throw error
        if (dialect.delimiter !== SPACE) tooWide ??= error
      }
      if (best === null || score > best.score + 1e-9) best = { dialect, score }
    }
  }
  if (tooWide !== null && (best === null || best.score < SCORE_MIN)) throw tooWide
  const found = best?.dialect ?? { ...NO_DELIMITER, ...DOUBLED, lineEnd }
  const { delimiter, isRun, quote, escapedBy, skipsSpace } =
    best !== null && best.score < SCORE_MIN && hints.delimiter === undefined
      ? { ...found, ...NO_DELIMITER }
      : found
  return { delimiter, isRun, quote, escapedBy, skipsSpace, lineEnd }
}

/** Below this score, commas are punctuation. */
const SCORE_MIN = 0.3

const NO_DELIMITER = { delimiter: null, isRun: false } as const
const DOUBLED = {
  quote: DOUBLE_QUOTE,
  escapedBy: DOUBLE_QUOTE,
  skipsSpace: false,
  weight: 1,
} as const

interface Quoting extends Pick<CsvDialect, 'quote' | 'escapedBy' | 'skipsSpace'> {
  readonly weight: number
}

function quotingsOf(text: string): readonly Quoting[] {
  const found: Quoting[] = []
  if (!text.includes('"')) found.push(DOUBLED)
  else {
    if (text.includes('\\"')) {
      found.push({ quote: DOUBLE_QUOTE, escapedBy: BACKSLASH, skipsSpace: false, weight: 0.99 })
    }
    const skipsSpace = /[,;|\t] +"/.test(text)
    found.push({ ...DOUBLED, skipsSpace })
    found.push({ quote: null, escapedBy: null, skipsSpace: false, weight: 0.7 })
  }
  if (/(^|[,;\t|])'[^'\r\n]*'([,;\t|\r\n]|$)/m.test(text)) {
    const escapedBy = text.includes("\\'") ? BACKSLASH : SINGLE_QUOTE
    found.push({ quote: SINGLE_QUOTE, escapedBy, skipsSpace: false, weight: 0.98 })
  }
  return found
}

function delimitings(
  text: string,
  { delimiter }: DialectHints,
): readonly Pick<CsvDialect, 'delimiter' | 'isRun'>[] {
  if (delimiter !== undefined) return [{ delimiter, isRun: false }]
  const [first = '', ...lines] = text.split(/[\r\n]+/, ROWS_LOOKED_AT).filter((line) => line !== '')
  if (isOneColumn(first, lines)) return [NO_DELIMITER]
  const found: Pick<CsvDialect, 'delimiter' | 'isRun'>[] = DELIMITERS.filter((sign) =>
    text.includes(String.fromCharCode(sign)),
  ).map((sign) => ({ delimiter: sign, isRun: false }))
  if (text.includes(' ')) {
    found.push({ delimiter: SPACE, isRun: false })
    if (text.includes('  ')) found.push({ delimiter: SPACE, isRun: true })
  }
  if (found.length === 0) found.push(NO_DELIMITER)
  return found
}

function isOneColumn(first: string, lines: readonly string[]): boolean {
  if (lines.length === 0 || /[,;\t|]/.test(first)) return false
  if (!lines.every((line) => WHOLE_VALUE.test(line))) return false
  if (WHOLE_VALUE.test(first)) return !/^\d+:\d+$/.test(first)
  // The header and the rows share no possible delimiter. A unit such as (hh:mm) does not count.
  const name = first.replaceAll(/ ?\([^()]*\)/g, '')
  return [...DELIMITERS, SPACE].every((code) => {
    const sign = String.fromCharCode(code)
    return !name.includes(sign) || !lines.some((line) => line.includes(sign))
  })
}

/** From 0 to 1. */
function scoreOf(sample: Uint8Array, dialect: CsvDialect, hints: DialectHints): number {
  const widths = new Map<number, number>()
  let rowCount = 0
  let firstWidth = 0
  let oddCount = 0
  let cells = 0
  let plain = 0
  const rows = new CsvRows(bytesOf(sample), dialect)
  try {
    while (rowCount < ROWS_LOOKED_AT && rows.next()) {
      if (rows.count === 1 && rows.isEmpty(0)) continue
      if (rowCount === 0) firstWidth = rows.count
      rowCount += 1
      widths.set(rows.count, (widths.get(rows.count) ?? 0) + 1)
      if (rows.hasOddQuote) oddCount += 1
      for (let index = 0; index < Math.min(rows.count, CELLS_PER_ROW); index += 1) {
        cells += 1
        plain += plainness(rows.text(index), rows.isQuoted(index), dialect)
      }
    }
  } catch (error) {
    // The sample may end within quotes. The whole file is checked later.
    if (!(error instanceof OpenQuote)) throw error
  }
  if (rowCount === 0) return 0
  let mode = 1
  let modeCount = 0
  let wideCount = 0
  for (const [width, count] of widths) {
    if (width > 1) wideCount += count
    if (width > 1 && count > modeCount) {
      mode = width
      modeCount = count
    }
  }
  if (mode === 1) return 0
  // R writes no name for the column of row names.
  if (firstWidth === mode - 1 && firstWidth > 1) modeCount += 1
  const consistency = 0.75 * (modeCount / rowCount) + 0.25 * (wideCount / rowCount)
  const isSpace = dialect.delimiter === SPACE
  const rare = DELIMITERS.indexOf(dialect.delimiter ?? 0) > 3
  let score = consistency * (0.4 + 0.6 * (cells === 0 ? 0 : plain / cells))
  // Words are separated by spaces too, so only a strict grid is a table.
  if (isSpace && modeCount < rowCount * 0.95) score *= 0.3
  else if (isSpace || rare) score *= 0.85
  if (hints.isTabSeparated && dialect.delimiter === 0x09) score = Math.min(1, score * 1.2)
  return score * (1 - oddCount / rowCount)
}

const NUMBER_VALUE =
  /^[+-]?[$€£¥]?\s?(\d{1,3}([.,' \u00a0]\d{3})*|\d+)?([.,]\d+)?([eE][+-]?\d+)?\s?[%€$£]?$/
const WORD_VALUE = /^[\p{L}\p{N}\p{M} .()/&'’!?*%+@_$€£°\-–]*$/u
const MOMENT =
  /^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s?([AaPp][Mm]|Z|[+-]\d{2}:?\d{2})?)?$|^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$/
/**
 * A value whose signs look like delimiters: a moment, a number, a web or hardware address. `1 200`
 * may be two numbers, `1 200,50` is one.
 */
const WHOLE_VALUE = new RegExp(
  `^(?!.*\\d \\d{3}(?!,\\d))(?:${MOMENT.source}|${NUMBER_VALUE.source}|^https?://[^\\s,;|]+$|^([\\da-f]{2}:){5}[\\da-f]{2}$)`,
  'i',
)
const ADDRESS = /^(https?:\/\/|www\.)\S+$|^\S+@\S+\.\S+$/

/** From 0 to 1: how much it looks like a single value, rather than several or a part of one. */
function plainness(text: string, isQuoted: boolean, dialect: CsvDialect): number {
  if (isQuoted) return 1
  const value = text.trim()
  if (value === '') return 0.7
  if (NUMBER_VALUE.test(value) || MOMENT.test(value)) return 1
  if (dialect.quote === null && /^".*"$/.test(value)) return 0.2
  if (/^["']|["']$/.test(value)) return 0.1
  if (WORD_VALUE.test(value)) return 0.9
  if (ADDRESS.test(value)) return 0.9
  return /[;\t|]/.test(value) ? 0.1 : 0.5
}

/** Excel for Mac ends rows with `\r` and lines in a cell with `\n`; quoted ends do not count. */
function lineEndOf(sample: Uint8Array): number {
  if (!sample.includes(CARRIAGE_RETURN)) return LINE_FEED
  if (!sample.includes(LINE_FEED)) return CARRIAGE_RETURN
  let isQuoted = false
  let hasReturn = false
  for (const [index, byte] of sample.entries()) {
    if (byte === DOUBLE_QUOTE) isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (byte === LINE_FEED) return LINE_FEED
    else if (byte === CARRIAGE_RETURN && sample[index + 1] !== LINE_FEED) hasReturn = true
  }
  return hasReturn ? CARRIAGE_RETURN : LINE_FEED
}

/** Removes the last line, which may be incomplete. */
function wholeRows(sample: Uint8Array, lineEnd: number): Uint8Array {
  const end = sample.lastIndexOf(lineEnd)
  return end < 0 ? sample : sample.subarray(0, end + 1)
}
