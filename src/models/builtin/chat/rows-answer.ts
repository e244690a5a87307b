import { parseCsv } from '../../../domain/csv.ts'
import { csvIn } from './observed-passages.ts'
import type { RowAnswer } from './row-questions.ts'

const ROWS_SHOWN = 10
const CELL_CHARS_MAX = 60

/**
 * Says that a statement answers, which, and what it gives. null where it gave nothing: then the question is better searched.
 * @param observation what running it told; null: it was not run
 */
export function rowsAnswer(
  { statement, source }: RowAnswer,
  observation: string | null,
): string | null {
  if (statement === null || observation === null) {
    const columns = source.columns.map(({ name, type }) => `${name} (${type})`).join(', ')
    return `${OPENING} I cannot tell a statement for it; the columns of ${source.name} are: ${columns}.`
  }
  const rows = csvIn(observation)
  const [header, ...values] = rows === null ? [] : parseCsv(rows)
  const shown = values.filter(
    (row) => row.length === header?.length && row.some((cell) => cell !== ''),
  )
  if (header === undefined || shown.length === 0) return null
  const more = shown.length > ROWS_SHOWN ? ['\nand more.'] : []
  return [
    `${OPENING} This statement answers it:`,
    `\`\`\`sql\n${statement}\n\`\`\``,
    'Run just now, it gives:',
    [
      rowOf(header),
      `|${'---|'.repeat(header.length)}`,
      ...shown.slice(0, ROWS_SHOWN).map(rowOf),
      ...more,
    ].join('\n'),
  ].join('\n\n')
}

const OPENING =
  'I quote passages, and this asks for rows: it needs SQL, or an agent with a chat model, which writes SQL itself.'

function rowOf(cells: readonly string[]): string {
  return `| ${cells.map((cell) => plainCell(cell)).join(' | ')} |`
}

function plainCell(cell: string): string {
  const line = cell.replace(/\s+/g, ' ').replaceAll('|', '\\|')
  return line.length > CELL_CHARS_MAX ? `${line.slice(0, CELL_CHARS_MAX).toWellFormed()}…` : line
}
