import { describe, expect, test } from 'bun:test'
import type { AgentEvent, Assignment } from '../../src/agents/loop/assignment.ts'
import { answer, type LoopDeps } from '../../src/agents/loop/loop.ts'
import {
  outputEvent,
  progressEvent,
  startEvent,
} from '../../src/agents/questions/completion-stream.ts'
import { toolSpecs } from '../../src/agents/tools/tools.ts'
import { AGENT_LIMITS } from '../../src/core/domain/agents/agent-limits.ts'
import type { CompletionEvent } from '../../src/core/domain/agents/completion-event.ts'
import type { ChatModel } from '../../src/core/domain/ports/model-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { call, collected, NO_SIGNAL, scriptedModel, transcript } from './agent-fixture.ts'

const ASK: Assignment = {
  question: 'How long may I return it?',
  history: [],
  systemPrompt: 'You read data.',
  tools: toolSpecs({ knowledgeBases: [], tables: [], warnings: [] }),
  maxSteps: 10,
  timeoutMs: 60_000,
  deltas: false,
}

const echo: LoopDeps['runTool'] = async ({ name, input }) => `${name}(${input})`

async function played(ask: Partial<Assignment>, model: ChatModel, runTool = echo) {
  const events = await collected(answer({ ...ASK, ...ask }, { model, runTool }, NO_SIGNAL))
  return events.filter((event) => event.type !== 'turn' && event.type !== 'summary').map(wireEvent)
}

/** Returns the event as the main thread passes it on. */
function wireEvent(event: Exclude<AgentEvent, { type: 'turn' | 'summary' }>): CompletionEvent {
  const traceId = 'trace-1'
  if (event.type === 'start') return startEvent(ASK.question, traceId)
  if (event.type === 'end') return { type: 'end' }
  if (event.type !== 'output') return progressEvent(event, traceId)
  const told = { content: event.output, traceId, citations: [], warnings: [] }
  return outputEvent({ ...told, evidence: event.judged?.evidence ?? 'answer' })
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  )
}

describe('answer', () => {
  test('streams start, a pair of actions and steps per call, output and end', async () => {
    const { model } = scriptedModel(
      ['First ', 'the list.', call('kb_list_tool')],
      [call('kb_query_tool', 'SELECT 1')],
      ['30 days ', '[1:content:1of1:0to9]'],
    )
    const trace = { trace_id: 'trace-1' }
    const list = {
      tool: 'kb_list_tool',
      tool_input: '',
      log: 'Thought: First the list.\nAction: kb_list_tool\nAction Input: ',
    }
    const query = {
      tool: 'kb_query_tool',
      tool_input: 'SELECT 1',
      log: 'Action: kb_query_tool\nAction Input: SELECT 1',
    }
    const output = '30 days [1:content:1of1:0to9]'
    expect(await played({}, model)).toEqual([
      { type: 'start', prompt: ASK.question, ...trace },
      { actions: [list], messages: [{ content: list.log }], ...trace },
      {
        steps: [{ action: list, observation: 'kb_list_tool()' }],
        messages: [{ content: 'kb_list_tool()' }],
        ...trace,
      },
      { actions: [query], messages: [{ content: query.log }], ...trace },
      {
        steps: [{ action: query, observation: 'kb_query_tool(SELECT 1)' }],
        messages: [{ content: 'kb_query_tool(SELECT 1)' }],
        ...trace,
      },
      {
        ...{ output, messages: [{ content: output }], ...trace },
        ...{ citations: [], evidence: 'answer', warnings: [] },
      },
      { type: 'end' },
    ])
  })

  test('a thought that only ends is not part of the answer', async () => {
    const { model } = scriptedModel(['They ask for', ' days.\n</thi', 'nk>\n\n30 days.'])
    expect((await played({}, model)).at(-2)).toMatchObject({ output: '30 days.' })
    const about = scriptedModel(['Models write <think>\n</think>\nbefore.'])
    expect((await played({}, about.model)).at(-2)).toMatchObject({
      output: 'Models write <think>\n</think>\nbefore.',
    })
  })

  test('several calls in one turn become pairs, in their order', async () => {
    const { model, requests } = scriptedModel(
      ['Both.', call('kb_list_tool'), call('kb_query_tool', 'SELECT 2')],
      ['Done'],
    )
    expect(transcript(await played({}, model))).toEqual([
      'start',
      'actions kb_list_tool',
      'steps kb_list_tool()',
      'actions kb_query_tool',
      'steps kb_query_tool(SELECT 2)',
      'output Done',
      'end',
    ])
    expect(requests[1]?.messages.slice(2)).toEqual([
      {
        role: 'assistant',
        content: 'Both.',
        toolCalls: [call('kb_list_tool'), call('kb_query_tool', 'SELECT 2')],
      },
      { role: 'tool', callId: 'call-kb_list_tool-', content: 'kb_list_tool()' },
      { role: 'tool', callId: 'call-kb_query_tool-SELECT 2', content: 'kb_query_tool(SELECT 2)' },
    ])
  })

  test('several calls in one turn run side by side, at most four at once', async () => {
    const inputs = ['a', 'b', 'c', 'd', 'e', 'f']
    const { model } = scriptedModel(
      inputs.map((input) => call('kb_query_tool', input)),
      ['Done'],
    )
    const running = new Map<string, () => void>()
    let mostAtOnce = 0
    const events = played({}, model, async ({ input }) => {
      const done = Promise.withResolvers<void>()
      running.set(input, done.resolve)
      mostAtOnce = Math.max(mostAtOnce, running.size)
      // None of the first four can finish before all of them run, and the last one finishes first.
      if (running.size === 4) for (const end of [...running.values()].toReversed()) end()
      if (input < 'e') await done.promise
      running.delete(input)
      return `rows of ${input}`
    })
    const expected = inputs.flatMap((input) => ['actions kb_query_tool', `steps rows of ${input}`])
    expect(transcript(await events)).toEqual(['start', ...expected, 'output Done', 'end'])
    expect(mostAtOnce).toBe(4)
  })

  test('a call that fails ends the question, even while others run', async () => {
    const { model } = scriptedModel([call('kb_query_tool', 'a'), call('kb_query_tool', 'b')])
    const failure = await failureOf(
      played({}, model, async ({ input }) => {
        if (input === 'b') throw new AppError('shutting_down', 'closing')
        return 'rows'
      }),
    )
    expect(failure).toMatchObject({ code: 'shutting_down' })
  })

  test('text is sent as deltas only on request', async () => {
    const turn = ['It ', 'is ', 'so'] as const
    const without = await played({}, scriptedModel(turn).model)
    expect(transcript(without)).toEqual(['start', 'output It is so', 'end'])
    const withDeltas = await played({ deltas: true }, scriptedModel(turn).model)
    expect(transcript(withDeltas)).toEqual([
      'start',
      'delta It ',
      'delta is ',
      'delta so',
      'output It is so',
      'end',
    ])
  })

  test('a call of an unknown tool gets the list of tools, and is not run', async () => {
    const { model } = scriptedModel([call('rm', '-rf')], ['Sorry'])
    const ran: string[] = []
    const events = await played({}, model, async ({ name }) => {
      ran.push(name)
      return ''
    })
    const names = 'kb_list_tool, kb_info_tool, kb_query_tool'
    expect(transcript(events)[2]).toBe(`steps rm is not a valid tool, try one of [${names}]`)
    expect(ran).toEqual([])
  })

  test('an identical call is not run again, and points to its result', async () => {
    const { model, requests } = scriptedModel(
      [call('kb_query_tool', "SELECT  1 FROM a WHERE b = 'x  y';")],
      [call('kb_list_tool'), call('kb_query_tool', "SELECT 1\nFROM a WHERE b = 'x  y'")],
      [call('kb_query_tool', "SELECT 1 FROM a WHERE b = 'x y'")],
      ['Enough'],
    )
    const ran: string[] = []
    const events = await played({}, model, async ({ input }) => {
      ran.push(input)
      return 'rows'
    })
    expect(ran).toEqual([
      "SELECT  1 FROM a WHERE b = 'x  y';",
      '',
      "SELECT 1 FROM a WHERE b = 'x y'",
    ])
    const said = 'This call is identical to call 1, so it was not run again: its result is above.'
    expect(transcript(events)[6]).toStartWith(`steps ${said}`)
    expect(requests[2]?.messages.at(-1)?.content).toContain(said)
  })

  test('arguments as JSON are the same in any order', async () => {
    const schema = { type: 'object', required: ['a'] }
    const tools = [{ name: 'chart', description: '', input: null, schema }]
    const { model } = scriptedModel(
      [
        call('chart', '{"a": 1, "b": {"c": 2, "d": 3}}'),
        call('chart', '{"b":{"d":3,"c":2},"a":1}'),
      ],
      ['Enough'],
    )
    expect(transcript(await played({ tools }, model))[4]).toContain('identical to call 1')
  })

  test('an identical call may be made once more where the first one failed', async () => {
    const same = call('kb_query_tool', 'SELECT 1')
    const { model } = scriptedModel([same], [same], [same], ['Enough'])
    const answers = ['Error: the server is busy', 'Error: it still is', 'rows']
    const events = await played({}, model, async () => answers.shift() ?? '')
    expect(transcript(events)[4]).toBe('steps Error: it still is')
    expect(transcript(events)[6]).toContain('identical to call 2')
  })

  test('arguments that are malformed or missing are returned with what is expected', async () => {
    const { model } = scriptedModel(
      [{ ...call('kb_query_tool', '{"sql_query": "SEL'), malformed: 'no end of a string' }],
      [call('kb_query_tool', ' ')],
      ['Sorry'],
    )
    const ran: string[] = []
    const events = await played({}, model, async ({ name }) => {
      ran.push(name)
      return ''
    })
    const [, , malformed, , missing] = transcript(events)
    expect(malformed).toStartWith(
      'steps Not run: the arguments of kb_query_tool are malformed (no end of a string). ' +
        'Expected: {"sql_query":"…"}, where sql_query is: One SELECT',
    )
    expect(missing).toStartWith('steps Not run: kb_query_tool needs "sql_query". Expected:')
    expect(ran).toEqual([])
  })

  test('a call that does not fit its schema gets the missing fields and a refusal of non-objects', async () => {
    const schema = { type: 'object', required: ['sql'], properties: { sql: { type: 'string' } } }
    const tools = [{ name: 'chart', description: '', input: null, schema }]
    const { model } = scriptedModel([call('chart', '{}'), call('chart', '[1]')], ['Sorry'])
    const [, , missing, , none] = transcript(await played({ tools }, model))
    expect(missing).toStartWith('steps Not run: chart needs "sql". Expected: a JSON object of')
    expect(none).toStartWith('steps Not run: the arguments of chart are not a JSON object.')
  })

  test('a model that only makes errors or repeats itself is asked for its final answer', async () => {
    const wrong = call('rm')
    const { model, requests } = scriptedModel([wrong], [wrong], [wrong], [wrong], ['I give up'])
    const events = await collected(answer(ASK, { model, runTool: echo }, NO_SIGNAL))
    expect(requests).toHaveLength(5)
    expect(requests[4]?.tools).toEqual([])
    expect(requests[4]?.messages.at(-1)?.content).toContain('wrong or repeated')
    const warnings = events.flatMap((event) => (event.type === 'turn' ? event.warnings : []))
    expect(warnings).toEqual([expect.stringContaining('only repeated calls')])
  })

  test('a call written as text is not run, and is asked for in the right form', async () => {
    const written = '<tool_call>\n{"name": "kb_query_tool", "arguments": {}}\n</tool_call>'
    const { model, requests } = scriptedModel([written], ['In 30 days'])
    const ran: string[] = []
    const events = await played({}, model, async ({ name }) => {
      ran.push(name)
      return ''
    })
    expect(transcript(events)).toEqual(['start', 'output In 30 days', 'end'])
    expect(ran).toEqual([])
    expect(requests[1]?.messages.slice(-2)).toMatchObject([
      { role: 'assistant', content: written },
      { role: 'system', content: expect.stringContaining('written as text') },
    ])
  })

  test('near the deadline the model has to answer, without tools, with a warning', async () => {
    const { model, requests } = scriptedModel([call('kb_list_tool')], ['In time'])
    const events = await collected(
      answer({ ...ASK, timeoutMs: 60 }, { model, runTool: () => new Promise(() => {}) }, NO_SIGNAL),
    )
    const steps = events.flatMap((event) => (event.type === 'step' ? [event.step.observation] : []))
    expect(steps).toEqual([expect.stringContaining('no result in time')])
    expect(requests[1]?.tools).toEqual([])
    expect(requests[1]?.messages.at(-1)?.content).toContain('The time is almost up')
    const warnings = events.flatMap((event) => (event.type === 'turn' ? event.warnings : []))
    expect(warnings).toEqual([expect.stringContaining('time limit was near')])
    expect(events.at(-2)).toEqual({ type: 'output', output: 'In time' })
  })

  test('after the last step the model has to answer, without tools', async () => {
    const { model, requests } = scriptedModel([call('kb_list_tool')], ['In time'])
    const events = await played({ maxSteps: 1 }, model)
    expect(transcript(events).at(-2)).toBe('output In time')
    expect(requests[0]?.tools).not.toEqual([])
    expect(requests[1]?.tools).toEqual([])
    const last = requests[1]?.messages.at(-1)
    expect(last).toMatchObject({ role: 'system' })
    expect(last?.content).toContain('No tool calls are left')
  })

  test('a model that calls tools beyond the last step ends with step_limit', async () => {
    const { model } = scriptedModel([call('kb_list_tool')], [call('kb_list_tool')])
    const failure = await failureOf(played({ maxSteps: 1 }, model))
    expect(failure).toBeInstanceOf(AppError)
    expect(failure).toMatchObject({ code: 'step_limit' })
  })

  test('calls beyond the last step are not run, and the model gets an error', async () => {
    const calls = [call('kb_query_tool', 'a'), call('kb_query_tool', 'b')]
    const { model, requests } = scriptedModel(calls, ['So far'])
    const events = await played({ maxSteps: 1 }, model)
    expect(transcript(events)).toEqual([
      'start',
      'actions kb_query_tool',
      'steps kb_query_tool(a)',
      'output So far',
      'end',
    ])
    expect(requests[1]?.messages).toContainEqual({
      role: 'tool',
      callId: 'call-kb_query_tool-b',
      content: 'Not run: at most 1 tool calls are allowed',
    })
  })

  test('an empty answer is asked for once more', async () => {
    const { model, requests } = scriptedModel([' \n'], ['Here'])
    expect(transcript(await played({}, model))).toEqual(['start', 'output Here', 'end'])
    expect(requests).toHaveLength(2)
  })

  test('a model that stays silent gets a sentence in its place', async () => {
    const { model } = scriptedModel([], [])
    const lines = transcript(await played({}, model))
    expect(lines).toEqual(['start', 'output The model gave no answer to this question.', 'end'])
  })

  test('a model that never stops writing is stopped', async () => {
    const model: ChatModel = {
      async *respond() {
        for (;;) yield { kind: 'text', text: 'x'.repeat(10_000) }
      },
    }
    const failure = await failureOf(played({}, model))
    expect(failure).toMatchObject({ code: 'provider_failed' })
    expect(String(failure)).toContain(`${AGENT_LIMITS.turnCharsMax} characters`)
  })

  test('an abort ends even a model that ignores it', async () => {
    const controller = new AbortController()
    const model: ChatModel = {
      async *respond() {
        yield { kind: 'text', text: 'The half of' }
        controller.abort(new AppError('cancelled', 'gone'))
      },
    }
    const events = answer(ASK, { model, runTool: echo }, controller.signal)
    expect(await failureOf(collected(events))).toMatchObject({ code: 'cancelled' })
  })

  test('the newest history that fits is sent, the oldest is left out', async () => {
    const long = 'h'.repeat(AGENT_LIMITS.historyBytesMax - 10)
    const history = [
      { role: 'user', content: 'first, and too much' },
      { role: 'assistant', content: long },
      { role: 'user', content: 'second' },
    ] as const
    const { model, requests } = scriptedModel(['ok'])
    await played({ history }, model)
    const forgotten = '(The oldest turns of this conversation are left out to save space.)'
    expect(requests[0]?.messages).toEqual([
      { role: 'system', content: `${ASK.systemPrompt}\n\n${forgotten}` },
      { role: 'assistant', content: long, toolCalls: [] },
      { role: 'user', content: 'second' },
      { role: 'user', content: ASK.question },
    ])
  })
})
