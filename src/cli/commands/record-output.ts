import { usageError } from '../command-error.ts'
import { nearest } from '../command-line.ts'
import type { Output } from '../output.ts'
import { ResultTable } from '../result-table.ts'
import { safeLine } from '../terminal-text.ts'

/** A list printed as a table, lines of a result, or a message next to results. */
type Shown =
  | { readonly names: readonly string[]; readonly rows: readonly (readonly unknown[])[] }
  | readonly string[]
  | string

export async function show(
  output: Output,
  answer: unknown,
  shownOf: () => Shown,
): Promise<undefined> {
  if (output.isJson) return output.json(answer).then(() => undefined)
  const shown = shownOf()
  if (typeof shown === 'string') output.say(shown)
  else if ('names' in shown) await showTable(shown.names, shown.rows, output)
  else await output.write(shown.map((line) => `${line}\n`).join(''))
  return undefined
}

async function showTable(
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

/** One line `name: value` for each value. */
export function shownLines(value: unknown, prefix = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [`${prefix}: ${safeLine(String(value))}`]
  return Object.entries(value).flatMap(([key, inner]) => {
    return shownLines(inner, prefix === '' ? key : `${prefix}.${key}`)
  })
}

/** @throws CommandError `usage` */
export function actionOf<Action extends string>(
  command: string,
  word: string,
  actions: readonly Action[],
): Action {
  const action = actions.find((one) => one === word)
  if (action !== undefined) return action
  const near = nearest(word, actions)
  const hint = near === undefined ? `there are ${actions.join(', ')}` : `did you mean ${near}?`
  throw usageError(`${command}: there is no "${word}"; ${hint}`)
}
