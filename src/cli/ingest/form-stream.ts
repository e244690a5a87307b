/** A `multipart/form-data` body of files, read from disk as it is sent. */
import { randomUUID } from 'node:crypto'

export interface FormFile {
  /** As the receiver shall know it. */
  readonly name: string
  readonly content: () => AsyncIterable<Uint8Array>
}

export interface FormBody {
  readonly contentType: string
  readonly body: ReadableStream<Uint8Array>
}

export function formBody(
  files: readonly FormFile[],
  fields: Readonly<Record<string, string>> = {},
): FormBody {
  const boundary = `eider-${randomUUID()}`
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: streamOf(piecesOf(boundary, files, fields)),
  }
}

function streamOf(pieces: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await pieces.next()
      if (next.done === true) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: async () => {
      await pieces.return()
    },
  })
}

async function* piecesOf(
  boundary: string,
  files: readonly FormFile[],
  fields: Readonly<Record<string, string>>,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder()
  const head = (disposition: string) => {
    return encoder.encode(`--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`)
  }
  const end = encoder.encode('\r\n')
  for (const [name, value] of Object.entries(fields)) {
    yield head(`name="${name}"`)
    yield encoder.encode(value)
    yield end
  }
  for (const { name, content } of files) {
    // RFC 5987: a name may hold quotes, line ends and every script.
    yield head(`name="file"; filename*=UTF-8''${encoded(name)}`)
    yield* content()
    yield end
  }
  yield encoder.encode(`--${boundary}--\r\n`)
}

function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replaceAll(/['()*!]/g, (char) => {
    return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  })
}
