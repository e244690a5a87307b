import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { DerivedFiles } from '../core/domain/ports/retrieval-ports.ts'

const UNFINISHED = '.part'
const BYTES_MAX = 512 * 1024 ** 2

/** Can be recomputed from the stored data. Backups leave them out. */
export class StoredDerivedFiles implements DerivedFiles {
  readonly #folder: string | null
  readonly #checkSpace: (bytes: number) => void

  /** @param directory the data folder, or null to write no files @param name the subfolder */
  constructor(directory: string | null, checkSpace: (bytes: number) => void, name = 'derived') {
    this.#folder = directory === null ? null : join(directory, name)
    this.#checkSpace = checkSpace
  }

  async read(name: string): Promise<Uint8Array | null> {
    if (this.#folder === null) return null
    const path = join(this.#folder, name)
    try {
      // Limits memory use if the file is not one that this program wrote.
      const { size } = await stat(path)
      return size > BYTES_MAX ? null : await readFile(path)
    } catch {
      return null
    }
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    if (this.#folder === null) return
    this.#checkSpace(bytes.length)
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const path = join(this.#folder, name)
    await writeFile(path + UNFINISHED, bytes, { mode: 0o600 })
    await rename(path + UNFINISHED, path)
  }

  async keepOnly(names: ReadonlySet<string>): Promise<void> {
    const folder = this.#folder
    if (folder === null) return
    const found = await readdir(folder).catch(() => [])
    // Keep unfinished files too: another call may be writing them.
    const others = found.filter(
      (name) => !names.has(name) && !names.has(basename(name, UNFINISHED)),
    )
    await Promise.all(others.map((name) => rm(join(folder, name), { force: true })))
  }
}
