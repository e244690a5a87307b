import type { RunCommand } from '../command.ts'
import { shownLines } from './shown-lines.ts'

export const run: RunCommand = async ({ client, output, signal }) => {
  const status = await client.send('GET', '/api/status', { signal })
  if (output.isJson) await output.json(status)
  else await output.write(`${[`server: ${client.address}`, ...shownLines(status)].join('\n')}\n`)
  return undefined
}
