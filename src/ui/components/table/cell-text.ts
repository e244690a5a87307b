/** Cells as texts: shown, copied, compared. Pure. */
import type { Cell } from '../../api/sql.ts'

/** A cell as text: as it is copied, or as much of it as a line shows. */
export function cellText(cell: Cell, charsMax = Number.POSITIVE_INFINITY): string {
  if (isNothing(cell)) return 'null'
  const text = typeof cell === 'object' ? jsonText(cell, charsMax) : String(cell)
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text
}

export function isNothing(cell: Cell): cell is null | undefined {
  return cell === null || cell === undefined
}

/** As much of the JSON of a value as is asked for: a list of a million is not written to show its beginning. */
function jsonText(value: unknown, charsMax: number): string {
  if (charsMax === Number.POSITIVE_INFINITY) return JSON.stringify(value)
  const pieces: string[] = []
  let chars = 0
  const add = (text: string) => {
    pieces.push(text)
    chars += text.length
  }
  const addAll = (values: Iterable<readonly [string, unknown]>) => {
    let isFirst = true
    for (const [lead, one] of values) {
      if (chars > charsMax) return
      add(isFirst ? lead : `,${lead}`)
      isFirst = false
      addValue(one)
    }
  }
  const addValue = (one: unknown) => {
    if (typeof one === 'string') add(JSON.stringify(one.slice(0, charsMax + 1)))
    else if (typeof one !== 'object' || one === null) add(JSON.stringify(one))
    else if (Array.isArray(one)) {
      add('[')
      addAll(listed(one))
      add(']')
    } else {
      add('{')
      addAll(Object.entries(one).map(([key, each]) => [`${JSON.stringify(key)}:`, each] as const))
      add('}')
    }
  }
  addValue(value)
  return pieces.join('')
}

function* listed(values: readonly unknown[]): Generator<readonly [string, unknown]> {
  for (const value of values) yield ['', value]
}

/** How a cell is shown in its line: without parts of a second that are zero. */
export function shownCell(cell: Cell, type: string, charsMax: number): string {
  const text = cellText(cell, charsMax)
  return type.startsWith('TIME') ? text.replace(/\.0+(?=$|[+-])/, '') : text
}

/** Rows as spreadsheets take them: a cell with a tab, a line break or a quote stands in quotes, nothing is empty. */
export function tsvOf(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(tsvCell).join('\t')).join('\n')
}

function tsvCell(cell: Cell): string {
  if (isNothing(cell)) return ''
  const text = cellText(cell)
  return /["\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Integers, decimals and floats; a value that a JavaScript number would round is a text of digits. */
const NUMBERS =
  /^(?:U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BIGNUM|DECIMAL|NUMERIC|FLOAT|DOUBLE|REAL)(?!.*\])/

export function isNumberType(type: string): boolean {
  return NUMBERS.test(type)
}
