import type { FinishReason, TokenUsage } from '../core/domain/agents/completion-event.ts'
import type { ChatDelta } from '../core/domain/ports/model-ports.ts'
import { isCount } from '../core/json.ts'
import { type Guard, pinnedFetch } from '../core/runtime/address-policy.ts'

/** Of the body of a failed answer: its message is short. */
const FAILURE_BYTES_MAX = 65_536

/**
 * `fetch` for a provider's client. No redirect is followed: another address must be sent neither the key nor the question.
 * An answer breaks off after `bytesMax`: a server that never stops must not fill the memory.
 * @param guard null: the operator chose the address, and a proxy of the environment is used
 */
export function providerFetch(guard: Guard | null, bytesMax: number): typeof fetch {
  const bounded = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const response = await sent(String(input), { ...init, redirect: 'manual' }, guard)
    if (response.body === null) return response
    const { ok, status, statusText, headers } = response
    const limit = byteLimit(ok ? bytesMax : FAILURE_BYTES_MAX)
    const body = response.body.pipeThrough(limit)
    if (ok) return new Response(body, { status, statusText, headers })
    // One that is too long or breaks off still has its status.
    const said = await new Response(body).text().catch(() => '')
    return new Response(withError(said), { status, statusText, headers })
  }
  // Bun's `fetch` also has a method.
  return Object.assign(bounded, { preconnect: fetch.preconnect })
}

/**
 * The clients read the member `error` of a failed answer only. Gemini wraps all in a list; Mistral and older vLLM have
 * `{object: "error", message}`, FastAPI's `{detail}` is looked through and never shown.
 */
function withError(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text)
    const body = Array.isArray(parsed) ? parsed[0] : parsed
    if (typeof body !== 'object' || body === null) return text
    if (member(body, 'error') !== undefined) return JSON.stringify(body)
    if (member(body, 'object') === 'error') return JSON.stringify({ error: body })
    return JSON.stringify({ error: { unshown: body } })
  } catch {
    return text
  }
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
 * An own member of a value of unknown shape, or `undefined`. Lists have `'0'`, `'1'`, …
 */
export function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.getOwnPropertyDescriptor(value, key)?.value
}

/** null: not reported by the provider. */
export function tokenCount(value: unknown): number | null {
  return isCount(value) ? value : null
}

/** How an answer ended. */
export type AnswerEnd = Omit<Extract<ChatDelta, { kind: 'end' }>, 'kind'>

const WARNINGS: Readonly<Record<FinishReason, readonly string[]>> = {
  stop: [],
  tool_calls: [],
  length: ['The answer was cut off: the model had reached its limit of tokens'],
  filter: ['The content filter of the model withheld the answer or a part of it'],
  refusal: ['The model refused to answer'],
}

export function answerEnd(finish: FinishReason, usage: TokenUsage | null): AnswerEnd {
  return { finish, usage, warnings: WARNINGS[finish] }
}
