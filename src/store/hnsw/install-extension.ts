import { DuckDBInstance } from '@duckdb/node-api'
import { AppError } from '../../errors.ts'
import { abortable, withDeadline } from '../../runtime/cancellation.ts'
import { runInterruptibly } from '../duckdb/interruptible.ts'

const INSTALL_MS_MAX = 60_000

export interface ExtensionToInstall {
  readonly name: 'vss'
  /** DuckDB puts the file into a folder of its version and platform in here. */
  readonly directory: string
}

/**
 * Has DuckDB fetch one of its extensions, in an instance that is thrown away: that of the data stays locked. The file is
 * there whole or not at all.
 * @throws DuckDB's error; AppError `timeout`; the signal's reason
 */
export async function installExtension(
  { name, directory }: ExtensionToInstall,
  signal: AbortSignal,
): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', {
    extension_directory: directory,
    threads: '1',
  })
  const connection = await instance.connect()
  const timeoutError = (ms: number) => {
    return new AppError('timeout', `Fetching the extension took longer than ${ms} ms`)
  }
  await withDeadline({ timeoutMs: INSTALL_MS_MAX, signal, timeoutError }, (deadline) => {
    const installing = runInterruptibly(connection, deadline, `INSTALL ${name}`).finally(() => {
      // Not before: closing would wait for the statement, on the main thread.
      connection.closeSync()
      instance.closeSync()
    })
    return abortable(installing, deadline)
  })
}
