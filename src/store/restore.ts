import { constants } from 'node:fs'
import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { quote } from '../core/domain/names.ts'
import { StartError, systemCodeOf } from '../core/errors.ts'
import { checkFiles, type Manifest, readManifest } from './backup/manifest.ts'
import { KEY_FILES } from './catalog/secrets.ts'
import { countOf } from './duckdb/columns.ts'
import { Database, RESTORING_FILE } from './duckdb/database.ts'
import { lockNoteOf } from './duckdb/locked-instance.ts'
import { openStore } from './store.ts'

const ENGINE = { memoryLimit: '60%', threads: 0, spillLimit: '50GiB' } as const

/** Runs all startup checks. @throws StartError; the folder is then left as it was */
export async function restore(given: {
  readonly backup: string
  /** The new data folder. It must be missing or empty. */
  readonly folder: string
  /** The key file, if the backup does not include it. */
  readonly key?: string | undefined
}): Promise<Manifest> {
  const { backup, folder, key } = given
  const manifest = await readManifest(backup)
  await checkFiles(backup, manifest)
  const names = manifest.files.map(({ name }) => name)
  if (!names.includes(KEY_FILES[0]) && key === undefined) {
    throw new StartError('The backup was made without its key: name the key file with --key')
  }
  await checkEmpty(folder)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const mark = join(folder, RESTORING_FILE)
  await writeFile(mark, '', { flag: 'wx', mode: 0o600 })
  try {
    for (const name of names) {
      await mkdir(dirname(join(folder, name)), { recursive: true, mode: 0o700 })
      await copyNew(join(backup, name), join(folder, name))
    }
    if (key !== undefined) await copyNew(key, join(folder, KEY_FILES[0]))
    await rm(mark)
    await checkContents(folder, manifest)
    // At a time at which nothing has expired: what to keep is for the server's settings to say.
    const store = await openStore({ directory: folder, now: () => 0 })
    await store.close()
  } catch (error) {
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true })
    throw error
  }
  return manifest
}

function copyNew(from: string, to: string): Promise<void> {
  return copyFile(from, to, constants.COPYFILE_EXCL)
}

async function checkEmpty(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCodeOf(error) === 'ENOENT') return []
    throw new StartError(`${resolve(folder)} cannot be used: ${systemCodeOf(error)}`, error)
  })
  if (names.length === 0) return
  throw new StartError(`${resolve(folder)} is not empty: restore into an empty or a new folder`)
}

/**
 * Before the folder is migrated, because a migration changes rows.
 * @throws StartError if a table does not have the number of rows in the manifest
 */
async function checkContents(folder: string, { tables }: Manifest): Promise<void> {
  const database = await Database.open({
    directory: folder,
    ...ENGINE,
    note: lockNoteOf(0, undefined),
  })
  try {
    for (const { schema, name, rowCount } of tables) {
      const sql = `SELECT count(*) FROM ${quote(schema)}.${quote(name)}`
      const found = await database.lease((connection) => countOf(connection, sql))
      if (found === rowCount) continue
      throw new StartError(
        `The backup is incomplete: ${schema}.${name} has ${found} rows instead of ${rowCount}; use another one`,
      )
    }
  } finally {
    await database.close()
  }
}
