import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface ExtensionBuild {
  readonly version: string
  readonly platform: string
}

/** The last bytes of an extension as DuckDB writes them, after some that are no program. */
export function extensionBytes({ version, platform }: ExtensionBuild): Buffer {
  const fields = ['', '', '', 'CPP', 'b833341', version, platform, '4']
  const metadata = fields.map((field) => Buffer.from(field.padEnd(32, '\0'), 'latin1'))
  return Buffer.concat([Buffer.alloc(1000, 7), ...metadata, Buffer.alloc(256, 9)])
}

/** @param folder as DuckDB and Eider lay them out: the file is in folders of its version and platform */
export async function writeExtension(
  folder: string,
  build: ExtensionBuild,
  bytes: Uint8Array = extensionBytes(build),
): Promise<string> {
  const path = join(folder, build.version, build.platform, 'vss.duckdb_extension')
  await mkdir(dirname(path), { recursive: true })
  await Bun.write(path, bytes)
  return path
}
