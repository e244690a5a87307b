/** Uploaded files as they were sent. */
import type { UploadedFile } from '../../../core/domain/uploaded-file.ts'
import { AppError } from '../../../core/errors.ts'
import type { RouteContext } from '../request/route-context.ts'

/**
 * The bytes as they were sent, for saving: nothing of what others uploaded runs in a browser under this address.
 * Bun's file is sent without being held in memory.
 */
export async function fileContentResponse(
  context: RouteContext,
  request: Request,
  file: UploadedFile,
): Promise<Response> {
  const { path, sizeBytes } = await context.deps.fileBytes.contentOf(file)
  const headers = {
    'content-type': 'application/octet-stream',
    'content-disposition': disposition(file),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    etag: `"${file.contentKey}"`,
  }
  const range = rangeOf(request, sizeBytes, headers.etag)
  if (range === null) return new Response(Bun.file(path), { headers })
  if (range === 'none') {
    const message = `The file has ${sizeBytes} bytes, and none of those that Range names`
    throw new AppError('range_not_satisfiable', message)
  }
  const { start, end } = range
  return new Response(Bun.file(path).slice(start, end), {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${start}-${end - 1}/${sizeBytes}` },
  })
}

interface Range {
  readonly start: number
  /** The first byte that is not part of it. */
  readonly end: number
}

/** One range; several, and whatever is not one, are answered with the whole file (RFC 9110, 14.2). */
function rangeOf({ headers }: Request, sizeBytes: number, etag: string): Range | 'none' | null {
  const condition = headers.get('if-range')
  if (condition !== null && condition !== etag) return null
  const found = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.get('range')?.trim() ?? '')
  const [, first = '', last = ''] = found ?? []
  if (found === null || (first === '' && last === '')) return null
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return null
  return start < end ? { start, end } : 'none'
}

/** `attachment; filename="R_sum_.pdf"; filename*=UTF-8''R%C3%A9sum%C3%A9.pdf` (RFC 6266). */
function disposition({ name, originalName }: UploadedFile): string {
  const [saved = name] = [originalName, name].filter((one) => one !== '')
  const [last = name] = saved.split(/[/\\]/).slice(-1)
  const plain = last.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(last.toWellFormed()).replaceAll(/['()*!]/g, (char) => {
    return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  })
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
