import { AppError } from '../../errors.ts'
import { formatOfBytes } from '../file-format.ts'
import type { DocumentFormat } from '../readers/document-reading.ts'
import type { FetchedPage } from './page-fetcher.ts'

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

const FORMATS: Readonly<Record<string, DocumentFormat>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'application/pdf': 'pdf',
  'application/json': 'text',
  'application/ld+json': 'text',
  'application/x-ndjson': 'text',
}

/**
 * How a page is to be read, by its content type, and by its bytes where it has none.
 * @throws AppError `crawl_failed` for what is no text
 */
export function pageFormat({ url, contentType, bytes }: FetchedPage): {
  readonly format: DocumentFormat
  readonly charset: string | null
} {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim())
  const name = type.toLowerCase()
  const isPlain = name === 'text/plain' && /\.(md|markdown)$/i.test(new URL(url).pathname)
  const known = isPlain ? 'markdown' : FORMATS[name]
  const format = known ?? (name.startsWith('text/') ? 'text' : null)
  const found = format ?? (name === '' ? documentFormatOf(bytes) : null)
  if (found === null) {
    const what = name === '' ? 'holds no text' : `has the type ${name.slice(0, 100)}`
    throw new AppError('crawl_failed', `${url} ${what}; expected HTML, text, Markdown, PDF or JSON`)
  }
  return { format: found, charset: charsetOf(parameters) }
}

function documentFormatOf(bytes: Uint8Array): DocumentFormat | null {
  const format = formatOfBytes(bytes)
  if (format === 'pdf' || format === 'html') return format
  return format === null || format === 'parquet' ? null : 'text'
}

function charsetOf(parameters: readonly string[]): string | null {
  const parameter = parameters.find((one) => /^charset=/i.test(one))
  return parameter?.slice('charset='.length).replace(/^"(.*)"$/, '$1') || null
}
