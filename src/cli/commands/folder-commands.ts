/** Commands that work directly on a data folder, without a server. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { salvage as salvageFolder } from '../../store/backup/salvage.ts'
import { DATABASE_FILE } from '../../store/duckdb/database.ts'
import { acceptLoss as acceptLostLog } from '../../store/duckdb/log-mark.ts'
import { restore as restoreBackup } from '../../store/restore.ts'
import type { RunCommand } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { show, shownLines } from './record-output.ts'

export const restore: RunCommand = async ({ words: [backup = ''], options, output }) => {
  const folder = options.required('data')
  const manifest = await restoreBackup({ backup, folder, key: options.text('key') })
  const { tables, files: _, ...shown } = manifest
  const rows = tables.reduce((sum, { rowCount }) => sum + rowCount, 0)
  const done = `Restored into ${folder}: ${rows} rows in ${tables.length} tables`
  return show(output, manifest, () => [done, ...shownLines(shown)])
}

export const salvage: RunCommand = async ({ words: [folder = ''], options, output }) => {
  const target = options.required('to')
  const report = await salvageFolder(folder, target, (line) => output.say(line))
  const rows = report.tables.reduce((sum, table) => sum + table.rows, 0)
  const saved = `Saved ${rows} rows of ${report.tables.length} tables into ${target}`
  return show(output, report, () => [...report.damage.map((what) => `Damaged: ${what}`), saved])
}

export const acceptLoss: RunCommand = async ({ words: [folder = ''], output }) => {
  if (!existsSync(join(folder, DATABASE_FILE))) {
    throw new CommandError('no_data_folder', `${folder} has no ${DATABASE_FILE}: restore a backup`)
  }
  const found = acceptLostLog(folder, DATABASE_FILE)
    ? 'will start with the remaining data; what was lost cannot be determined'
    : 'has its whole log: nothing is lost, and nothing was changed'
  return show(output, { folder }, () => [`${folder} ${found}`])
}
