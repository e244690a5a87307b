/** Lists files on the server, and uploads files with progress. */
import type { OcrWish } from '../../core/domain/ports/reading-ports.ts'
import type { UploadedFile, UploadedFiles } from './records.ts'
import { path, request } from './request.ts'

/** @throws ApiError */
export function listFiles(signal?: AbortSignal): Promise<readonly UploadedFile[]> {
  return request('/api/files', { signal })
}

interface FileSending {
  readonly name: string
  readonly content: Blob
  /** Whether an existing file with this name may be replaced. */
  readonly replaces: boolean
  /** The id of the document, if it differs from the file name. */
  readonly documentId?: string
  /** If pages have no text. `ask`: the server refuses the file and states the cost. */
  readonly ocr?: OcrWish
  readonly signal: AbortSignal
  /** Called with the number of bytes sent so far. */
  readonly onSent?: (sentBytes: number) => void
}

/** A ZIP's members under their own. @throws ApiError; the abort reason of `signal` */
export async function sendFile(sending: FileSending): Promise<UploadedFiles> {
  const { name, content, replaces, documentId = name, ocr = 'ask' } = sending
  const { signal, onSent = () => {} } = sending
  const body = new FormData()
  body.append('file', content, name)
  const said = new URLSearchParams({
    ocr,
    ...(replaces ? { replace: 'true' } : {}),
    ...(documentId === name ? {} : { document_id: documentId, original_file_name: documentId }),
  })
  const to = `${addressOfFile(name)}?${said}`
  const init = { method: 'PUT', body, signal, onSent } as const
  const stored = await request<UploadedFile | UploadedFiles>(to, init)
  return 'files' in stored ? stored : { files: [stored], failed: [], skipped: 0 }
}

export function addressOfFile(name: string): string {
  return path`/api/files/${name}`
}

/** The URL of the file's original bytes. */
export function addressOfContent(name: string): string {
  return `${addressOfFile(name)}/content`
}

/** `3 of 40 pages contain no text` if a model could read them and none is set. */
export function withoutText({ warnings }: UploadedFile): string | undefined {
  return warnings.find((warning) => warning.includes('OCR model'))?.split('. ', 1)[0]
}
