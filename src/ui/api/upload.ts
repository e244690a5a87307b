/** Bodies whose way to the server is shown: `fetch` does not tell how much of them has gone out. */

interface SentBody {
  readonly method?: string
  readonly body?: FormData | Blob
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  readonly onSent: (sentBytes: number, totalBytes: number) => void
}

/** As `fetch`. @throws TypeError where no answer came */
export function sentWithProgress(path: string, init: SentBody): Promise<Response> {
  const { method = 'POST', body, headers = {}, signal, onSent } = init
  return new Promise((resolve, reject) => {
    const exchange = new XMLHttpRequest()
    exchange.open(method, path)
    exchange.responseType = 'blob'
    for (const [name, value] of Object.entries(headers)) exchange.setRequestHeader(name, value)
    exchange.upload.addEventListener('progress', ({ loaded, total }) => onSent(loaded, total))
    exchange.addEventListener('load', () => resolve(answerOf(exchange)))
    exchange.addEventListener('error', () => reject(new TypeError('No answer came')))
    exchange.addEventListener('abort', () => reject(new TypeError('It was given up')))
    signal?.addEventListener('abort', () => exchange.abort(), { once: true })
    if (signal?.aborted) reject(signal.reason)
    else exchange.send(body ?? null)
  })
}

function answerOf(exchange: XMLHttpRequest): Response {
  const { status, response } = exchange
  const contentType = exchange.getResponseHeader('content-type') ?? ''
  const headers = { 'content-type': contentType }
  return new Response(status === 204 ? null : response, { status, headers })
}
