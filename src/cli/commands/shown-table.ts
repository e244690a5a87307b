import type { Output } from '../output.ts'
import { ResultTable } from '../result-table.ts'

/** A list that is held whole. */
export async function showTable(
  names: readonly string[],
  rows: readonly (readonly unknown[])[],
  output: Output,
): Promise<void> {
  const table = new ResultTable(names, {
    columns: output.columns,
    expanded: 'off',
    isPlain: !output.isTerminal,
    dim: (text) => output.dim(text),
    bold: (text) => output.bold(text),
  })
  await output.write(table.add(rows))
  await output.write(table.end())
}
