import { describe, expect, test } from 'bun:test'
import type { Assignment } from '../../src/agents/loop/assignment.ts'
import { answer } from '../../src/agents/loop/loop.ts'
import { answerCheck } from '../../src/agents/loop/turn-rules.ts'
import { responseFormatOf } from '../../src/agents/questions/completion-stream.ts'
import type { JsonSchema, ToolCall } from '../../src/core/domain/ports/model-ports.ts'
import { call, collected, NO_SIGNAL, scriptedModel } from './agent-fixture.ts'

const SCHEMA = {
  type: 'object',
  properties: { days: { $ref: '#/$defs/count' } },
  required: ['days'],
  additionalProperties: false,
  $defs: { count: { type: 'integer', minimum: 1 } },
}

function asked(schema: unknown) {
  return responseFormatOf({ type: 'json_schema', json_schema: { name: 'a', schema } })
}

describe('responseFormatOf', () => {
  test('takes what OpenAI has', () => {
    expect(asked(SCHEMA)).toEqual({ name: 'a', schema: SCHEMA })
    expect(responseFormatOf({ type: 'json_object' })?.schema).toEqual({ type: 'object' })
    expect(responseFormatOf({ type: 'text' })).toBeUndefined()
    expect(responseFormatOf(null)).toBeUndefined()
  })

  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_, level) => {
      const next = { $ref: `#/$defs/d${level + 1}` }
      return [`d${level}`, level === 39 ? {} : { allOf: [next, next] }]
    }),
  )
  const deep = Array.from({ length: 30 }).reduce<JsonSchema>((inner) => ({ not: inner }), {})
  const REFUSED: readonly (readonly [string, unknown, string])[] = [
    ['anything but a schema', 'x', 'must be an object'],
    ['a reference to elsewhere', { $ref: 'http://127.0.0.1/schema' }, 'a part of the schema'],
    ['a reference to nothing', { $ref: '#/$defs/none' }, 'refers to nothing'],
    ['recursion', { properties: { a: { $ref: '#' } } }, 'recursive'],
    ['recursion hidden in data', { const: { $ref: '#/const' }, $ref: '#/const' }, 'recursive'],
    ['what doubles itself', { $defs: doubling, $ref: '#/$defs/d0' }, 'levels'],
    ['what changes references', { properties: { a: { $id: 'http://h/' } } }, '"$id"'],
    ['depth', deep, 'deeper than 24'],
    ['size', { enum: ['x'.repeat(40_000)] }, 'bytes'],
    ['long patterns', { pattern: 'a'.repeat(300) }, 'pattern'],
    ['repeated patterns', { pattern: '((a{1,900}){1,900})' }, 'pattern'],
    [
      'many patterns',
      {
        patternProperties: Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`a${n}`, {}])),
      },
      'patterns',
    ],
  ]
  test.each(REFUSED)('refuses %s', (_name, schema, words) => {
    expect(() => asked(schema)).toThrow(words)
  })

  test('refuses what unfolds to too much', () => {
    const wide = Object.fromEntries(
      Array.from({ length: 12 }, (_, level) => {
        const next = { $ref: `#/$defs/w${level + 1}` }
        return [`w${level}`, level === 11 ? {} : { anyOf: [next, next, next] }]
      }),
    )
    expect(() => asked({ $ref: '#/$defs/w0', $defs: wide })).toThrow('expands to more than 5000')
  })

  test.each([
    [1],
    [{ type: 'xml' }],
    [{ type: 'json_schema' }],
    [{ type: 'json_schema', json_schema: { name: 'a b', schema: {} } }],
  ])('refuses the form %j', (value) => {
    expect(() => responseFormatOf(value)).toThrow('response_format')
  })
})

describe('answerCheck', () => {
  test('gives back JSON without its fence, and says what is wrong', async () => {
    const check = await answerCheck({ name: 'a', schema: SCHEMA })
    expect(check('```json\n{"days": 30}\n```')).toEqual({ kind: 'right', text: '{"days": 30}' })
    expect(check('30 days')).toEqual({ kind: 'wrong', problem: 'it is not JSON' })
    expect(check('{"days": 0, "b": 1}')).toEqual({
      kind: 'wrong',
      problem: 'the value must NOT have additional properties; /days must be >= 1',
    })
  })

  test('runs patterns that would never end in JavaScript, and refuses invalid ones', async () => {
    const schema = { type: 'string', pattern: '^(a|a)*(a+)+$' }
    const check = await answerCheck({ name: 'a', schema })
    expect(check(JSON.stringify(`${'a'.repeat(20_000)}b`)).kind).toBe('wrong')
    expect(check('"aaa"').kind).toBe('right')
    const both = { allOf: [{ pattern: '^a' }, { pattern: 'b$' }] }
    const checkBoth = await answerCheck({ name: 'a', schema: both })
    expect([checkBoth('"ab"').kind, checkBoth('"ac"').kind]).toEqual(['right', 'wrong'])
    const broken = answerCheck({ name: 'a', schema: { pattern: '(?=a)' } })
    await expect(broken).rejects.toMatchObject({ code: 'invalid_request' })
    const wrong = answerCheck({ name: 'a', schema: { type: 'colour' } })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

describe('an answer in a form', () => {
  const ASK: Assignment = {
    question: 'How long?',
    history: [],
    systemPrompt: '',
    tools: [{ name: 'kb_list_tool', description: '', input: null }],
    maxSteps: 3,
    timeoutMs: 60_000,
    deltas: false,
    answerForm: { name: 'a', schema: SCHEMA },
  }
  const played = (...turns: readonly (readonly (string | ToolCall)[])[]) => {
    const { model, requests } = scriptedModel(...turns)
    const runTool = async () => '[]'
    return { requests, events: collected(answer(ASK, { model, runTool }, NO_SIGNAL)) }
  }

  test('is the JSON alone; the form is not forced while tools may be called', async () => {
    const { events, requests } = played([call('kb_list_tool')], ['```json\n{"days": 30}\n```'])
    expect((await events).at(-2)).toEqual({ type: 'output', output: '{"days": 30}' })
    expect(requests.map(({ responseFormat }) => responseFormat)).toEqual([undefined, undefined])
  })

  test('is asked for once more, with what was wrong, the form forced and no tools', async () => {
    const { events, requests } = played(['In 30 days'], ['{"days": 30}'])
    expect((await events).at(-2)).toEqual({ type: 'output', output: '{"days": 30}' })
    expect(requests[1]).toMatchObject({ tools: [], responseFormat: ASK.answerForm })
    expect(requests[1]?.messages.at(-1)?.content).toContain('it is not JSON')
  })

  test('fails with its own code when it is wrong twice', async () => {
    const { events } = played(['In 30 days'], ['{"days": "thirty"}'])
    await expect(events).rejects.toMatchObject({
      code: 'answer_malformed',
      message: expect.stringContaining('/days must be integer'),
    })
  })
})
