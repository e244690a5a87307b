import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { IndexPossibility } from '../../core/domain/index-definition.ts'
import { AppError, systemCodeOf } from '../../core/errors.ts'
import { abortable, withDeadline } from '../../core/runtime/cancellation.ts'
import { runInterruptibly } from '../duckdb/interruptible.ts'

const EXTENSION_FILE = 'vss.duckdb_extension'

export interface ExtensionsOptions {
  /** May not exist. null: only DuckDB's own folder. */
  readonly directory: string | null
  /** Whether DuckDB may download the extension if it is missing. */
  readonly isInstallAllowed: boolean
  /** DuckDB's version, for example `v1.5.5`. */
  readonly version: string
  /** The platform of DuckDB's build, for example `linux_amd64`. */
  readonly platform: string
  /** The folder of DuckDB's own extensions; by default in the home directory. */
  readonly ownDirectory?: string
  readonly install?: typeof installExtension
}

type Found =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'none'; readonly reason: string }

/** Reads only the file's end to start fast. DuckDB checks the whole file when it loads it. */
export class Extensions {
  readonly #options: ExtensionsOptions
  readonly #closing = new AbortController()
  #found: Found
  #installing: Promise<void> = Promise.resolve()

  constructor(options: ExtensionsOptions) {
    this.#options = options
    this.#found = this.#look()
  }

  /** The file to load, or null if there is no suitable one. */
  get path(): string | null {
    return this.#found.kind === 'file' ? this.#found.path : null
  }

  possibility(): IndexPossibility {
    const found = this.#found
    return found.kind === 'file' ? { possible: true } : { possible: false, reason: found.reason }
  }

  /** Lets DuckDB download a missing file in the background, if that is allowed. */
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

  /** Resolves when no download is running. */
  settled(): Promise<void> {
    return this.#installing
  }

  /** Call if DuckDB could not load the file. It is not tried again until the next start. */
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
    ].map((folder) => join(folder, EXTENSION_FILE))) {
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
 * Downloads a DuckDB extension in a temporary instance, because the instance with the data stays
 * locked. The file is created atomically.
 * @param directory where DuckDB makes a subfolder for its version and platform
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
      // Closing earlier would wait for the statement and block the main thread.
      connection.closeSync()
      instance.closeSync()
    })
    return abortable(installing, deadline)
  })
}

interface WantedBuild {
  /** DuckDB's version, for example `v1.5.5`. */
  readonly version: string
  /** The platform of DuckDB's build, for example `linux_amd64`. */
  readonly platform: string
}

/** `right`, `missing`, or a description that completes the sentence "the file is …". */
type ExtensionFile =
  | { readonly kind: 'right' | 'missing' }
  | { readonly kind: 'wrong'; readonly what: string }

/** Reads only the end. DuckDB checks the rest and the signature when it loads the file. */
function extensionFile(path: string, wanted: WantedBuild): ExtensionFile {
  let file: number | undefined
  try {
    // Check the kind of file first, because opening a pipe would wait for its writer.
    const stat = statSync(path)
    if (!stat.isFile()) return wrong('no file')
    if (stat.size === 0) return wrong('empty')
    if (stat.size < FOOTER_BYTES) return wrong(DAMAGED)
    file = openSync(path, 'r')
    const what = wrongFooter(file, stat.size, wanted)
    return what === null ? { kind: 'right' } : wrong(what)
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error) ?? '')
    return isMissing ? { kind: 'missing' } : wrong('unreadable')
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

const DAMAGED = 'damaged, or no extension'

function wrong(what: string): ExtensionFile {
  return { kind: 'wrong', what }
}

/** The end of an extension file (DuckDB 1.5): eight fields in reverse order, then a signature. */
const FOOTER_BYTES = 512
const FIELD_BYTES = 32
const FOOTER_FIELDS = { version: 5, platform: 6, format: 7 } as const

function wrongFooter(file: number, sizeBytes: number, wanted: WantedBuild): string | null {
  const footer = Buffer.alloc(FOOTER_BYTES)
  readSync(file, footer, 0, FOOTER_BYTES, sizeBytes - FOOTER_BYTES)
  const field = (index: number) => {
    const bytes = footer.subarray(index * FIELD_BYTES, (index + 1) * FIELD_BYTES)
    return bytes.toString('latin1').replace(/\0+$/, '')
  }
  const [version, platform] = [field(FOOTER_FIELDS.version), field(FOOTER_FIELDS.platform)]
  if (field(FOOTER_FIELDS.format) !== '4' || !/^[\w.-]+$/.test(version + platform)) return DAMAGED
  const isWanted = version === wanted.version && platform === wanted.platform
  if (!isWanted) return `for DuckDB ${version}, ${platform}`
  const signature = footer.subarray(FOOTER_BYTES / 2)
  return signature.every((byte) => byte === 0) ? 'not signed by DuckDB' : null
}
