import type TurndownService from 'turndown'
import { all, ancestor, holds, isElement, oneLine } from './elements.ts'

/** The most cells that one `colspan` or `rowspan` may cover, and that spans may add to a table. */
const SPAN_MAX = 100
const GRID_CELLS_MAX = 500_000

/** turndown's plugin takes cubic time (1.0.68: 27 s for 3,000 rows) and ignores spans. */
export function markdownTables(turndown: TurndownService): void {
  const kinds = new WeakMap<Element, TableKind>()
  const contents = new WeakMap<Element, string>()
  const kindOf = (element: Element): TableKind => {
    const table = tableAround(element)
    if (table === null) return 'layout'
    const kind = kinds.get(table) ?? kindOfTable(table, kindOf)
    kinds.set(table, kind)
    return kind
  }
  turndown.addRule('tableCell', {
    filter: ['th', 'td'],
    replacement: (content, node) => {
      if (!isElement(node) || kindOf(node) === 'layout') return `\n\n${content}\n\n`
      contents.set(node, lineOfCell(content))
      return ''
    },
  })
  turndown.addRule('tableParts', {
    filter: ['tr', 'thead', 'tbody', 'tfoot', 'colgroup'],
    replacement: (content) => content,
  })
  turndown.addRule('tableCaption', {
    filter: 'caption',
    replacement: (content, node) => {
      if (!isElement(node) || kindOf(node) === 'layout') return `\n\n${content.trim()}\n\n`
      contents.set(node, oneLine(content))
      return ''
    },
  })
  turndown.addRule('table', {
    filter: 'table',
    replacement: (content, node) => {
      if (!isElement(node) || kindOf(node) === 'layout') return `\n\n${content.trim()}\n\n`
      const rows = tableRows(node).map((row) => cellsOf(row))
      if (kindOf(node) === 'flat') return ` ${flatTable(rows, contents)} `
      const caption = childrenOf(node, /^CAPTION$/)[0]
      const title = caption === undefined ? '' : `${contents.get(caption) ?? ''}\n\n`
      return `\n\n${title}${gridOf(rows, contents)}\n\n`
    },
  })
}

/** `flat` means inside a cell of another table. */
type TableKind = 'data' | 'flat' | 'layout'

const TEXT_OF_PAGE = 'h1, h2, h3, h4, h5, h6, blockquote, dl, form'
const CELL_CHARS_MAX = 4000

function kindOfTable(table: Element, kindOf: (outer: Element) => TableKind): TableKind {
  const role = table.getAttribute('role')
  const rows = tableRows(table)
  const cells = rows.flatMap((row) => cellsOf(row))
  const isWide = rows.some((row) => cellsOf(row).filter(hasText).length > 1)
  // A block of code keeps its lines, so it cannot be in a cell.
  const isLayout = role === 'presentation' || role === 'none' || !isWide || holdsCode(table)
  if (isLayout) return 'layout'
  if (holds(table, 'table')) {
    const isOuter = isMarkedAsData(table, rows) && rows.length > 2
    if (!isOuter || all(table, 'table').length > cells.length) return 'layout'
  }
  const outer = ancestor(table, (at) => at.nodeName === 'TABLE')
  if (outer !== null && kindOf(outer) !== 'layout') return 'flat'
  if (isMarkedAsData(table, rows)) return 'data'
  if (rows.length === 1) return 'layout'
  const isPage = holds(table, TEXT_OF_PAGE) || hasLongCells(cells)
  const hasLists = holds(table, 'ul, ol')
  return isPage || (hasLists && rows.length < 3) ? 'layout' : 'data'
}

function isMarkedAsData(table: Element, rows: readonly Element[]): boolean {
  return (
    rows.some((row) => row.parentElement?.nodeName === 'THEAD' || isHeaderRow(cellsOf(row))) ||
    childrenOf(table, /^CAPTION$/).length > 0
  )
}

function holdsCode(table: Element): boolean {
  return (table.textContent ?? '').includes('\uFDD0')
}

function hasText(cell: Element): boolean {
  return (cell.textContent ?? '').trim() !== ''
}

function hasLongCells(cells: readonly Element[]): boolean {
  return cells.some((cell) => (cell.textContent ?? '').length > CELL_CHARS_MAX)
}

function tableAround(element: Element): Element | null {
  if (element.nodeName === 'TABLE') return element
  return ancestor(element, (at) => at.nodeName === 'TABLE')
}

function childrenOf(element: Element, names: RegExp): readonly Element[] {
  const found: Element[] = []
  for (let at = element.firstElementChild; at !== null; at = at.nextElementSibling) {
    if (names.test(at.nodeName)) found.push(at)
  }
  return found
}

function tableRows(table: Element): readonly Element[] {
  return childrenOf(table, /^(?:TR|THEAD|TBODY|TFOOT)$/).flatMap((part) => {
    return part.nodeName === 'TR' ? [part] : childrenOf(part, /^TR$/)
  })
}

function cellsOf(row: Element): readonly Element[] {
  return childrenOf(row, /^(?:TH|TD)$/)
}

/** Writes a cell on one line: list items separated by semicolons, lines by spaces. */
function lineOfCell(content: string): string {
  const lines = content.split('\n').map((line) => line.trim().replace(/^#{1,6} /, ''))
  const kept = lines.filter((line) => line !== '')
  const isList = kept.length > 1 && kept.some((line) => /^(?:-|\d+\.) /.test(line))
  if (!isList) return kept.join(' ')
  return kept.map((line) => line.replace(/^- /, '')).join('; ')
}

function flatTable(
  rows: readonly (readonly Element[])[],
  contents: WeakMap<Element, string>,
): string {
  const lines = rows.map((cells) => {
    return cells
      .map((cell) => contents.get(cell) ?? '')
      .filter((text) => text !== '')
      .join(', ')
  })
  return lines.filter((line) => line !== '').join('; ')
}

function gridOf(rows: readonly (readonly Element[])[], contents: WeakMap<Element, string>): string {
  const headerCount = headerRowCount(rows)
  const grid = filledGrid(rows, contents, headerCount)
  const width = Math.max(1, ...grid.map((row) => row.length))
  const header = Array.from({ length: width }, (_, column) => {
    const names = grid.slice(0, headerCount).map((row) => row[column] ?? '')
    return [...new Set(names.filter((name) => name !== ''))].join(' ')
  })
  const body = grid.slice(headerCount).filter((row) => row.some((cell) => cell !== ''))
  // Only links were in it, and these were removed.
  if (body.length === 0 && new Set(header).size === 1) return ''
  const line = (cells: readonly string[]): string => {
    const padded = Array.from({ length: width }, (_, column) => cells[column] ?? '')
    return `|${padded.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`
  }
  const rule = `|${' --- |'.repeat(width)}`
  return [line(header), rule, ...body.map(line)].join('\n')
}

/** Returns the number of rows at the top that name columns: at least one, as Markdown requires. */
function headerRowCount(rows: readonly (readonly Element[])[]): number {
  let count = 0
  while (count < Math.min(rows.length - 1, 4) && isHeaderRow(rows[count] ?? [])) count += 1
  return Math.max(count, 1)
}

function isHeaderRow(cells: readonly Element[]): boolean {
  const [first] = cells
  if (first === undefined) return false
  if (first.parentElement?.parentElement?.nodeName === 'THEAD') return true
  return cells.length > 1 && cells.every((cell) => cell.nodeName === 'TH')
}

/** Cells over several rows are repeated in each; over several columns, only headers are. */
function filledGrid(
  rows: readonly (readonly Element[])[],
  contents: WeakMap<Element, string>,
  headerCount: number,
): string[][] {
  const grid: string[][] = rows.map(() => [])
  let cellCount = 0
  for (const [rowIndex, cells] of rows.entries()) {
    let column = 0
    for (const cell of cells) {
      const row = grid[rowIndex] ?? []
      while (row[column] !== undefined) column += 1
      const text = contents.get(cell) ?? ''
      const isFull = cellCount > GRID_CELLS_MAX
      const width = isFull ? 1 : spanOf(cell, 'colspan')
      const height = isFull ? 1 : Math.min(spanOf(cell, 'rowspan'), rows.length - rowIndex)
      cellCount += width * height
      for (let down = 0; down < height; down += 1) {
        for (let right = 0; right < width; right += 1) {
          const isSaid = right === 0 || rowIndex < headerCount
          const below = grid[rowIndex + down]
          if (below !== undefined) below[column + right] = isSaid ? text : ''
        }
      }
      column += width
    }
  }
  return grid.map((row) => Array.from(row, (cell) => cell ?? ''))
}

function spanOf(cell: Element, attribute: string): number {
  const span = Number(cell.getAttribute(attribute) ?? 1)
  return Number.isInteger(span) ? Math.min(Math.max(span, 1), SPAN_MAX) : 1
}
