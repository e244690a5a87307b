/** Executables of other systems, as small as their formats allow. */
import { expect, test } from 'bun:test'
import {
  checkExecutable,
  forProcessor,
  withoutSignature,
  withoutSymbols,
} from '../../scripts/build/executable.ts'
import { PLATFORMS } from '../../scripts/build/platforms.ts'

const PAYLOAD = Buffer.from('payload')

function executable(fill: (file: Buffer) => void): Buffer {
  const file = Buffer.alloc(256)
  fill(file)
  return Buffer.concat([file, PAYLOAD])
}

const elf = (machine: number) =>
  executable((file) => {
    file.write('\x7fELF')
    file.writeUInt16LE(machine, 18)
  })
const machO = (machine: number) =>
  executable((file) => {
    file.writeUInt32LE(0xfeedfacf)
    file.writeUInt32LE(machine, 4)
  })
const pe = executable((file) => {
  file.write('MZ')
  file.writeUInt32LE(128, 60)
  file.write('PE', 128)
  file.writeUInt16LE(0x8664, 132)
})
const FILES = {
  'linux-x64': elf(0x3e),
  'linux-arm64': elf(0xb7),
  'darwin-arm64': machO(0x0100000c),
  'darwin-x64': machO(0x01000007),
  'windows-x64': pe,
}

test('each file is accepted for its own system alone', () => {
  const accepted = PLATFORMS.map((platform) => {
    return Object.entries(FILES).flatMap(([name, file]) => {
      try {
        checkExecutable(platform, file, PAYLOAD)
        return [name]
      } catch {
        return []
      }
    })
  })
  expect(accepted).toEqual(PLATFORMS.map(({ name }) => [name]))
})

test('a file without its payload is refused', () => {
  for (const platform of PLATFORMS.filter(({ name }) => name === 'linux-x64')) {
    const check = () => checkExecutable(platform, elf(0x3e), Buffer.from('another'))
    expect(check).toThrow('lacks its payload')
  }
})

test('a signature is removed with its command, and the last segment ends before it', () => {
  const [linkEdit, signature, other] = [32, 104, 120]
  const file = Buffer.alloc(0x3000)
  file.writeUInt32LE(0xfeedfacf)
  file.writeUInt32LE(3, 16)
  file.writeUInt32LE(72 + 16 + 24, 20)
  file.writeUInt32LE(0x19, linkEdit)
  file.writeUInt32LE(72, linkEdit + 4)
  file.write('__LINKEDIT', linkEdit + 8)
  file.writeBigUInt64LE(0x3000n, linkEdit + 32)
  file.writeBigUInt64LE(0x1000n, linkEdit + 40)
  file.writeBigUInt64LE(0x2000n, linkEdit + 48)
  file.writeUInt32LE(0x1d, signature)
  file.writeUInt32LE(16, signature + 4)
  file.writeUInt32LE(0x2800, signature + 8)
  file.writeUInt32LE(0x800, signature + 12)
  file.writeUInt32LE(0x1b, other)
  file.writeUInt32LE(24, other + 4)
  file.write('uuid', other + 8)
  const unsigned = withoutSignature(file)
  expect(unsigned.length).toBe(0x2800)
  expect([unsigned.readUInt32LE(16), unsigned.readUInt32LE(20)]).toEqual([2, 72 + 24])
  const sizes = [32, 40, 48].map((at) => unsigned.readBigUInt64LE(linkEdit + at))
  expect(sizes).toEqual([0x2000n, 0x1000n, 0x1800n])
  expect(unsigned.readUInt32LE(signature)).toBe(0x1b)
  expect(unsigned.toString('latin1', signature + 8, signature + 12)).toBe('uuid')
  expect(unsigned.subarray(signature + 24, other + 24).every((byte) => byte === 0)).toBe(true)
  expect(withoutSignature(unsigned).equals(unsigned)).toBe(true)
})

test('symbols are cut off, and what is loaded stays as it is', () => {
  const headers = 64
  const file = Buffer.alloc(1000, 7)
  file.write('\x7fELF')
  file.writeBigUInt64LE(BigInt(headers), 32)
  file.writeBigUInt64LE(900n, 40)
  file.writeUInt16LE(56, 54)
  file.writeUInt16LE(2, 56)
  for (const [index, start] of [0, 300].entries()) {
    file.writeBigUInt64LE(BigInt(start), headers + index * 56 + 8)
    file.writeBigUInt64LE(250n, headers + index * 56 + 32)
  }
  const short = withoutSymbols(file)
  expect(short.length).toBe(550)
  expect([short.readBigUInt64LE(40), short.readUInt32LE(60)]).toEqual([0n, 0])
  expect(short.subarray(headers).equals(file.subarray(headers, 550))).toBe(true)
  expect(withoutSymbols(pe)).toBe(pe)
})

test('of a library for several processors, only the one for its own is taken', () => {
  const parts = [0x01000007, 0x0100000c].map((machine) => machO(machine))
  const file = Buffer.alloc(2048)
  file.writeUInt32BE(0xcafebabe)
  file.writeUInt32BE(parts.length, 4)
  for (const [index, part] of parts.entries()) {
    const entry = file.subarray(8 + index * 20)
    entry.writeUInt32BE(part.readUInt32LE(4))
    entry.writeUInt32BE(512 * (index + 1), 8)
    entry.writeUInt32BE(part.length, 12)
    part.copy(file, 512 * (index + 1))
  }
  for (const platform of PLATFORMS) {
    if (platform.system !== 'darwin') expect(() => forProcessor(platform, file)).toThrow('no part')
    else checkExecutable(platform, forProcessor(platform, file), PAYLOAD)
    expect(forProcessor(platform, pe)).toBe(pe)
  }
})
