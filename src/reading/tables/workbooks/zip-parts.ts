import { Parser } from 'htmlparser2'
import type { Entry } from 'yauzl'
import { AppError } from '../../../core/errors.ts'
import { unreadable } from '../../document-format.ts'
import { READING_LIMITS } from '../../reading-limits.ts'
import { localName, parseXml, type XmlElement } from '../../xml-tree.ts'
import {
  DamagedEntry,
  damagedPart,
  isLocked,
  nameOfEntry,
  piecesAgain,
  zipFileEntries,
} from '../../zip-file.ts'

/** The parts of an Office package, read as streams because a sheet may not fit in memory. */
export class ZipParts {
  readonly #path: string
  readonly #parts: ReadonlyMap<string, Entry>

  private constructor(path: string, parts: ReadonlyMap<string, Entry>) {
    this.#path = path
    this.#parts = parts
  }

  /** @throws AppError `file_unreadable` */
  static async open(path: string): Promise<ZipParts> {
    const parts = new Map<string, Entry>()
    try {
      for await (const { entry } of zipFileEntries(path)) {
        if (parts.size >= READING_LIMITS.zipEntriesMax) throw damaged('it holds too many parts')
        if (isLocked(entry)) throw damaged('it is locked by a password')
        parts.set(partKey(nameOfEntry(entry)), entry)
      }
    } catch (error) {
      if (error instanceof AppError) throw error
      throw damaged('its directory is missing or cut off')
    }
    return new ZipParts(path, parts)
  }

  has(name: string): boolean {
    return this.#parts.has(partKey(name))
  }

  /** A small part as a whole; undefined if it is missing. @throws AppError `file_unreadable` */
  async tree(name: string): Promise<XmlElement | undefined> {
    if (!this.has(name)) return undefined
    return parseXml(Buffer.concat(await Array.fromAsync(this.#pieces(name))))
  }

  /** @throws AppError `file_unreadable` if it is missing, damaged or too large */
  async parse(
    name: string,
    handler: {
      /** Names have no prefixes, but attributes do. */
      open(name: string, attributes: Readonly<Record<string, string>>): void
      text(text: string): void
      close(name: string): void
      /** Whether the rest can be skipped. */
      isDone?(): boolean
    },
  ): Promise<void> {
    const depth = { now: 0, extensions: 0 }
    const parser = new Parser(
      {
        onopentag: (tag, attributes) => {
          depth.now += 1
          if (depth.now > READING_LIMITS.xmlDepthMax) throw damaged('its XML is nested too deep')
          // Inside extensions, other programs reuse names: `x15:workbookPr`.
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
    const { unpackedBytesMax, unpackedFreely, unpackedPerByte } = READING_LIMITS
    const freely = Math.max(unpackedFreely, part.compressedSize * unpackedPerByte)
    const sizeMax = Math.min(unpackedBytesMax, freely)
    if (part.uncompressedSize > sizeMax) throw swells(name, part.compressedSize, sizeMax)
    try {
      // A piece is never larger than the checked size. The stream would end there.
      yield* piecesAgain(this.#path, part)
    } catch (error) {
      if (error instanceof AppError) throw error
      throw error instanceof DamagedEntry
        ? damagedPart(name)
        : damaged(`${name} cannot be unpacked`)
    }
  }
}

function swells(name: string, packedBytes: number, sizeMax: number): AppError {
  const found = `${name} of ${packedBytes} bytes would unpack to more than ${sizeMax}`
  return unreadable(`The file expands too much: ${found}`)
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

export function damaged(why: string): AppError {
  return unreadable(`The workbook could not be read: ${why}; open it and save it again`)
}
