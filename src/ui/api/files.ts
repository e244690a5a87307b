/** Files on the server: sent with progress, and listed. */
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
  /** Replaces a file of that name. */
  readonly replaces: boolean
  /** Id of its document, if not its name. */
  readonly documentId?: string
  /** Whether a model reads its pages without text; `ask`: it is refused with the cost. */
  readonly ocr?: OcrWish
  readonly signal: AbortSignal
  /** Called with the bytes sent so far. */
  readonly onSent?: (sentBytes: number) => void
}

/**
 * Sends a file under a name; the files in a ZIP file are stored under their own names.
 * @throws ApiError if the server refused it, or the connection was cut; the abort reason of `signal`
 */
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
  const to = `${path`/api/files/${name}`}?${said}`
  const init = { method: 'PUT', body, signal, onSent } as const
  const stored = await request<UploadedFile | UploadedFiles>(to, init)
  return 'files' in stored ? stored : { files: [stored], failed: [], skipped: 0 }
}

/** @throws ApiError */
export function deleteFile(name: string): Promise<void> {
  return request(path`/api/files/${name}`, { method: 'DELETE' })
}

/** The address of the original bytes. */
export function addressOfContent(name: string): string {
  return path`/api/files/${name}/content`
}

/** `3 of 40 pages contain no text`, if a model could read them and none is set; undefined: all was read. */
export function withoutText({ warnings }: UploadedFile): string | undefined {
  return warnings.find((warning) => warning.includes('OCR model'))?.split('. ', 1)[0]
}
