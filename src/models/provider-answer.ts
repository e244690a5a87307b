import { type Guard, pinnedFetch } from '../network/pinned-fetch.ts'

/** Of the body of a failed answer: its message is short. */
const FAILURE_BYTES_MAX = 65_536

/**
 * `fetch` for a provider's client. No redirect is followed: another address must be sent neither the key nor the question.
 * An answer breaks off after `bytesMax`: a server that never stops must not fill the memory.
 * @param guard null: the address is the operator's word, and a proxy of the environment is used
 */
export function providerFetch(guard: Guard | null, bytesMax: number): typeof fetch {
  const bounded = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const response = await sent(String(input), { ...init, redirect: 'manual' }, guard)
    if (response.body === null) return response
    const limit = byteLimit(response.ok ? bytesMax : FAILURE_BYTES_MAX)
    return new Response(response.body.pipeThrough(limit), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    })
  }
  // Bun's `fetch` has a method beside the call.
  return Object.assign(bounded, { preconnect: fetch.preconnect })
}

function sent(url: string, init: RequestInit, guard: Guard | null): Promise<Response> {
  if (guard === null) return fetch(url, init)
  return pinnedFetch(new URL(url), init, guard, init.signal ?? new AbortController().signal)
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
