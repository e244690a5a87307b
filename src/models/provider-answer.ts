/**
 * `fetch` for a provider's client whose answers break off after `bytesMax`: a server that never
 * stops must not fill the memory.
 */
export function boundedFetch(bytesMax: number): typeof fetch {
  const bounded = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init)
    if (response.body === null) return response
    return new Response(response.body.pipeThrough(byteLimit(bytesMax)), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    })
  }
  // Bun's `fetch` has a method beside the call.
  return Object.assign(bounded, { preconnect: fetch.preconnect })
}

function byteLimit(bytesMax: number): TransformStream<Uint8Array, Uint8Array> {
  let byteCount = 0
  return new TransformStream({
    transform(bytes, controller) {
      byteCount += bytes.byteLength
      if (byteCount > bytesMax) {
        controller.error(new Error(`The answer is longer than ${bytesMax} bytes`))
        return
      }
      controller.enqueue(bytes)
    },
  })
}

/**
 * An own member of a value of unknown shape; `undefined` where there is none. Lists have `'0'`,
 * `'1'`, …
 */
export function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.getOwnPropertyDescriptor(value, key)?.value
}
