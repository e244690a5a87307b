/** The answer to a statement on a terminal, or in a pipe for people. */
import type { Output } from '../output.ts'
import { ResultTable, type TableStyle } from '../result-table.ts'
import { safeLine } from '../terminal-text.ts'
import type { StatementAnswer } from './statement-client.ts'

export interface ShownOptions {
  readonly expanded: TableStyle['expanded']
  /** Says how long it took. */
  readonly isTimed: boolean
  readonly startedAt: number
}

export async function showAnswer(
  answer: StatementAnswer,
  { expanded, isTimed, startedAt }: ShownOptions,
  output: Output,
): Promise<void> {
  const took = () => (isTimed ? `  ${shownTime(performance.now() - startedAt)}` : '')
  if (answer.kind === 'ok') {
    const { affectedRows: count } = answer
    const rows = count === null ? '' : ` (${count} ${count === 1 ? 'row' : 'rows'})`
    output.say(`OK${rows}${took()}`)
    return
  }
  const table = new ResultTable(answer.columnNames, {
    columns: output.columns,
    expanded,
    isPlain: !output.isTerminal,
    dim: (text) => output.dim(text),
    bold: (text) => output.bold(text),
  })
  for await (const rows of answer.batches) await output.write(table.add(rows))
  await output.write(table.end(took()))
  for (const warning of answer.warnings) output.say(`Warning: ${safeLine(warning)}`)
}

export function shownTime(ms: number): string {
  if (ms < 1000) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}
