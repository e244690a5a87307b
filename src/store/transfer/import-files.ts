import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ImportFiles } from '../../core/domain/ports/document-ports.ts'
import { AppError } from '../../core/errors.ts'

const FOLDER = 'imports'
const IMPORT_FILE = /^[0-9a-f-]{36}\.parquet$/

/** Files that jobs import: each stays until its job is done. */
export class StoredImportFiles implements ImportFiles {
  readonly #folder: string
  readonly #isTemporary: boolean

  private constructor(folder: string, isTemporary: boolean) {
    this.#folder = folder
    this.#isTemporary = isTemporary
  }

  /**
   * Takes away what no job wants any more.
   * @param directory the data folder; null: nothing is on disk
   * @param requests of the jobs there are
   */
  static async open(
    directory: string | null,
    requests: readonly unknown[],
  ): Promise<StoredImportFiles> {
    const folder =
      directory === null
        ? join(tmpdir(), `eider-imports-${crypto.randomUUID()}`)
        : join(directory, FOLDER)
    const wanted = new Set(requests.map(importFileOf))
    for (const name of await readdir(folder).catch(() => [])) {
      if (!wanted.has(name)) await rm(join(folder, name), { recursive: true, force: true })
    }
    return new StoredImportFiles(folder, directory === null)
  }

  async keep(path: string): Promise<string> {
    const name = `${crypto.randomUUID()}.parquet`
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    await rename(path, join(this.#folder, name))
    return name
  }

  async pathOf(name: string): Promise<string> {
    const path = join(this.#folder, name)
    if (IMPORT_FILE.test(name) && (await Bun.file(path).exists())) return path
    throw new AppError('job_items_missing', 'The file of the import is gone; import it again')
  }

  async remove(name: string): Promise<void> {
    if (IMPORT_FILE.test(name)) await rm(join(this.#folder, name), { force: true })
  }

  async close(): Promise<void> {
    if (this.#isTemporary) await rm(this.#folder, { recursive: true, force: true })
  }
}

/** The name in a job's request; null: it is no import. */
function importFileOf(request: unknown): string | null {
  const file = typeof request === 'object' && request !== null ? Reflect.get(request, 'file') : null
  return typeof file === 'string' ? file : null
}
