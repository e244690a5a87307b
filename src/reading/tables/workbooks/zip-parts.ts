import { createReadStream } from 'node:fs'
import { crc32, createInflateRaw } from 'node:zlib'
import { Parser } from 'htmlparser2'
import { AppError } from '../../../errors.ts'
import { READING_LIMITS } from '../../reading-limits.ts'
import { damagedPart } from '../../zip-package.ts'

/** A part of a package, where it lies in its file. */
interface ZipPart {
  readonly isDeflated: boolean
  readonly packedBytes: number
  readonly headerByte: number
  readonly checksum: number
}

/** The parts of an Office package, which are read as streams: a sheet may be larger than the memory. */
export class ZipParts {
  readonly #path: string
  readonly #parts: ReadonlyMap<string, ZipPart>

  private constructor(path: string, parts: ReadonlyMap<string, ZipPart>) {
    this.#path = path
    this.#parts = parts
  }

  /** @throws AppError `file_unreadable` */
  static async open(path: string): Promise<ZipParts> {
    const file = Bun.file(path)
    const tail = Buffer.from(await file.slice(Math.max(0, file.size - 70_000)).bytes())
    const end = tail.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
    if (end < 0) throw damaged('its directory is missing')
    try {
      const [start, size] = directoryPlace(tail, end)
      const directory = Buffer.from(await file.slice(start, start + size).bytes())
      return new ZipParts(path, partsOf(directory))
    } catch (error) {
      if (error instanceof AppError) throw error
      throw damaged('its directory is cut off')
    }
  }

  has(name: string): boolean {
    return this.#parts.has(partKey(name))
  }

  /**
   * Goes through a part of XML, without ever holding all of it.
   * @throws AppError `file_unreadable` where it is missing, damaged or swells
   */
  async parse(name: string, handler: XmlHandler): Promise<void> {
    const depth = { now: 0, extensions: 0 }
    const parser = new Parser(
      {
        onopentag: (tag, attributes) => {
          depth.now += 1
          if (depth.now > READING_LIMITS.xmlDepthMax) throw damaged('its XML is nested too deep')
          // What programs add there has the names of other things: `x15:workbookPr`.
          if (localName(tag) === 'extLst') depth.extensions += 1
          if (depth.extensions === 0) handler.open(localName(tag), attributes)
        },
        ontext: (text) => {
          if (depth.extensions === 0) handler.text(text)
        },
        onclosetag: (tag) => {
          depth.now -= 1
          if (depth.extensions === 0) handler.close(localName(tag))
          if (localName(tag) === 'extLst') depth.extensions -= 1
        },
      },
      { xmlMode: true, decodeEntities: true },
    )
    const decoder = new TextDecoder()
    for await (const piece of this.#pieces(name)) {
      parser.write(decoder.decode(piece, { stream: true }))
      if (handler.isDone?.() === true) return
    }
    parser.end(decoder.decode())
  }

  async *#pieces(name: string): AsyncGenerator<Uint8Array, void> {
    const part = this.#parts.get(partKey(name))
    if (part === undefined) throw damaged(`${name} is missing`)
    const { headerByte, packedBytes, isDeflated, checksum } = part
    const header = Buffer.from(
      await Bun.file(this.#path)
        .slice(headerByte, headerByte + 30)
        .bytes(),
    )
    if (header.length < 30) throw damaged(`${name} is cut off`)
    if (packedBytes === 0) return
    const start = headerByte + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
    const raw = createReadStream(this.#path, {
      start,
      end: start + packedBytes - 1,
      highWaterMark: 256 * 1024,
    })
    const stream = isDeflated ? raw.pipe(createInflateRaw({ chunkSize: 256 * 1024 })) : raw
    raw.on('error', (error) => stream.destroy(error))
    const { unpackedBytesMax, unpackedFreely, unpackedPerByte } = READING_LIMITS
    const sizeMax = Math.min(
      unpackedBytesMax,
      Math.max(unpackedFreely, packedBytes * unpackedPerByte),
    )
    let size = 0
    let found = 0
    try {
      for await (const piece of stream) {
        if (!(piece instanceof Uint8Array)) continue
        size += piece.length
        if (size > sizeMax) {
          throw new AppError(
            'file_unreadable',
            `The file swells: ${name} of ${packedBytes} bytes would unpack to more than ${sizeMax}`,
          )
        }
        found = crc32(piece, found)
        yield piece
      }
      if (found !== checksum) throw damagedPart(name)
    } catch (error) {
      if (error instanceof AppError) throw error
      throw damaged(`${name} cannot be unpacked`)
    } finally {
      raw.destroy()
    }
  }
}

export interface XmlHandler {
  /** Names come without their prefixes, attributes with them. */
  open(name: string, attributes: Readonly<Record<string, string>>): void
  text(text: string): void
  close(name: string): void
  /** Nothing more is wanted. */
  isDone?(): boolean
}

/** Programs write `xl\\Workbook.xml`, `./sheet1.xml` and `/xl/sheet1.xml` for the same parts. */
function partKey(name: string): string {
  const folders: string[] = []
  for (const piece of name.replaceAll('\\', '/').toLowerCase().split('/')) {
    if (piece === '..') folders.pop()
    else if (piece !== '' && piece !== '.') folders.push(piece)
  }
  return folders.join('/')
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

export function damaged(why: string): AppError {
  return new AppError(
    'file_unreadable',
    `The workbook could not be read: ${why}; open it and save it again`,
  )
}

const WIDE = 0xffffffff

/** Where the directory begins, and its size. */
function directoryPlace(tail: Buffer, end: number): [start: number, size: number] {
  const size = tail.readUInt32LE(end + 12)
  const start = tail.readUInt32LE(end + 16)
  if (size !== WIDE && start !== WIDE) return [start, size]
  const wide = tail.lastIndexOf(Buffer.from('PK\x06\x06', 'latin1'))
  if (wide < 0) throw damaged('its directory is missing')
  return [Number(tail.readBigUInt64LE(wide + 48)), Number(tail.readBigUInt64LE(wide + 40))]
}

function partsOf(directory: Buffer): ReadonlyMap<string, ZipPart> {
  const parts = new Map<string, ZipPart>()
  let at = 0
  while (at + 46 <= directory.length && directory.readUInt32LE(at) === 0x02014b50) {
    if (parts.size >= READING_LIMITS.zipEntriesMax) throw damaged('it holds too many parts')
    const flags = directory.readUInt16LE(at + 8)
    const method = directory.readUInt16LE(at + 10)
    const nameSize = directory.readUInt16LE(at + 28)
    const extraSize = directory.readUInt16LE(at + 30)
    const name = directory.toString('utf8', at + 46, at + 46 + nameSize)
    if ((flags & 1) === 1) throw damaged('it is locked by a password')
    const extra = directory.subarray(at + 46 + nameSize, at + 46 + nameSize + extraSize)
    const [packedBytes, headerByte] = placeOf(directory, at, extra)
    const checksum = directory.readUInt32LE(at + 16)
    if (method === 0 || method === 8) {
      parts.set(partKey(name), { isDeflated: method === 8, packedBytes, headerByte, checksum })
    }
    at += 46 + nameSize + extraSize + directory.readUInt16LE(at + 32)
  }
  return parts
}

/** Of a large file they stand in a field of their own. */
function placeOf(directory: Buffer, at: number, extra: Buffer): [size: number, header: number] {
  let packed = directory.readUInt32LE(at + 20)
  let header = directory.readUInt32LE(at + 42)
  for (let field = 0; field + 4 <= extra.length; field += 4 + extra.readUInt16LE(field + 2)) {
    if (extra.readUInt16LE(field) !== 1) continue
    let value = field + 4
    if (directory.readUInt32LE(at + 24) === WIDE) value += 8
    if (packed === WIDE) {
      packed = Number(extra.readBigUInt64LE(value))
      value += 8
    }
    if (header === WIDE) header = Number(extra.readBigUInt64LE(value))
  }
  return [packed, header]
}
