import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface ExtensionBuild {
  readonly version: string
  readonly platform: string
}

/** Returns the end of the extension file as in DuckDB's build for Linux, without the code. */
export function extensionBytes(
  { version, platform }: ExtensionBuild,
  { entry = 'vss_duckdb_cpp_init', signatureByte = 9, sectionsAt = 900 } = {},
): Buffer {
  const program = Buffer.alloc(1000, 7)
  program.write('\x7fELF', 'latin1')
  program.writeBigUInt64LE(BigInt(sectionsAt), 0x28)
  program.writeUInt16LE(50, 0x3a)
  program.writeUInt16LE(2, 0x3c)
  program.write(`${entry}\0`, 500)
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
