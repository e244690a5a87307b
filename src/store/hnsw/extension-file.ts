import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { systemCodeOf } from '../../errors.ts'

export interface WantedBuild {
  /** Of DuckDB, as `v1.5.5`. */
  readonly version: string
  /** Of DuckDB's build, as `linux_amd64`. */
  readonly platform: string
}

/** `right`, `missing`, or what the file is instead: a clause behind "is". */
export type ExtensionFile =
  | { readonly kind: 'right' | 'missing' }
  | { readonly kind: 'wrong'; readonly what: string }

/**
 * Whether this may be the `vss` extension of that build. Some bytes of its end and its beginning are read, 1 MiB in a
 * right one; what is between them DuckDB checks by its signature when it loads the file.
 */
export function extensionFile(path: string, wanted: WantedBuild): ExtensionFile {
  let file: number | undefined
  try {
    // First of all: opening a pipe would wait for its writer.
    const stat = statSync(path)
    if (!stat.isFile()) return wrong('no file')
    if (stat.size === 0) return wrong('empty')
    if (stat.size < FOOTER_BYTES) return wrong(DAMAGED)
    file = openSync(path, 'r')
    const opened = { file, sizeBytes: stat.size }
    const what = wrongFooter(opened, wanted) ?? wrongProgram(opened, wanted)
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

interface OpenedFile {
  readonly file: number
  readonly sizeBytes: number
}

/** At most so many bytes from there. */
function bytesAt({ file }: OpenedFile, at: number, sizeBytes: number): Buffer {
  const bytes = Buffer.alloc(sizeBytes)
  return bytes.subarray(0, readSync(file, bytes, 0, sizeBytes, at))
}

/** The end of an extension's file (DuckDB 1.5): eight fields in reverse order, then a signature. */
const FOOTER_BYTES = 512
const FIELD_BYTES = 32
const FIELDS = { version: 5, platform: 6, format: 7 } as const

function wrongFooter(opened: OpenedFile, wanted: WantedBuild): string | null {
  const footer = bytesAt(opened, opened.sizeBytes - FOOTER_BYTES, FOOTER_BYTES)
  const field = (index: number) => {
    const bytes = footer.subarray(index * FIELD_BYTES, (index + 1) * FIELD_BYTES)
    return bytes.toString('latin1').replace(/\0+$/, '')
  }
  const [version, platform] = [field(FIELDS.version), field(FIELDS.platform)]
  if (field(FIELDS.format) !== '4' || !/^[\w.-]+$/.test(version + platform)) return DAMAGED
  const isWanted = version === wanted.version && platform === wanted.platform
  if (!isWanted) return `for DuckDB ${version}, ${platform}`
  const signature = footer.subarray(FOOTER_BYTES / 2)
  return signature.every((byte) => byte === 0) ? 'not signed by DuckDB' : null
}

/** How programs of a platform begin: ELF, Mach-O (of one or of several processors), PE. */
const BEGINNINGS: readonly (readonly [platform: string, beginnings: readonly string[]])[] = [
  ['linux', ['7f454c46']],
  ['osx', ['cffaedfe', 'cafebabe']],
  ['windows', ['4d5a']],
]

const ELF_HEADER_BYTES = 64

function wrongProgram(opened: OpenedFile, { platform }: WantedBuild): string | null {
  const header = bytesAt(opened, 0, ELF_HEADER_BYTES)
  const [system, beginnings] = BEGINNINGS.find(([name]) => platform.startsWith(name)) ?? []
  if (beginnings === undefined) return null
  const isProgram = beginnings.some((hex) => header.toString('hex').startsWith(hex))
  if (!isProgram || header.length < ELF_HEADER_BYTES) return 'damaged: it is not a program'
  return system === 'linux' ? wrongElf(opened, header) : null
}

/** Where an ELF header of 64 bits says that the table of its sections is, which is its last part. */
const SECTIONS = { offset: 0x28, entryBytes: 0x3a, count: 0x3c } as const

function wrongElf(opened: OpenedFile, header: Buffer): string | null {
  const start = Number(header.readBigUInt64LE(SECTIONS.offset))
  const sizeBytes = header.readUInt16LE(SECTIONS.entryBytes) * header.readUInt16LE(SECTIONS.count)
  if (start + sizeBytes > opened.sizeBytes - FOOTER_BYTES) return 'damaged: a part of it is missing'
  return holds(opened, ENTRY) ? null : 'another extension'
}

/** The function that DuckDB calls when it loads the file. Its name stands near the beginning. */
const ENTRY = Buffer.from('vss_duckdb_cpp_init\0')
const PIECE_BYTES = 1024 * 1024
const PIECES_MAX = 64

function holds(opened: OpenedFile, text: Buffer): boolean {
  for (let piece = 0; piece < PIECES_MAX; piece += 1) {
    const bytes = bytesAt(opened, piece * PIECE_BYTES, PIECE_BYTES + text.length)
    if (bytes.includes(text)) return true
    if (bytes.length <= text.length) return false
  }
  return false
}
