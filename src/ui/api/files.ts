/** Files on the server: sent with progress, and listed. */
import type { UploadedFile } from './records.ts'
import { ApiError, path, request } from './request.ts'
import { loggedInAgain } from './session.ts'

/** @throws ApiError */
export function listFiles(signal?: AbortSignal): Promise<readonly UploadedFile[]> {
  return request('/api/files', { signal })
}

export interface FileSending {
  readonly name: string
  readonly content: Blob
  /** A file of that name gives way. */
  readonly replaces: boolean
  readonly signal: AbortSignal
  /** Called with the bytes that were sent so far. */
  readonly onSent?: (bytes: number) => void
}

/**
 * Sends a file under a name.
 * @throws ApiError where the server refused it, or the connection was cut; what `signal` was aborted with
 */
export async function sendFile(sending: FileSending): Promise<UploadedFile> {
  const first = await sentOnce(sending)
  if (first.status !== 401) return accepted(first)
  await loggedInAgain(sending.signal)
  return accepted(await sentOnce(sending))
}

/** `fetch` does not say how much was sent; this does. */
function sentOnce({ name, content, replaces, signal, onSent }: FileSending) {
  return new Promise<XMLHttpRequest>((resolve, reject) => {
    const exchange = new XMLHttpRequest()
    exchange.open('PUT', `${path`/api/files/${name}`}${replaces ? '?replace=true' : ''}`)
    exchange.upload.onprogress = ({ loaded }) => onSent?.(loaded)
    exchange.onload = () => resolve(exchange)
    exchange.onerror = () => reject(cut())
    exchange.onabort = () => reject(signal.reason)
    if (signal.aborted) return reject(signal.reason)
    signal.addEventListener('abort', () => exchange.abort(), { once: true })
    const form = new FormData()
    form.append('file', content, name)
    exchange.send(form)
  })
}

function accepted(exchange: XMLHttpRequest): UploadedFile {
  const answer = parsed(exchange.responseText)
  // The server's schemas of this route say what it is.
  if (exchange.status >= 200 && exchange.status < 300) return answer as UploadedFile
  // As above.
  const problem = answer as { code: ApiError['code']; title: string; detail: string } | undefined
  if (problem?.code === undefined) throw refused(exchange.status)
  const { code, title, detail } = problem
  throw new ApiError({ code, status: exchange.status, title, message: detail })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function cut(): ApiError {
  const message = 'The connection was cut before the file had arrived. Nothing of it is stored'
  return new ApiError({ code: 'unreachable', status: 0, title: 'Not sent', message })
}

function refused(status: number): ApiError {
  const message =
    status === 413
      ? 'The file is larger than the server takes (EIDER_FILE_BYTES_MAX)'
      : `The server answered with status ${status}`
  return new ApiError({ code: 'unreachable', status, title: 'Not stored', message })
}
