import { beginsLikeZip, zipNames } from './zip-package.ts'

/** What begins like this, and what its sender can do. */
const KINDS: readonly (readonly [begin: string, at: number, sentence: string])[] = [
  ...(
    [
      ['\x89PNG', 0],
      ['\xff\xd8\xff', 0],
      ['GIF8', 0],
      ['WEBP', 8],
      ['II*\0', 0],
      ['MM\0*', 0],
      ['ftypheic', 4],
      ['ftypavif', 4],
    ] as const
  ).map(([begin, at]) => {
    return [begin, at, 'The file is a picture; run text recognition (OCR) over it first'] as const
  }),
  ...(['7z\xbc\xaf', 'Rar!', 'BZh', '\xfd7zXZ'] as const).map((begin) => {
    return [begin, 0, 'The file is an archive; unpack it, or make a ZIP of its files'] as const
  }),
  ['ustar', 257, 'The file is a TAR archive; unpack it, or make a ZIP of its files'],
  ['ID3', 0, 'The file is a sound; have it written down as text first'],
  ['OggS', 0, 'The file is a sound; have it written down as text first'],
  ['RIFF', 0, 'The file is a sound or a film; have it written down as text first'],
  ['ftyp', 4, 'The file is a sound or a film; have it written down as text first'],
  ['\x1aE\xdf\xa3', 0, 'The file is a film; have it written down as text first'],
  ['SQLite format 3', 0, 'The file is an SQLite database; export its tables as CSV or Parquet'],
  ['\x7fELF', 0, 'The file is a program; it holds no text to read'],
  ['MZ\x90', 0, 'The file is a program; it holds no text to read'],
  ['ITOLITLS', 0, 'The file is a Microsoft Reader book; save it as EPUB'],
  ['BOOKMOBI', 60, 'The file is a Kindle book; save it as EPUB'],
  ['ITSF', 0, 'The file is Windows help (CHM); unpack it and send its HTML pages'],
]

const OLE = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'

/** Names of the streams in the container that Office used before 2007, which it still uses for what has a password. */
const OLE_KINDS: readonly (readonly [stream: string, sentence: string])[] = [
  ['EncryptedPackage', 'The file is locked by a password; save it without one'],
  ['WordDocument', 'The file is Word 97-2003 (DOC); save it as DOCX'],
  ['Workbook', 'The file is Excel 97-2003 (XLS); save it as XLSX'],
  ['Book', 'The file is Excel 5 (XLS); save it as XLSX'],
  ['PowerPoint Document', 'The file is PowerPoint 97-2003 (PPT); save it as PPTX'],
  ['__substg1.0', 'The file is an Outlook message (MSG); save it as EML'],
]

/** What a file is that is known and cannot be read, with the next step; null: nothing known. */
export function unreadableKind(bytes: Uint8Array): string | null {
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, 512))
  if (isOle(bytes)) return oleKind(bytes)
  if (beginsLikeZip(bytes)) return zipKind(bytes)
  return KINDS.find(([magic, at]) => begin.startsWith(toWindows1252(magic), at))?.[2] ?? null
}

function zipKind(bytes: Uint8Array): string {
  const names = zipNames(bytes)
  if (names === null) return 'The file is a ZIP that is cut off or damaged; send it again'
  return 'The file is a ZIP of other files; send these, or all of them at once as a ZIP'
}

function oleKind(bytes: Uint8Array): string {
  const found = OLE_KINDS.find(([stream]) => Buffer.from(bytes).includes(stream, 0, 'utf16le'))
  return found?.[1] ?? 'The file is an Office document from before 2007; save it in today’s format'
}

/** An Office file from before 2007, or one with a password. */
export function isOle(bytes: Uint8Array): boolean {
  return Array.from(OLE).every((char, at) => bytes[at] === char.charCodeAt(0))
}

/** What TextDecoder calls latin1 is windows-1252. */
function toWindows1252(magic: string): string {
  return new TextDecoder('latin1').decode(Uint8Array.from(magic, (char) => char.charCodeAt(0)))
}
