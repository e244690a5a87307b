import type { FinishReason, TokenUsage } from '../core/domain/agents/completion-event.ts'
import type { ChatDelta } from '../core/domain/ports/model-ports.ts'
import { isCount, parsedJson } from '../core/json.ts'
import { type Guard, pinnedFetch } from '../core/runtime/address-policy.ts'

/** How much of a failed answer's body is read; its message is short. */
const FAILURE_BYTES_MAX = 65_536

/**
 * `fetch` for a provider's client. It follows no redirects, because neither the key nor the
 * question may go to another address. An answer is cut off after `bytesMax`, so that a server that
 * never stops cannot fill the memory.
 * @param guard null if the operator chose the address; then a proxy from the environment is used
 */
export function providerFetch(guard: Guard | null, bytesMax: number): typeof fetch {
  const bounded = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const response = await sent(String(input), { ...init, redirect: 'manual' }, guard)
    if (response.body === null) return response
    const { ok, status, statusText, headers } = response
    const limit = byteLimit(ok ? bytesMax : FAILURE_BYTES_MAX)
    const body = response.body.pipeThrough(limit)
    if (ok) return new Response(body, { status, statusText, headers })
    // Even if the body is too long or incomplete, the status counts.
    const said = await new Response(body).text().catch(() => '')
    return new Response(withError(said), { status, statusText, headers })
  }
  // Bun's `fetch` also has this method.
  return Object.assign(bounded, { preconnect: fetch.preconnect })
}

/** Clients read only `error`. Gemini wraps it in a list; Mistral and older vLLM send `message`. */
function withError(text: string): string {
  const parsed = parsedJson(text)
  const body: unknown = Array.isArray(parsed) ? parsed[0] : parsed
  if (typeof body !== 'object' || body === null) return text
  if (member(body, 'error') !== undefined) return JSON.stringify(body)
  if (member(body, 'object') === 'error') return JSON.stringify({ error: body })
  return JSON.stringify({ error: { unshown: body } })
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

/** An own property of a value of unknown shape, or `undefined`. Arrays have `'0'`, `'1'`, … */
export function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.getOwnPropertyDescriptor(value, key)?.value
}

/** Returns null if the provider did not report it. */
export function tokenCount(value: unknown): number | null {
  return isCount(value) ? value : null
}

/** How an answer ended. */
export type AnswerEnd = Omit<Extract<ChatDelta, { kind: 'end' }>, 'kind'>

const WARNINGS: Readonly<Record<FinishReason, readonly string[]>> = {
  stop: [],
  tool_calls: [],
  length: ['The answer was cut off: the model reached its token limit'],
  filter: ['The content filter of the model withheld all or part of the answer'],
  refusal: ['The model refused to answer'],
}

export function answerEnd(finish: FinishReason, usage: TokenUsage | null): AnswerEnd {
  return { finish, usage, warnings: WARNINGS[finish] }
}
