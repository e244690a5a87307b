import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface ExtensionBuild {
  readonly version: string
  readonly platform: string
}

/** Returns the end of the extension file as in DuckDB's build for Linux, without the code. */
export function extensionBytes({ version, platform }: ExtensionBuild, signatureByte = 9): Buffer {
  const program = Buffer.alloc(1000, 7)
  const fields = ['', '', '', 'CPP', 'b833341', version, platform, '4']
  const metadata = fields.map((field) => Buffer.from(field.padEnd(32, '\0'), 'latin1'))
  return Buffer.concat([program, ...metadata, Buffer.alloc(256, signatureByte)])
}

/** @param folder the file is put into subfolders for its version and platform, as DuckDB and Eider do */
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
