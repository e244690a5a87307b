type Rows = readonly (readonly string[])[]

/**
 * Rows without columns that hold nothing. Where the rules of the head stand elsewhere than those of the rows below, the head's
 * cell and the cells that it is the name of are in two columns beside each other: these become one.
 */
export function withoutSpareColumns(rows: Rows): Rows {
  const width = Math.max(...rows.map(({ length }) => length))
  const columns: string[][] = []
  for (let at = 0; at < width; at += 1) {
    const column = rows.map((row) => row[at] ?? '')
    if (column.every((cell) => cell === '')) continue
    const before = columns.at(-1)
    if (before !== undefined && (isHeadOf(before, column) || isHeadOf(column, before))) {
      for (const [row, cell] of column.entries()) if (cell !== '') before[row] = cell
    } else columns.push(column)
  }
  return rows.map((_, row) => columns.map((column) => column[row] ?? ''))
}

/** The one has nothing but its first cell, which the other has not. */
function isHeadOf([head, ...empty]: readonly string[], [missing, ...cells]: readonly string[]) {
  return (
    head !== '' &&
    missing === '' &&
    empty.every((cell) => cell === '') &&
    cells.some((cell) => cell !== '')
  )
}
