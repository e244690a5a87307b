import type { ReadDocument, ReadFile } from '../../core/domain/ports/reading-ports.ts'
import { type DocumentFormat, isDocumentFormat } from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import { fileFormat, formatOfBytes } from '../../reading/file-format.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { FetchedPage } from '../sources/guarded-fetch.ts'
import type { InsertDeps } from '../sources/insert-request.ts'
import { type LeftOutPages, PageError } from './left-out-pages.ts'

/**
 * What a page holds, by the readers that files have: one document, of a mailbox several.
 * @throws AppError `crawl_failed` for what is no text, `file_unreadable`
 */
export async function pageDocuments(
  page: FetchedPage,
  { reader, leftOut }: Pick<InsertDeps, 'reader'> & { readonly leftOut: LeftOutPages },
  signal: AbortSignal,
): Promise<readonly ReadDocument[]> {
  if (page.status < 200 || page.status > 299) {
    throw new PageError(`answered ${page.status}`, `GET ${page.url} answered ${page.status}`)
  }
  const { format, charset } = pageFormat(page)
  const { bytes, url, contentType } = page
  try {
    if (/^(?:html|markdown|text)$/.test(format)) {
      return [await reader.read({ bytes, format, charset, url }, signal)]
    }
    const sent = { bytes, name: nameOf(url), contentType, url, options: { format } }
    const take = async ({ documents, warnings }: ReadFile) => {
      const found = await some(documents, (sentence) => leftOut.note(`${url}: ${sentence}`))
      for (const warning of warnings) leftOut.note(`${url}: ${warning}`)
      return found
    }
    return await reader.readFile(sent, take, signal)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'file_unreadable') throw error
    throw new AppError('file_unreadable', `${url}: ${error.message}`, { cause: error })
  }
}

async function some(
  documents: AsyncIterable<ReadDocument>,
  note: (sentence: string) => void,
): Promise<readonly ReadDocument[]> {
  const { documentsPerPageMax } = INGEST_LIMITS
  const found: ReadDocument[] = []
  for await (const document of documents) {
    if (found.length >= documentsPerPageMax) {
      note(`only its first ${documentsPerPageMax} documents are stored; upload it as a file`)
      break
    }
    found.push(document)
  }
  return found
}

function nameOf(url: string): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? ''
  try {
    return decodeURIComponent(last)
  } catch {
    return last
  }
}

const FORMATS: Readonly<Record<string, DocumentFormat>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'application/json': 'text',
  'application/ld+json': 'text',
  'application/x-ndjson': 'text',
}
const NO_TEXT = /^(?:image|audio|video|font|model)\//

/**
 * How a page is to be read: by its bytes where they say so beyond doubt, else by its content type, else by its name.
 * @throws AppError `crawl_failed` for a page that is not text
 */
function pageFormat({ url, contentType, bytes }: FetchedPage): {
  readonly format: DocumentFormat
  readonly charset: string | null
} {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim())
  const name = type.toLowerCase()
  const known = FORMATS[name] ?? null
  const format = NO_TEXT.test(name) ? null : (formatOf(bytes, url, known) ?? known)
  if (format === null) {
    const what = name === '' ? 'holds no text' : `has the type ${name.slice(0, 100)}`
    const reason = NO_TEXT.test(name) ? 'held a picture, sound or font' : 'had no readable type'
    throw new PageError(reason, `${url} ${what}; expected a page, a text or a document`)
  }
  return { format, charset: charsetOf(parameters) }
}

/** Formats that no one takes for text; a table is read as the text that it is. */
function formatOf(
  bytes: Uint8Array,
  url: string,
  known: DocumentFormat | null,
): DocumentFormat | null {
  const isText = formatOfBytes(new Uint8Array(bytes.subarray(0, 4096))) !== null
  if (known !== null && isText && !isMarked(bytes)) return known
  try {
    const format = fileFormat(nameOf(url), bytes)
    if (isDocumentFormat(format)) return format
    return format === 'parquet' || isMarked(bytes) ? null : 'text'
  } catch {
    return null
  }
}

/** Of a ZIP or PDF, whatever the server calls it. */
function isMarked(bytes: Uint8Array): boolean {
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, 5))
  return begin === '%PDF-' || begin.startsWith('PK\u0003\u0004')
}

function charsetOf(parameters: readonly string[]): string | null {
  const parameter = parameters.find((one) => /^charset=/i.test(one))
  return parameter?.slice('charset='.length).replace(/^["'](.*)["']$/, '$1') || null
}
