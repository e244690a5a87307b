import { usageError } from '../command-error.ts'
import { nearest } from '../command-line.ts'
import type { Output } from '../output.ts'
import { tableFor } from '../result-table.ts'
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
  else if ('names' in shown) {
    const table = tableFor(output, shown.names)
    await output.write(table.add(shown.rows))
    await output.write(table.end())
  } else await output.write(shown.map((line) => `${line}\n`).join(''))
  return undefined
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
