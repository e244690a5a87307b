import type { Fragment } from './page/fragments.ts'

export interface PagePieces {
  readonly fragments: readonly Fragment[]
}

/** Repeated at the top or bottom of many pages: headers, footers and page numbers. */
export function runningPieces(pages: readonly PagePieces[], bodySize: number): Set<Fragment> {
  const edges = pages.map(({ fragments }) => edgeRows(fragments))
  const running = new Set<Fragment>()
  const sides = (['upper', 'lower'] as const).map((side) => {
    const rows = edges.map((edge) => edge[side])
    const known = repeatedKeys(rows, bodySize)
    const removed: Row[][] = rows.map((outermost) => {
      const end = outermost.findIndex((row) => !isKnown(row, known))
      return outermost.slice(0, end < 0 ? outermost.length : end)
    })
    return { rows, removed }
  })
  const offsets = pageOffsets(sides.map(({ removed }) => removed))
  const titles = titlesOf(pages[0]?.fragments ?? [], bodySize)
  for (const { rows, removed } of sides) {
    for (const [page, row] of numberedRows(rows, removed, offsets)) removed[page]?.push(row)
    for (const [page, row] of titledRows(rows, removed, titles)) removed[page]?.push(row)
    for (const row of removed.flat()) for (const piece of row.pieces) running.add(piece)
  }
  return running
}

interface Row {
  readonly pieces: readonly Fragment[]
  readonly text: string
  readonly baseline: number
  readonly size: number
}

interface Edges {
  /** From the outside in. */
  readonly upper: readonly Row[]
  readonly lower: readonly Row[]
}

function edgeRows(fragments: readonly Fragment[]): Edges {
  const sorted = [...fragments].sort((a, b) => a.baseline - b.baseline)
  const rows: Fragment[][] = []
  for (const piece of sorted) {
    const row = rows[rows.length - 1]
    const first = row?.[0]
    if (
      row !== undefined &&
      first !== undefined &&
      piece.baseline - first.baseline < piece.size * 0.5
    ) {
      row.push(piece)
    } else rows.push([piece])
  }
  // On a page with few lines, nothing is between header and footer.
  const count = Math.min(ROWS_LOOKED_AT, Math.floor(rows.length / 2))
  return {
    upper: rows.slice(0, count).map(lineRow),
    lower: rows
      .slice(rows.length - count)
      .map(lineRow)
      .reverse(),
  }
}

function lineRow(found: readonly Fragment[]): Row {
  const pieces = [...found].sort((a, b) => a.x0 - b.x0)
  return {
    pieces,
    text: pieces.map(({ text }) => text).join(' '),
    baseline: pieces[0]?.baseline ?? 0,
    size: Math.max(...pieces.map(({ size }) => size)),
  }
}

/** The words without numbers, and the height. */
function lineKey({ text, baseline }: Pick<Row, 'text' | 'baseline'>): string {
  return `${Math.round(baseline / HEIGHT_STEP)} ${lineWords(text)}`
}

function lineWords(text: string): string {
  return text
    .toLowerCase()
    .replace(/\p{Nd}+/gu, '#')
    .replace(/^[ivxlcdm]+$|(?<=^page )[ivxlcdm]+$/, '#')
}

/** The whole row, or one side: the chapter next to a section only this page has. */
function isKnown(row: Row, known: ReadonlySet<string>): boolean {
  if (known.has(lineKey(row))) return true
  return (
    row.pieces.length > 1 && row.pieces.some((piece) => isLong(piece) && known.has(lineKey(piece)))
  )
}

function isLong({ text }: Fragment): boolean {
  return (text.match(/\p{L}/gu)?.length ?? 0) >= SIDE_LETTERS_MIN
}

function repeatedKeys(rows: readonly (readonly Row[])[], bodySize: number): Set<string> {
  const counts = new Map<string, number>()
  for (const outermost of rows) {
    const sides = outermost.flatMap(({ pieces }) =>
      pieces.length > 1
        ? pieces.filter((piece) => isLong(piece) && piece.size < bodySize * 1.1)
        : [],
    )
    for (const row of [...outermost, ...sides]) {
      // A table has no text.
      if (row.text === '' || row.text.length > ROW_CHARS_MAX) continue
      // The height on another page may differ by rounding.
      for (const shift of [-HEIGHT_STEP, 0, HEIGHT_STEP]) {
        const key = lineKey({ ...row, baseline: row.baseline + shift })
        const isLarge = row.size > bodySize * 1.15
        counts.set(key, (counts.get(key) ?? 0) + (isLarge ? 0.5 : 1))
      }
    }
  }
  const isNumber = (key: string) => /^-?\d+ \P{L}*#\P{L}*$/u.test(key)
  const least = (key: string) => (isNumber(key) ? NUMBERS_MIN : REPEATED_MIN)
  return new Set([...counts].filter(([key, count]) => count >= least(key)).map(([key]) => key))
}

/** Returns how much printed page numbers differ from positions in the file. */
function pageOffsets(sides: readonly (readonly (readonly Row[])[])[]): Map<number, number> {
  const offsets = new Map<number, number>()
  for (const removed of sides) {
    for (const [page, outermost] of removed.entries()) {
      for (const row of outermost) {
        for (const number of numbersOf(row.text)) count(offsets, number - page)
      }
    }
  }
  return offsets
}

function titlesOf(fragments: readonly Fragment[], bodySize: number): Set<string> {
  const large = fragments.filter(({ size, text }) => size > bodySize * 1.15 && text.length > 2)
  return new Set(large.map(({ text }) => text.toLowerCase()))
}

/** Finds the document's title with a page number, in a document of two or three pages. */
function titledRows(
  rows: readonly (readonly Row[])[],
  removed: readonly (readonly Row[])[],
  titles: ReadonlySet<string>,
): (readonly [number, Row])[] {
  return rows.flatMap((outermost, page) => {
    const row = outermost[removed[page]?.length ?? 0]
    if (row === undefined || page === 0) return []
    const words = row.text.toLowerCase().replace(/^\d+\s+|\s+\d+$/g, '')
    const isNumbered = numbersOf(row.text).some((number) => number === page + 1)
    return isNumbered && titles.has(words) ? [[page, row] as const] : []
  })
}

/** Finds a section's title with a page number, at the height where other pages have theirs. */
function numberedRows(
  rows: readonly (readonly Row[])[],
  removed: readonly (readonly Row[])[],
  offsets: ReadonlyMap<number, number>,
): (readonly [number, Row])[] {
  const heights = new Map<number, number>()
  const sizes = new Map<number, number>()
  for (const row of removed.flat()) {
    count(heights, Math.round(row.baseline))
    count(sizes, Math.round(row.size))
  }
  const usual = (counts: ReadonlyMap<number, number>, value: number) =>
    (counts.get(value) ?? 0) >= rows.length * 0.3
  return rows.flatMap((outermost, page) => {
    const row = outermost[removed[page]?.length ?? 0]
    if (row === undefined || row.text === '' || row.text.length > ROW_CHARS_MAX) return []
    const height = Math.round(row.baseline)
    const isThere = [height - 1, height, height + 1].some((value) => usual(heights, value))
    const isCounted = numbersOf(row.text).some((number) => usual(offsets, number - page))
    // On the first page of a chapter, the page number is elsewhere.
    if (isCounted && /^\d+$/.test(row.text)) return [[page, row] as const]
    const isNumbered = isCounted || ROMAN.test(row.text)
    // The name of a chapter alone, on too few pages to be recognized by repetition, but in the size
    // of other headers and apart from the text.
    const next = outermost[(removed[page]?.length ?? 0) + 1]
    const isApart =
      usual(sizes, Math.round(row.size)) &&
      next !== undefined &&
      Math.abs(next.baseline - row.baseline) > row.size * 1.9
    return isThere && (isNumbered || isApart) ? [[page, row] as const] : []
  })
}

function numbersOf(text: string): number[] {
  const [first] = /^\p{Nd}{1,4}(?!\S)/u.exec(text) ?? []
  const [last] = /(?<!\S)\p{Nd}{1,4}$/u.exec(text) ?? []
  return [first, last].flatMap((digits) => (digits === undefined ? [] : [Number(digits)]))
}

function count(counts: Map<number, number>, value: number): void {
  counts.set(value, (counts.get(value) ?? 0) + 1)
}

/** A Roman page number, as before the first chapter. */
const ROMAN = /^[ivxl]{1,6} \p{L}|\p{L} [ivxl]{1,6}$/u
const SIDE_LETTERS_MIN = 8
const ROWS_LOOKED_AT = 3
const ROW_CHARS_MAX = 200
const REPEATED_MIN = 3
const NUMBERS_MIN = 2
/** In points. */
const HEIGHT_STEP = 4
