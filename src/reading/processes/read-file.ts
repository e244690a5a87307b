import { createReadStream, createWriteStream, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import {
  type RawDocument,
  type ReadDocument,
  type ReadFile,
  type ReadMember,
  type ScanImage,
  type SourceFile,
  scanMark,
} from '../../core/domain/ports/reading-ports.ts'
import {
  type DocumentFormat,
  type FileFormat,
  isDocumentFormat,
} from '../../core/domain/uploaded-file.ts'
import { AppError, errorText } from '../../core/errors.ts'
import { processorMs } from '../../core/runtime/process-limits.ts'
import {
  couldNotRead,
  type DocumentReader,
  type ReadingNotes,
  SET_OCR_MODEL,
  unreadable,
  wholeDocument,
} from '../document-format.ts'
import { fileFormat, hasDirectory, imageType } from '../file-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { beginsLikeZip } from '../zip-file.ts'
import { DocumentWriter } from './document-files.ts'
import {
  isReadingErrorCode,
  type ReadingAnswer,
  type ReadingJob,
  shownWarnings,
} from './reading-messages.ts'

/** The files of its tables are in the job's folder. */
interface FileContents extends Pick<ReadFile, 'format' | 'tables' | 'archive'> {
  readonly documents: Iterable<ReadDocument> | AsyncIterable<ReadDocument>
}

/** As much of a file's start and end as shows its format, unless it contains other files. */
const LOOKED_AT_BYTES = 65_536

/** @param folder empty, for files that reading creates @throws AppError `file_unreadable` */
export async function readFile(
  sent: SourceFile,
  folder: string,
  notes: ReadingNotes,
): Promise<FileContents> {
  if (Bun.file(sent.path).size === 0) throw unreadable('The file is empty')
  const source = await unpackedFile(sent, folder, notes)
  const format = source.options.format ?? (await formatOf(source))
  if (format === 'zip') {
    const { readArchive } = await import('../archive.ts')
    const archive = await readArchive(source.path, folder)
    return { format, tables: [], documents: [], archive }
  }
  if (isDocumentFormat(format)) {
    return { format, tables: [], documents: fileDocuments(source, format, notes), archive: null }
  }
  const { readTables } = await import('./read-tables.ts')
  const tables = await readTables({ ...source, format }, folder, notes)
  return { format, tables, documents: [], archive: null }
}

async function formatOf(source: SourceFile): Promise<FileFormat> {
  const bytes = await ends(source.path)
  // A file larger than any document need not be checked for this.
  const isLarge = Bun.file(source.path).size > READING_LIMITS.documentBytesMax
  return isLarge && beginsLikeZip(bytes) ? 'zip' : fileFormat(source.name, bytes)
}

async function* fileDocuments(
  source: SourceFile,
  format: DocumentFormat,
  notes: ReadingNotes,
): AsyncGenerator<ReadDocument, void> {
  const file = Bun.file(source.path)
  if (file.size > READING_LIMITS.documentBytesMax) {
    const limit = READING_LIMITS.documentBytesMax / 1024 ** 2
    throw couldNotRead(`documents have at most ${limit} MiB; split it`)
  }
  const charset = source.options.encoding ?? charsetOf(source.contentType)
  yield* readDocuments(
    { bytes: await file.bytes(), format, name: source.name, charset, url: source.url },
    notes,
  )
}

/** Returns the charset in `text/html; charset=utf-8`. */
function charsetOf(contentType: string | null): string | null {
  return /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType ?? '')?.[1] ?? null
}

async function ends(path: string): Promise<Uint8Array> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const bytes = new Uint8Array(2 * LOOKED_AT_BYTES)
    await file.read(bytes, 0, LOOKED_AT_BYTES, 0)
    const isWhole = size <= 2 * LOOKED_AT_BYTES
    const isContainer = hasDirectory(bytes) && size <= READING_LIMITS.documentBytesMax
    if (isWhole || isContainer) return await Bun.file(path).bytes()
    await file.read(bytes, LOOKED_AT_BYTES, LOOKED_AT_BYTES, size - LOOKED_AT_BYTES)
    return bytes
  } finally {
    await file.close()
  }
}

/** The large parsers are loaded with the first document that needs them. */
const DOCUMENT_READERS: Readonly<Record<DocumentFormat, () => Promise<DocumentReader>>> = {
  pdf: async () => (await import('../documents/pdf.ts')).readPdf,
  docx: async () => (await import('../documents/office/docx.ts')).readDocx,
  pptx: async () => (await import('../documents/office/pptx.ts')).readPptx,
  odt: async () => (await import('../documents/office/odf.ts')).readOdt,
  odp: async () => (await import('../documents/office/odf.ts')).readOdp,
  rtf: async () => (await import('../documents/office/rtf.ts')).readRtf,
  epub: async () => (await import('../documents/epub.ts')).readEpub,
  eml: async () => (await import('../documents/mail.ts')).readEml,
  mbox: async () => (await import('../documents/mail.ts')).readMbox,
  ipynb: async () => (await import('../documents/notebook.ts')).readNotebook,
  code: async () => (await import('../documents/text.ts')).readCode,
  html: async () => (await import('../documents/html.ts')).readHtml,
  markdown: async () => (await import('../documents/markdown.ts')).readMarkdown,
  asciidoc: async () => (await import('../documents/markup.ts')).readAsciidoc,
  rst: async () => (await import('../documents/markup.ts')).readRst,
  org: async () => (await import('../documents/markup.ts')).readOrg,
  latex: async () => (await import('../documents/markup.ts')).readLatex,
  image: async () => readImage,
  subtitles: async () => (await import('../documents/text.ts')).readSubtitles,
  xml: async () => (await import('../documents/text.ts')).readXml,
  text: async () => (await import('../documents/text.ts')).readText,
}

/** Converts bytes to documents. @throws AppError `file_unreadable` */
export async function* readDocuments(
  document: RawDocument,
  notes: ReadingNotes,
): AsyncGenerator<ReadDocument, void> {
  const read = await DOCUMENT_READERS[document.format]()
  yield* read(document, notes)
}

const UNHEARD: ReadingNotes = { recognize: () => {}, warn: () => {} }

/** Or an empty document. @throws AppError `file_unreadable` */
export async function readDocument(
  document: RawDocument,
  notes: ReadingNotes = UNHEARD,
): Promise<ReadDocument> {
  for await (const read of readDocuments(document, notes)) return read
  return wholeDocument({ content: '', title: null, syntax: 'text' })
}

const REASON_CHARS_MAX = 500
/** The share of a file's CPU time for reading. The rest is for processing the pages. */
const SPENT_SHARE = 0.7

/** Runs a job in a reader process. Failures that the process survives become an answer. */
export async function answerJob({
  id,
  source,
  folder,
  limits,
}: ReadingJob): Promise<ReadingAnswer> {
  const warnings: string[] = []
  const scans: ScanImage[] = []
  let recognized = {}
  const spentAt = processorMs() + SPENT_SHARE * (limits.cpuMs ?? Infinity)
  const notes: ReadingNotes = {
    recognize: (found) => {
      recognized = { ...recognized, ...found }
    },
    warn: (sentence) => {
      warnings.push(sentence)
    },
    isSpent: () => processorMs() >= spentAt,
    ...(source.takesScans === true ? { scan: scanWriter(folder, scans) } : {}),
  }
  try {
    const { format, tables, documents, archive } = await readFile(source, folder, notes)
    // The documents are read here one by one, which may add warnings.
    const documentCount = await writeDocuments(documents, folder)
    const summary = {
      format,
      recognized,
      warnings: shownWarnings(warnings),
      tables: tables.map((table) => ({ ...table, path: table.path.slice(folder.length + 1) })),
      documentCount,
      archive: archive && { ...archive, members: archive.members.map(inFolder) },
      scans,
    }
    return { kind: 'read', id, summary }
  } catch (error) {
    return failure(id, error)
  }
}

function scanWriter(folder: string, scans: ScanImage[]): NonNullable<ReadingNotes['scan']> {
  return (mediaType, place, bytes) => {
    if (scans.length >= READING_LIMITS.scansMax) return null
    const image = bytes()
    if (image.length > READING_LIMITS.scanBytesMax) return null
    const path = `scan-${scans.length}`
    writeFileSync(join(folder, path), image, { mode: 0o600, flag: 'wx' })
    scans.push({ path, mediaType, place })
    return scanMark(scans.length - 1)
  }
}

function inFolder(member: ReadMember): ReadMember {
  return { ...member, path: basename(member.path) }
}

async function writeDocuments(
  documents: Iterable<ReadDocument> | AsyncIterable<ReadDocument>,
  folder: string,
): Promise<number> {
  const writer = new DocumentWriter(folder)
  for await (const document of documents) writer.write(document)
  writer.end()
  return writer.count
}

function failure(id: number, error: unknown): ReadingAnswer {
  if (error instanceof AppError && isReadingErrorCode(error.code)) {
    return { kind: 'failed', id, code: error.code, message: error.message }
  }
  const reason = errorText(error).slice(0, REASON_CHARS_MAX)
  const message = `The file could not be read: ${reason}`
  return { kind: 'failed', id, code: 'file_unreadable', message }
}

/** Itself if not compressed. @throws AppError `file_unreadable` if damaged or too large */
async function unpackedFile(
  source: SourceFile,
  folder: string,
  notes: ReadingNotes,
): Promise<SourceFile> {
  const file = Bun.file(source.path)
  const compression = compressionOf(await file.slice(0, 4).bytes())
  if (compression === null) return source
  const { unpackedBytesMax, unpackedFreely, unpackedPerByte } = READING_LIMITS
  const sizeMax = Math.min(unpackedBytesMax, Math.max(unpackedFreely, file.size * unpackedPerByte))
  const path = join(folder, 'unpacked')
  try {
    await pipeline(
      createReadStream(source.path),
      compression === 'gzip' ? createGunzip() : createZstdDecompress(),
      bounded(sizeMax),
      createWriteStream(path, { flags: 'wx', mode: 0o600 }),
    )
  } catch (error) {
    if (error instanceof AppError) throw error
    const why = errorText(error)
    throw couldNotRead(`its ${compression} compression is damaged (${why})`, error)
  }
  if (Bun.file(path).size === 0) throw unreadable('The file is empty')
  notes.recognize({ compression })
  return { ...source, path, name: source.name.replace(/\.(gz|gzip|zst|zstd)$/i, '') }
}

function compressionOf(begin: Uint8Array): 'gzip' | 'zstd' | null {
  const [first, second, third, fourth] = begin
  if (first === 0x1f && second === 0x8b && third === 8) return 'gzip'
  const isZstd = first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd
  return isZstd ? 'zstd' : null
}

function bounded(sizeMax: number): Transform {
  let size = 0
  return new Transform({
    transform(piece: Uint8Array, _encoding, done) {
      size += piece.length
      if (size <= sizeMax) return done(null, piece)
      done(
        couldNotRead(
          `unpacked it is larger than ${Math.floor(sizeMax / 1024 ** 2)} MiB, which is the most for its size`,
        ),
      )
    },
  })
}

function* readImage({ bytes }: RawDocument, notes: ReadingNotes): Generator<ReadDocument> {
  const mediaType = imageType(bytes)
  if (mediaType === null)
    throw unreadable('The file is a picture in a format that is not read; save it as PNG or JPEG')
  if (notes.scan === undefined)
    throw unreadable(`The file is a picture and contains no text. ${SET_OCR_MODEL} to read it`)
  const content = notes.scan(mediaType, 'the picture', () => bytes)
  if (content === null) {
    const limit = `${READING_LIMITS.scanBytesMax / 1024 ** 2} MB`
    throw unreadable(`The file is a picture of more than ${limit}; make it smaller`)
  }
  yield wholeDocument({ content, title: null, syntax: 'markdown' })
}
