import { homedir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { IndexPossibility } from '../../domain/index-definition.ts'
import { AppError } from '../../errors.ts'
import { abortable, withDeadline } from '../../runtime/cancellation.ts'
import { runInterruptibly } from '../duckdb/interruptible.ts'
import { extensionFile } from './extension-file.ts'

const FILE_NAME = 'vss.duckdb_extension'

export interface ExtensionsOptions {
  /** Where the operator keeps extensions; it need not exist. null: DuckDB's own folder is all there is. */
  readonly directory: string | null
  /** Whether DuckDB may fetch what is missing. */
  readonly isInstallAllowed: boolean
  /** Of DuckDB, as `v1.5.5`. */
  readonly version: string
  /** Of DuckDB's build, as `linux_amd64`. */
  readonly platform: string
  /** Where DuckDB keeps its own; unset: in the home directory. */
  readonly ownDirectory?: string
  readonly install?: typeof installExtension
}

type Found =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'none'; readonly reason: string }

/**
 * The file of DuckDB's `vss` extension: where it is, or why it cannot be used. Only its ends are read here, so that a
 * start without graphs pays nothing; DuckDB checks the whole file's signature when it loads it.
 */
export class Extensions {
  readonly #options: ExtensionsOptions
  readonly #closing = new AbortController()
  #found: Found
  #installing: Promise<void> = Promise.resolve()

  constructor(options: ExtensionsOptions) {
    this.#options = options
    this.#found = this.#look()
  }

  /** The file to load; null: there is none that fits. */
  get path(): string | null {
    return this.#found.kind === 'file' ? this.#found.path : null
  }

  possibility(): IndexPossibility {
    const found = this.#found
    return found.kind === 'file' ? { possible: true } : { possible: false, reason: found.reason }
  }

  /** Has DuckDB fetch a file that is missing, in the background, where that is allowed. */
  start(): void {
    const { isInstallAllowed, directory, install = installExtension } = this.#options
    if (!isInstallAllowed || this.#found.kind === 'file') return
    const own = this.#ownDirectory
    const before = this.#found.reason
    this.#found = { kind: 'none', reason: 'The vss extension is being fetched by DuckDB' }
    this.#installing = install({ name: 'vss', directory: directory ?? own }, this.#closing.signal)
      .then(() => {
        this.#found = this.#look()
      })
      .catch(() => {
        this.#found = { kind: 'none', reason: `${before}. DuckDB could not fetch it` }
      })
  }

  /** Resolves when nothing is being fetched. */
  settled(): Promise<void> {
    return this.#installing
  }

  /** DuckDB did not load the file: it is not tried again before the next start. */
  refuse(error: unknown): void {
    const isForged = error instanceof Error && /signature/i.test(error.message)
    const why = isForged ? 'it does not carry the signature of DuckDB' : 'DuckDB could not load it'
    this.#found = { kind: 'none', reason: `The vss extension that was found is not used: ${why}` }
  }

  close(): void {
    this.#closing.abort()
  }

  get #ownDirectory(): string {
    return this.#options.ownDirectory ?? join(homedir(), '.duckdb', 'extensions')
  }

  #look(): Found {
    const { directory, version, platform } = this.#options
    const builds = join(version, platform)
    const own = this.#ownDirectory
    const expected = `${version}, ${platform}`
    let wrong: string | null = null
    for (const path of [
      ...(directory === null ? [] : [join(directory, builds), directory]),
      join(own, builds),
    ].map((folder) => join(folder, FILE_NAME))) {
      const found = extensionFile(path, { version, platform })
      if (found.kind === 'right') return { kind: 'file', path }
      if (found.kind === 'wrong') wrong ??= found.what
    }
    if (wrong !== null) {
      const reason = `The vss extension that was found is ${wrong}; it must be for DuckDB ${expected}`
      return { kind: 'none', reason }
    }
    const where = directory === null ? '' : ` in ${directory}`
    const what = `The vss extension for DuckDB ${expected} was not found${where}`
    return { kind: 'none', reason: `${what}: npm run extensions` }
  }
}

const INSTALL_MS_MAX = 60_000

/**
 * Has DuckDB fetch one of its extensions, in an instance that is thrown away: that of the data stays locked. The file is
 * there whole or not at all.
 * @param directory DuckDB puts the file into a folder of its version and platform in here
 * @throws DuckDB's error; AppError `timeout`; the signal's reason
 */
export async function installExtension(
  { name, directory }: { readonly name: 'vss'; readonly directory: string },
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
