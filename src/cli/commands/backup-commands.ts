/** Backups: made and listed by the server, restored without it. */
import type { RunCommand } from '../command.ts'
import type { Output } from '../output.ts'
import { safeLine } from '../terminal-text.ts'

interface BackupRecord {
  readonly name: string
  readonly size_bytes: number
  readonly created_at: string
  readonly row_count: number
}

export const backup: RunCommand = async ({ client, output, signal }) => {
  output.say('The server makes a backup …')
  // The server's own answer, whose form its routes define.
  const made = (await client.send('POST', '/api/backup', { signal })) as BackupRecord
  await show(output, [backupLine(made)], made)
  return undefined
}

export const backups: RunCommand = async ({ client, output, signal }) => {
  // As above.
  const all = (await client.send('GET', '/api/backups', { signal })) as readonly BackupRecord[]
  const none = 'There are no backups; "eider backup" makes one'
  await show(output, all.length === 0 ? [none] : all.map(backupLine), all)
  return undefined
}

async function show(output: Output, lines: readonly string[], value: unknown): Promise<void> {
  if (output.isJson) await output.json(value)
  else await output.write(`${lines.join('\n')}\n`)
}

function backupLine({ name, size_bytes: bytes, created_at: at, row_count: rows }: BackupRecord) {
  const size = `${(bytes / 1024 ** 2).toFixed(1)} MiB`
  return `${safeLine(name)}  ${at.slice(0, 19)} UTC  ${size}  ${rows} rows`
}
