import { DuckDBInstance } from '@duckdb/node-api'
import { AppError } from '../../errors.ts'
import { interruptible } from '../duckdb/interruptible.ts'

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
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(INSTALL_MS_MAX)])
  const instance = await DuckDBInstance.create(':memory:', {
    extension_directory: directory,
    threads: '1',
  })
  const connection = await instance.connect()
  const installing = interruptible(connection, deadline, `INSTALL ${name}`).finally(() => {
    // Not before: closing would wait for the statement, on the main thread.
    connection.closeSync()
    instance.closeSync()
  })
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = () => {
    const message = `Fetching the extension took longer than ${INSTALL_MS_MAX} ms`
    reject(signal.aborted ? signal.reason : new AppError('timeout', message))
  }
  deadline.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([installing, promise])
  } finally {
    deadline.removeEventListener('abort', onAbort)
  }
}
