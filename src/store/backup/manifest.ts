/** Reads and checks `manifest.json`, which describes a backup. */

import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError, systemCodeOf } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'

export const MANIFEST_FILE = 'manifest.json'

const MANIFEST_FORMAT = 1
const MANIFEST_CHARS_MAX = 64 * 1024 * 1024

export interface Manifest {
  readonly format: typeof MANIFEST_FORMAT
  readonly eiderVersion: string
  readonly createdAt: string
  /** The same for all backups of one data folder. */
  readonly folderId: string
  readonly contents: Readonly<Record<string, number>>
  readonly tables: readonly {
    readonly schema: string
    readonly name: string
    readonly rowCount: number
  }[]
  readonly files: readonly ManifestFile[]
}

interface ManifestFile {
  readonly name: string
  readonly sizeBytes: number
  readonly sha256: string
}

export function newManifest(parts: Omit<Manifest, 'format'>): Manifest {
  return { format: MANIFEST_FORMAT, ...parts }
}

export function rowCountOf({ tables }: Manifest): number {
  return tables.reduce((sum, { rowCount }) => sum + rowCount, 0)
}

export function sizeBytesOf({ files }: Manifest): number {
  return files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
}

/** @throws StartError if the folder does not contain a backup in a known format */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST_FILE)
  let parsed: unknown
  try {
    const text = await readFile(path, 'utf8')
    parsed = JSON.parse(text.slice(0, MANIFEST_CHARS_MAX))
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error) ?? '')
    const why = isMissing ? `has no ${MANIFEST_FILE}` : `has a ${MANIFEST_FILE} that cannot be read`
    throw new StartError(`${folder} is not a complete backup: it ${why}`, error)
  }
  if (isManifest(parsed)) return parsed
  throw new StartError(
    `this version cannot read ${path}; restore it with the version that wrote it`,
  )
}

function isManifest(value: unknown): value is Manifest {
  if (!isObject(value)) return false
  const { format, eiderVersion, createdAt, folderId, contents, tables, files } = value
  const isText = [eiderVersion, createdAt, folderId].every((one) => typeof one === 'string')
  if (format !== MANIFEST_FORMAT || !isText || !isObject(contents)) return false
  if (!Array.isArray(tables) || !Array.isArray(files)) return false
  return files.every(isManifestFile) && tables.every((table) => Number.isInteger(table?.rowCount))
}

/** Accepts only file names in the folder itself or in its `files` folder, never paths out of it. */
function isManifestFile(value: unknown): value is ManifestFile {
  if (!isObject(value)) return false
  const { name, sizeBytes, sha256 } = value
  return (
    typeof name === 'string' &&
    /^(files\/)?[\w-]+(\.[\w-]+)*$/.test(name) &&
    typeof sizeBytes === 'number' &&
    typeof sha256 === 'string'
  )
}

/** Computes the size and SHA-256 of a file in this folder. */
export async function describedFile(folder: string, name: string): Promise<ManifestFile> {
  const hasher = new Bun.CryptoHasher('sha256')
  let sizeBytes = 0
  for await (const piece of createReadStream(join(folder, name), { highWaterMark: 1024 ** 2 })) {
    hasher.update(piece)
    sizeBytes += piece.length
  }
  return { name, sizeBytes, sha256: hasher.digest('hex') }
}

/** @throws StartError that names the first file that does not match the manifest */
export async function checkFiles(folder: string, manifest: Manifest): Promise<void> {
  for (const file of manifest.files) {
    const found = await describedFile(folder, file.name).catch((error: unknown) => {
      const why = systemCodeOf(error) === 'ENOENT' ? 'is missing' : 'cannot be read'
      throw new StartError(`The backup is damaged: ${join(folder, file.name)} ${why}`, error)
    })
    if (found.sizeBytes === file.sizeBytes && found.sha256 === file.sha256) continue
    const sizes = `${found.sizeBytes} bytes, ${file.sizeBytes} were written`
    const why = found.sizeBytes === file.sizeBytes ? 'its SHA-256 differs' : sizes
    throw new StartError(`The backup is damaged: ${join(folder, file.name)} was changed (${why})`)
  }
}
