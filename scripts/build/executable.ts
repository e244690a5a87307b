/** Checks executables for other systems by their format, since they cannot run here, and shortens them. */
import type { Platform } from './platforms.ts'

const ELF = 0x464c457f
const MACH_O = 0xfeedfacf
const PE = 0x4550
/** CPU numbers in the headers of executables, by format and CPU. */
const MACHINES: Readonly<Record<string, number>> = {
  'linux-x64': 0x3e,
  'linux-arm64': 0xb7,
  'darwin-x64': 0x01000007,
  'darwin-arm64': 0x0100000c,
  'win32-x64': 0x8664,
}

/** @throws Error if the file is for another system or lacks the payload */
export function checkExecutable(
  { name, system, arch }: Platform,
  file: Buffer,
  payload: Uint8Array,
): void {
  if (machineOf(file, system) !== MACHINES[`${system}-${arch}`]) {
    throw new Error(`The file for ${name} is not an executable of that system`)
  }
  if (!file.includes(payload)) throw new Error(`The file for ${name} lacks its payload`)
}

function machineOf(file: Buffer, system: string): number | undefined {
  const magic = file.readUInt32LE(0)
  if (system === 'linux' && magic === ELF) return file.readUInt16LE(18)
  if (system === 'darwin' && magic === MACH_O) return file.readUInt32LE(4)
  if (system !== 'win32' || file.toString('latin1', 0, 2) !== 'MZ') return undefined
  const head = file.readUInt32LE(60)
  return file.readUInt32LE(head) === PE ? file.readUInt16LE(head + 4) : undefined
}

const HEADER_BYTES = 32
const LC_SEGMENT_64 = 0x19
const LC_CODE_SIGNATURE = 0x1d
const PAGE_BYTES = 0x1000

/**
 * Bun signs what it compiles for Apple's processors. For Intel's, it keeps its own signature, which
 * no longer fits the file, so that macOS would end the program. Without a signature it runs there.
 */
export function withoutSignature(file: Buffer): Buffer {
  const count = file.readUInt32LE(16)
  const size = file.readUInt32LE(20)
  let linkEditAt: number | undefined
  let at = HEADER_BYTES
  for (let index = 0; index < count; index += 1) {
    const command = file.readUInt32LE(at)
    const bytes = file.readUInt32LE(at + 4)
    const isLinkEdit =
      command === LC_SEGMENT_64 && file.toString('latin1', at + 8, at + 18) === '__LINKEDIT'
    if (isLinkEdit) linkEditAt = at
    if (command === LC_CODE_SIGNATURE && linkEditAt !== undefined) {
      const end = file.readUInt32LE(at + 8)
      const unsigned = Buffer.from(file.subarray(0, end))
      const commandsEnd = HEADER_BYTES + size
      unsigned.copyWithin(at, at + bytes, commandsEnd)
      unsigned.fill(0, commandsEnd - bytes, commandsEnd)
      unsigned.writeUInt32LE(count - 1, 16)
      unsigned.writeUInt32LE(size - bytes, 20)
      const length = end - Number(unsigned.readBigUInt64LE(linkEditAt + 40))
      unsigned.writeBigUInt64LE(
        BigInt(Math.ceil(length / PAGE_BYTES) * PAGE_BYTES),
        linkEditAt + 32,
      )
      unsigned.writeBigUInt64LE(BigInt(length), linkEditAt + 48)
      return unsigned
    }
    at += bytes
  }
  return file
}

const UNIVERSAL = 0xcafebabe
const UNIVERSAL_ENTRY_BYTES = 20

/** Libraries for macOS may contain one for each processor. @returns the one for this platform */
export function forProcessor({ name, system, arch }: Platform, file: Buffer): Buffer {
  if (file.readUInt32BE(0) !== UNIVERSAL) return file
  const entries = Array.from({ length: file.readUInt32BE(4) }, (_, index) => {
    return file.subarray(8 + index * UNIVERSAL_ENTRY_BYTES)
  })
  const own = entries.find((entry) => entry.readUInt32BE(0) === MACHINES[`${system}-${arch}`])
  if (own === undefined) throw new Error(`A library has no part for ${name}`)
  const start = own.readUInt32BE(8)
  return file.subarray(start, start + own.readUInt32BE(12))
}

const PROGRAM_HEADERS_AT = 32
const SECTION_HEADERS_AT = 40

/** Cuts off what Linux does not load, such as the symbols for debuggers. */
export function withoutSymbols(file: Buffer): Buffer {
  if (file.readUInt32LE(0) !== ELF) return file
  const size = file.readUInt16LE(54)
  const ends = Array.from({ length: file.readUInt16LE(56) }, (_, index) => {
    const at = Number(file.readBigUInt64LE(PROGRAM_HEADERS_AT)) + index * size
    return Number(file.readBigUInt64LE(at + 8) + file.readBigUInt64LE(at + 32))
  })
  const loaded = Buffer.from(file.subarray(0, Math.max(...ends)))
  loaded.writeBigUInt64LE(0n, SECTION_HEADERS_AT)
  return loaded.fill(0, 60, 64)
}
