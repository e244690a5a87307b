import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { IndexPossibility } from '../domain/vector-index.ts'
import { installExtension } from './install-extension.ts'
import { systemCodeOf } from './start-error.ts'

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
 * The file of DuckDB's `vss` extension: where it is, or why it cannot be used. Only its last bytes are read here, so that
 * a start without graphs pays nothing; DuckDB checks the whole file's signature when it loads it.
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

  /** DuckDB did not load the file: nobody tries again before the next start. */
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
      const build = buildOf(path)
      if (build === `for DuckDB ${expected}`) return { kind: 'file', path }
      if (build !== null) wrong ??= build
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

/** The end of an extension's file: eight fields in reverse order, then a signature. */
const FOOTER_BYTES = 512
const FIELD_BYTES = 32
const FIELDS = { version: 5, platform: 6, format: 7 } as const

/** `for DuckDB v1.5.5, linux_amd64`, or what is wrong with the file; null: there is none. */
function buildOf(path: string): string | null {
  const footer = footerOf(path)
  if (typeof footer === 'string' || footer === null) return footer
  const field = (index: number) => {
    const bytes = footer.subarray(index * FIELD_BYTES, (index + 1) * FIELD_BYTES)
    return bytes.toString('latin1').replace(/\0+$/, '')
  }
  const [version, platform] = [field(FIELDS.version), field(FIELDS.platform)]
  const isExtension = field(FIELDS.format) === '4' && /^[\w.-]+$/.test(version + platform)
  return isExtension ? `for DuckDB ${version}, ${platform}` : 'damaged, or no extension'
}

function footerOf(path: string): Buffer | string | null {
  let file: number | undefined
  try {
    // First of all: opening a pipe would wait for its writer.
    const stat = statSync(path)
    if (!stat.isFile()) return 'no file'
    if (stat.size < FOOTER_BYTES) return stat.size === 0 ? 'empty' : 'damaged, or no extension'
    file = openSync(path, 'r')
    const footer = Buffer.alloc(FOOTER_BYTES)
    readSync(file, footer, 0, FOOTER_BYTES, stat.size - FOOTER_BYTES)
    return footer
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error) ?? '')
    return isMissing ? null : 'unreadable'
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
