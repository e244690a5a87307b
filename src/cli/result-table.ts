/** Formats the rows of a statement for people. */
import { textOfValue } from '../core/json.ts'
import type { Output } from './output.ts'
import { padded, safeLine, safeText, truncated, widthOf, wrapped } from './terminal-text.ts'

export interface TableStyle {
  /** The terminal's width, to which cells are truncated; null to truncate nothing. */
  readonly columns: number | null
  /** `auto` expands rows if the columns do not fit. */
  readonly expanded: 'on' | 'off' | 'auto'
  /** Whether to draw lines with `|` and `-` instead of box characters. */
  readonly isPlain: boolean
  readonly dim: (text: string) => string
  readonly bold: (text: string) => string
}

/** The first rows determine the column widths; later ones are written as they arrive. */
const LAYOUT_ROWS = 1000
/** Narrower cells would be unreadable. */
const CELL_COLUMNS_MIN = 8
const NULL_TEXT = 'NULL'

interface Layout {
  readonly widths: readonly number[]
  readonly isRight: readonly boolean[]
}

export function tableFor(
  output: Output,
  names: readonly string[],
  expanded: TableStyle['expanded'] = 'off',
): ResultTable {
  return new ResultTable(names, {
    columns: output.columns,
    expanded,
    isPlain: !output.isTerminal,
    dim: (text) => output.dim(text),
    bold: (text) => output.bold(text),
  })
}

/** Writes rows as they arrive, holding back only as many as are needed for the layout. */
export class ResultTable {
  readonly #names: readonly string[]
  readonly #style: TableStyle
  readonly #waiting: (readonly unknown[])[] = []
  #layout: Layout | 'expanded' | null = null
  #rowCount = 0

  constructor(names: readonly string[], style: TableStyle) {
    this.#names = names.map(safeLine)
    this.#style = style
  }

  /** @returns the text that can already be written */
  add(rows: readonly (readonly unknown[])[]): string {
    if (this.#layout !== null) return rows.map((row) => this.#row(row)).join('')
    this.#waiting.push(...rows)
    return this.#waiting.length < LAYOUT_ROWS ? '' : this.#begin()
  }

  /** @returns the remaining text, with the number of rows */
  end(note = ''): string {
    const rest = this.#layout === null ? this.#begin() : ''
    const count = `(${this.#rowCount} ${this.#rowCount === 1 ? 'row' : 'rows'})`
    return `${rest}${this.#style.dim(`${count}${note}`)}\n`
  }

  #begin(): string {
    const layout = this.#layoutOf(this.#waiting)
    this.#layout = layout
    const head = layout === 'expanded' ? '' : this.#head(layout)
    const rows = this.#waiting.splice(0).map((row) => this.#row(row))
    return `${head}${rows.join('')}`
  }

  #layoutOf(rows: readonly (readonly unknown[])[]): Layout | 'expanded' {
    const { columns, expanded } = this.#style
    if (expanded === 'on') return 'expanded'
    const wanted = this.#names.map((name, index) => {
      let width = widthOf(name)
      for (const row of rows) width = Math.max(width, widthOf(safeCell(row[index])))
      return width
    })
    const isRight = this.#names.map((_, index) => {
      const values = rows.map((row) => row[index]).filter((value) => value !== null)
      return values.length > 0 && values.every(isNumber)
    })
    if (columns === null) return { widths: wanted, isRight }
    const widths = fitting(wanted, columns - 3 * wanted.length + 1)
    if (widths !== null) return { widths, isRight }
    return expanded === 'auto' ? 'expanded' : { widths: wanted, isRight }
  }

  #head(layout: Layout): string {
    const { isPlain, bold, dim } = this.#style
    const [line, cross] = isPlain ? ['-', '+'] : ['─', '┼']
    const names = this.#names.map((name, index) => {
      const width = layout.widths[index] ?? 0
      return bold(padded(truncated(name, width), width, layout.isRight[index]))
    })
    const rule = layout.widths.map((width) => line.repeat(width + 2)).join(cross)
    return `${this.#joined(names)}${dim(rule)}\n`
  }

  #row(row: readonly unknown[]): string {
    this.#rowCount += 1
    if (this.#layout === 'expanded' || this.#layout === null) return this.#record(row)
    const { widths, isRight } = this.#layout
    const cells = widths.map((width, index) => {
      const text = truncated(safeCell(row[index]), this.#style.columns === null ? Infinity : width)
      const cell = padded(text, width, isRight[index])
      return row[index] === null ? this.#style.dim(cell) : cell
    })
    return this.#joined(cells)
  }

  #joined(cells: readonly string[]): string {
    const bar = this.#style.dim(this.#style.isPlain ? '|' : '│')
    return ` ${cells.join(` ${bar} `)}`.trimEnd().concat('\n')
  }

  #record(row: readonly unknown[]): string {
    const { isPlain, columns, dim, bold } = this.#style
    const [line, bar] = isPlain ? ['-', '|'] : ['─', '│']
    const nameWidth = Math.max(0, ...this.#names.map(widthOf))
    const title = `${line}[ ${this.#rowCount} ]`
    const ruleWidth = Math.max(
      0,
      Math.min(columns ?? nameWidth + 20, nameWidth + 40) - title.length,
    )
    const room = columns === null ? null : Math.max(20, columns - nameWidth - 3)
    const lines = this.#names.flatMap((name, index) => {
      const value = row[index]
      const text = value === null ? dim(NULL_TEXT) : safeText(textOfValue(value, NULL_TEXT))
      const shown = room === null || value === null ? text.split('\n') : wrapped(text, room)
      return shown.map((one, lineIndex) => {
        const label = padded(lineIndex === 0 ? name : '', nameWidth)
        return `${bold(label)} ${dim(bar)} ${one}`.trimEnd()
      })
    })
    return `${dim(title + line.repeat(ruleWidth))}\n${lines.join('\n')}\n`
  }
}

/** Narrows the widest columns until all fit; null if there are too many columns. */
export function fitting(wanted: readonly number[], room: number): readonly number[] | null {
  const total = wanted.reduce((sum, width) => sum + width, 0)
  if (total <= room) return wanted
  // Finds the largest width limit with which all columns fit.
  let low = 0
  let high = Math.max(0, ...wanted)
  while (low < high) {
    const bound = Math.ceil((low + high) / 2)
    const used = wanted.reduce((sum, width) => sum + Math.min(width, bound), 0)
    if (used <= room) low = bound
    else high = bound - 1
  }
  if (low < Math.min(CELL_COLUMNS_MIN, Math.max(0, ...wanted))) return null
  let spare = room - wanted.reduce((sum, width) => sum + Math.min(width, low), 0)
  return wanted.map((width) => {
    if (width <= low || spare <= 0) return Math.min(width, low)
    spare -= 1
    return low + 1
  })
}

function safeCell(value: unknown): string {
  return safeLine(textOfValue(value, NULL_TEXT))
}

/** Integers that JSON numbers cannot hold arrive as strings. */
function isNumber(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /^-?\d{16,39}$/.test(value))
}
