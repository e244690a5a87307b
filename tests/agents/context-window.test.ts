import { describe, expect, test } from 'bun:test'
import type { AgentEvent, Assignment } from '../../src/agents/loop/assignment.ts'
import { estimatedTokens } from '../../src/agents/loop/context-window.ts'
import { answer } from '../../src/agents/loop/loop.ts'
import type {
  ChatMessage,
  ChatModel,
  ChatRequest,
} from '../../src/core/domain/ports/model-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { call, collected, NO_SIGNAL, scriptedModel } from './agent-fixture.ts'

const ROWS = 400

const ASK: Assignment = {
  question: 'How long may I return it?',
  history: [],
  systemPrompt: 'You read data.',
  tools: [{ name: 'kb_query_tool', description: '', input: { name: 'sql', description: '' } }],
  maxSteps: 10,
  timeoutMs: 60_000,
  deltas: false,
  fence: 'f00d',
}

/** About 4 000 tokens: a header and many rows. */
function rowsOf(name: string): string {
  const rows = Array.from({ length: ROWS }, (_, row) => `${name}-${row},some words of a row`)
  return ["Output columns: 'id', 'text'", ...rows].join('\n')
}

const runTool = async ({ input }: { readonly input: string }) => rowsOf(input)

function asked(model: ChatModel, ask: Partial<Assignment>): Promise<readonly AgentEvent[]> {
  return collected(answer({ ...ASK, ...ask }, { model, runTool }, NO_SIGNAL))
}

function results(request: ChatRequest | undefined): readonly string[] {
  const isResult = ({ role }: ChatMessage) => role === 'tool'
  return request?.messages.filter(isResult).map(({ content }) => content) ?? []
}

function queries(...names: readonly string[]) {
  return names.map((name) => call('kb_query_tool', name))
}

describe('what a model is shown', () => {
  test('stays whole as long as there is room', async () => {
    const { model, requests } = scriptedModel(queries('a'), queries('b'), ['ok'])
    await asked(model, { contextTokens: 32_000 })
    expect(results(requests[2])).toEqual([
      `Result of call 1:\n<<<data f00d\n${rowsOf('a')}\nf00d data>>>`,
      `Result of call 2:\n<<<data f00d\n${rowsOf('b')}\nf00d data>>>`,
    ])
  })

  test('old results keep their first rows and say what is missing; the newest is complete', async () => {
    const { model, requests } = scriptedModel(queries('a'), queries('b'), queries('c'), ['ok'])
    await asked(model, { contextTokens: 14_000 })
    const [first = '', second = '', third = ''] = results(requests[3])
    expect(first).toStartWith("Result of call 1:\n<<<data f00d\nOutput columns: 'id', 'text'\na-0,")
    expect(first.slice(-200)).toMatch(
      /\nf00d data>>>\n\(Shortened to save space: \d+ of \d+ characters/,
    )
    expect(second).toContain('b-399')
    expect(third).toContain('c-399')
  })

  test('next, old results are dropped, then the history, then the newest results are shortened', async () => {
    const history = [
      { role: 'user', content: 'old words '.repeat(300) },
      { role: 'assistant', content: 'an old answer '.repeat(300) },
      { role: 'user', content: 'a newer word' },
    ] as const
    const { model, requests } = scriptedModel(queries('a'), queries('b', 'c'), ['ok'])
    await asked(model, { contextTokens: 4000, history })
    const last = requests[2]
    const [first = '', second = '', third = ''] = results(last)
    expect(first).toStartWith('Result of call 1:\n(The result is left out to save space')
    for (const [name, text] of [['b', second] as const, ['c', third] as const]) {
      expect(text).toContain(`${name}-0,`)
      expect(text).not.toContain(`${name}-399`)
      expect(text).toContain('Shortened to save space')
    }
    const texts = last?.messages.map(({ content }) => content) ?? []
    expect(texts[0]).toStartWith('You read data.\n\n(The oldest turns of this conversation')
    expect(texts.join()).not.toContain('old words')
    expect(texts).toContain(ASK.question)
    const tokens = texts.reduce((sum, text) => sum + estimatedTokens(text), 0)
    expect(tokens).toBeLessThan(3000)
  })

  test('the instruction and the question stay whole, however little room there is', async () => {
    const question = 'Why? '.repeat(2000)
    const systemPrompt = 'Mind this. '.repeat(2000)
    const { model, requests } = scriptedModel(queries('a'), ['ok'])
    await asked(model, { contextTokens: 1000, question, systemPrompt })
    expect(requests[1]?.messages.slice(0, 2)).toEqual([
      { role: 'system', content: systemPrompt },
      { role: 'user', content: question },
    ])
  })

  test('a repeated call gets its shortened result in full, without being run', async () => {
    let runs = 0
    const turns = [queries('a'), queries('b'), queries('c'), queries('a'), ['ok']]
    const { model, requests } = scriptedModel(...turns)
    const deps = {
      model,
      runTool: async ({ input }: { readonly input: string }) => {
        runs += 1
        return rowsOf(input)
      },
    }
    await collected(answer({ ...ASK, contextTokens: 14_000 }, deps, NO_SIGNAL))
    expect(runs).toBe(3)
    const again = results(requests[4]).at(-1)
    expect(again).toContain('a-399')
    expect(again).toContain('identical to call 1, so it was not run again; this is its result')
  })

  test('follows what the provider counts', async () => {
    const usage = { inputTokens: 15_000, outputTokens: 1, cachedTokens: 0 }
    const turns = [queries('a'), queries('b'), []]
    const requests: ChatRequest[] = []
    const model: ChatModel = {
      async *respond(request) {
        const calls = turns[requests.length] ?? []
        requests.push(request)
        for (const one of calls) yield { kind: 'tool_call', call: one }
        if (calls.length === 0) yield { kind: 'text', text: 'ok' }
        const counted = requests.length === 2 ? usage : null
        yield { kind: 'end', finish: 'stop', usage: counted, warnings: [] }
      },
    }
    await asked(model, { contextTokens: 20_000 })
    expect(results(requests[1])[0]).toContain('a-399')
    expect(results(requests[2])[0]).toContain('to save space')
  })

  test('if the provider says the prompt is too long, a shorter one is sent once', async () => {
    const requests: ChatRequest[] = []
    const model: ChatModel = {
      async *respond(request) {
        requests.push(request)
        if (requests.length === 1) yield { kind: 'tool_call', call: call('kb_query_tool', 'a') }
        if (requests.length === 2) {
          const words = "This model's maximum context length is 2048 tokens. However, you requested"
          throw new AppError('provider_refused', `http://h/v1 answered 400: ${words} 4096`)
        }
        if (requests.length === 3) yield { kind: 'text', text: 'ok' }
      },
    }
    const events = await asked(model, {})
    expect(events.at(-2)).toEqual({ type: 'output', output: 'ok' })
    expect(results(requests[1])[0]).toContain('a-399')
    expect(results(requests[2])[0]).toContain('Shortened to save space')
  })

  test('a provider that refuses it again, or for another reason, ends the question', async () => {
    const refusing = (words: string) => {
      const requests: ChatRequest[] = []
      const model: ChatModel = {
        // biome-ignore lint/correctness/useYield: the test fails if this runs
        async *respond(request) {
          requests.push(request)
          throw new AppError('provider_refused', words)
        },
      }
      return { model, requests }
    }
    const long = refusing('prompt is too long: 210000 tokens > 200000 maximum')
    const history = [{ role: 'user', content: 'words '.repeat(5000) }] as const
    await expect(asked(long.model, { history })).rejects.toMatchObject({ code: 'context_exceeded' })
    expect(long.requests).toHaveLength(2)
    const bad = refusing('http://h/v1 answered 400: unknown field')
    await expect(asked(bad.model, { history })).rejects.toMatchObject({ code: 'provider_refused' })
    expect(bad.requests).toHaveLength(1)
  })
})

describe('estimatedTokens', () => {
  // Counted with the vocabularies cl100k_base and p50k_base, taking the larger number.
  test.each([
    ['english', 'The customer may return the goods within thirty days of receipt.', 13],
    ['russian', 'Покупатель может вернуть товар в течение тридцати дней', 54],
    ['chinese', '客户可以在收到商品后三十天内退货', 33],
    ['arabic', 'يمكن للعميل إرجاع المنتج خلال ثلاثين يومًا', 39],
    ['georgian', 'მომხმარებელს შეუძლია პროდუქტის დაბრუნება', 104],
    ['uuid', '6f1c9a52-2f0b-4b8e-9d6e-0d6a1b3c9f77', 26],
  ])('is never far too low: %s', (_name, text, counted) => {
    expect(estimatedTokens(text)).toBeGreaterThan(counted * 0.5)
    expect(estimatedTokens(text)).toBeLessThan(counted * 3)
  })
})
