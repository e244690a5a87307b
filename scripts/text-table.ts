/** Formats rows as aligned text for a terminal: numbers to the right, long cells truncated. */
export function textTable(
  columnNames: readonly string[],
  rows: readonly (readonly unknown[])[],
  cellCharsMax = 60,
): string {
  const cells = rows.map((row) => row.map((value) => cellText(value, cellCharsMax)))
  const widths = columnNames.map((name, column) => {
    return Math.max(name.length, ...cells.map((row) => row[column]?.length ?? 0))
  })
  const isNumber = columnNames.map((_, column) => {
    return rows.length > 0 && rows.every((row) => typeof row[column] === 'number')
  })
  const line = (texts: readonly string[]) => {
    const padded = texts.map((text, column) => {
      const width = widths[column] ?? 0
      return isNumber[column] ? text.padStart(width) : text.padEnd(width)
    })
    return `  ${padded.join('  ')}`.trimEnd()
  }
  const rule = widths.map((width) => '─'.repeat(width))
  return [line(columnNames), line(rule), ...cells.map(line)].join('\n')
}

function cellText(value: unknown, charsMax: number): string {
  if (value === null || value === undefined) return '—'
  if (typeof value === 'number') return String(Number(value.toFixed(3)))
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const oneLine = text.replace(/\s+/g, ' ').trim()
  return oneLine.length > charsMax ? `${oneLine.slice(0, charsMax - 1)}…` : oneLine
}
