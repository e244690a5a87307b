import { afterEach, expect, test } from 'bun:test'
import type { KeptTurn } from '../../src/ui/views/agents/asking/kept-turns.ts'
import { turnsBefore } from '../../src/ui/views/agents/asking/kept-turns.ts'
import {
  ask,
  forgetCut,
  placeOf,
  stopAsking,
  turnsAt,
} from '../../src/ui/views/agents/asking/running-turns.ts'

const AGENT = { project: 'p', name: 'a' }
const realFetch = globalThis.fetch

afterEach(() => {
  globalThis.fetch = realFetch
})

/** A question that is answered until it is cancelled. The cancellation first gets these answers. */
function serverThatRefuses(statuses: number[]): void {
  let end = () => {}
  const answered = (url: string, init: RequestInit | undefined) => {
    if (init?.method === 'DELETE') {
      const status = statuses.shift()
      if (status !== undefined) return new Response('{}', { status })
      end()
      return new Response(null, { status: 204 })
    }
    const start = { type: 'start', trace_id: `t of ${url}`, conversation_id: 'c' }
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(start)}\n\n`))
        init?.signal?.addEventListener('abort', () => controller.error(init.signal?.reason))
        end = () => {
          const error = { type: 'error', content: 'It was cancelled', error_code: 'cancelled' }
          const lines = [error, { type: 'end' }].map(
            (event) => `data: ${JSON.stringify(event)}\n\n`,
          )
          controller.enqueue(new TextEncoder().encode(lines.join('')))
        }
      },
    })
    return new Response(body)
  }
  const fetched = async (url: string | URL | Request, init?: RequestInit) => {
    return answered(String(url), init)
  }
  globalThis.fetch = Object.assign(fetched, { preconnect: realFetch.preconnect })
}

async function stateOfStopped(conversation: string): Promise<string | undefined> {
  const place = placeOf(AGENT, conversation)
  const begun = () => stopAsking(place)
  await ask({ agent: AGENT, conversation, isKept: true, question: 'q', begun })
  return turnsAt(place)[0]?.state
}

test('an answer that could not be cancelled continues and is not shown as stopped', async () => {
  serverThatRefuses(Array.from({ length: 50 }, () => 503))
  const place = placeOf(AGENT, 'c')
  expect(await stateOfStopped('c')).toBe('cut')
  // The server's version replaces it.
  const traceId = turnsAt(place)[0]?.traceId ?? ''
  forgetCut(place, [{ ...turn(traceId), outcome: 'answered' }])
  expect(turnsAt(place)).toEqual([])
}, 10_000)

test('a cancellation that a busy server refuses is sent again', async () => {
  serverThatRefuses([503])
  const place = placeOf(AGENT, 'd')
  expect(await stateOfStopped('d')).toBe('stopped')
  const traceId = turnsAt(place)[0]?.traceId ?? ''
  forgetCut(place, [{ ...turn(traceId), outcome: 'cancelled' }])
  expect(turnsAt(place)).toHaveLength(1)
  forgetCut(place, [{ ...turn(traceId), outcome: 'answered' }])
  expect(turnsAt(place)).toEqual([])
}, 10_000)

function turn(traceId: string): KeptTurn {
  return {
    trace_id: traceId,
    question: 'q',
    answer: null,
    outcome: 'answered',
    error_code: null,
    started_at: '',
    ended_at: '',
    citations: [],
    warnings: [],
    statements: [],
    charts: [],
    result: null,
  }
}

test('turns that were read stay while the newest page follows them, and those that were deleted go', () => {
  const turns = (from: number, to: number) => {
    return Array.from({ length: to - from }, (_, at) => turn(String(from + at)))
  }
  expect(turnsBefore(turns(60, 110), turns(0, 100))).toEqual(turns(0, 60))
  expect(turnsBefore(turns(30, 80), turns(0, 100))).toEqual(turns(0, 30))
  // Other turns may be missing in between.
  expect(turnsBefore(turns(101, 151), turns(0, 100))).toBeUndefined()
  expect(turnsBefore([], turns(0, 100))).toBeUndefined()
})
