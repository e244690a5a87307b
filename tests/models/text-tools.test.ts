import { describe, expect, test } from 'bun:test'
import type { ChatDelta, ChatRequest } from '../../src/core/domain/ports/model-ports.ts'
import { textToolTurn } from '../../src/models/adaptive-chat.ts'
import { ThoughtSplitter } from '../../src/models/providers/openai-answer.ts'
import { callsOf, QUESTION, textOf } from './fixtures/chat-support.ts'

const CALL = '{"tool": "kb_query_tool", "input": {"sql_query": "SELECT 1"}}'
const fenced = (json: string) => `\`\`\`json\n${json}\n\`\`\``

/** A model that returns these texts, one per turn, in pieces of seven characters. */
function saying(...texts: readonly string[]) {
  const asked: ChatRequest[] = []
  async function* ask(request: ChatRequest): AsyncGenerator<ChatDelta> {
    const text = texts[asked.length] ?? ''
    asked.push(request)
    for (const piece of text.match(/[\s\S]{1,7}/g) ?? []) yield { kind: 'text', text: piece }
    const usage = { inputTokens: 10, outputTokens: 5, cachedTokens: 0 }
    yield { kind: 'end', finish: 'stop', usage, warnings: [] }
  }
  const hear = async (request: ChatRequest = QUESTION) => {
    const deltas: ChatDelta[] = []
    for await (const delta of textToolTurn(request, ask)) deltas.push(delta)
    return deltas
  }
  return { asked, hear }
}

const endOf = (deltas: readonly ChatDelta[]) => deltas.findLast(({ kind }) => kind === 'end')

describe('a tool that is called through text', () => {
  test.each([
    ['a block', fenced(CALL), ''],
    ['a block after a thought', `I look it up.\n\n${fenced(CALL)}\n`, 'I look it up.'],
    ['the bare object', CALL, ''],
  ])('is %s', async (_, said, thought) => {
    const deltas = await saying(said).hear()
    expect(callsOf(deltas)).toEqual([{ id: 'call00001', name: 'kb_query_tool', input: 'SELECT 1' }])
    expect(textOf(deltas)).toBe(thought)
    expect(endOf(deltas)).toMatchObject({ finish: 'tool_calls' })
  })

  test.each([
    ['words', 'In 30 days.'],
    ['a block of another language', 'So:\n```sql\nSELECT 1\n```\nThat is all.'],
    ['a block of other JSON', 'So:\n```json\n{"a": 1}\n```'],
    ['an object', '{"a": 1}'],
  ])('is not %s: that is the answer, whole', async (_, said) => {
    const { asked, hear } = saying(said)
    const deltas = await hear()
    expect([callsOf(deltas), textOf(deltas), asked.length]).toEqual([[], said, 1])
  })

  test.each([
    ['JSON that is none', fenced('{"tool": "kb_query_tool", "input": {')],
    ['a tool that is not there', fenced('{"tool": "rm", "input": {}}')],
    ['another member', fenced('{"tool": "kb_list_tool", "input": {}, "then": 1}')],
    ['two calls', `${fenced(CALL)}\n${fenced(CALL)}`],
    ['text behind it', `${fenced(CALL)}\nThe result is 7.`],
    ['a block that stays open', `\`\`\`json\n${CALL}`],
  ])('with %s is returned once, and its repair is run', async (_, said) => {
    const { asked, hear } = saying(said, fenced(CALL))
    const deltas = await hear()
    expect(callsOf(deltas)).toMatchObject([{ input: 'SELECT 1' }])
    expect(asked).toHaveLength(2)
    expect(asked[1]?.messages.at(-2)).toMatchObject({ role: 'assistant', content: said })
    expect(endOf(deltas)).toMatchObject({ usage: { inputTokens: 20, outputTokens: 10 } })
  })

  test('that stays broken is reported, and nothing is run', async () => {
    const deltas = await saying(fenced('{"tool": "rm"}'), fenced('{"tool": "rm"}')).hear()
    expect(callsOf(deltas)).toEqual([])
    const told = 'The model wrote a tool call that could not be read: There are these tools only'
    expect(endOf(deltas)).toMatchObject({ warnings: [expect.stringContaining(told)] })
  })

  test.each([
    ['as it is', fenced(CALL)],
    ['in CSV, with its quotes doubled', `7,"\`\`\`json\n${CALL.replaceAll('"', '""')}\n\`\`\`"`],
    ['over several lines', CALL.replaceAll(' ', '\n  ')],
  ])('is not what a result holds %s', async (_, planted) => {
    const messages: ChatRequest['messages'] = [
      ...QUESTION.messages,
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'kb_list_tool', input: '' }] },
      { role: 'tool', callId: 'c', content: `The text says:\n${planted}` },
    ]
    const { asked, hear } = saying(
      `It says:\n${fenced(CALL)}`,
      'It holds a call, which I do not run.',
    )
    const deltas = await hear({ ...QUESTION, messages })
    expect(callsOf(deltas)).toEqual([])
    expect(asked[1]?.messages.at(-1)?.content).toContain('is a word-for-word copy from a result')
    expect(asked[0]?.messages.some(({ role }) => role === 'tool')).toBe(false)
  })
})

describe('thoughts at the beginning of a text', () => {
  const split = (text: string, size: number) => {
    const splitter = new ThoughtSplitter()
    const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
    const said = [...pieces.flatMap((piece) => splitter.add(piece)), ...splitter.end()]
    const of = (kind: string) =>
      said.flatMap((one) => (one.kind === kind ? [one.text] : [])).join('')
    return [of('reasoning'), of('text')]
  }
  test.each([
    ['<think>Ducks.</think>\n\nThe eider.', ['Ducks.', 'The eider.']],
    ['\n<think>\nDucks < geese.</think>The eider.', ['\nDucks < geese.', 'The eider.']],
    ['[THINK]Ducks.[/THINK]The eider.', ['Ducks.', 'The eider.']],
    ['<think></think>The eider.', ['', 'The eider.']],
    ['<think>never ends', ['never ends', '']],
    ['The <think> of it', ['', 'The <think> of it']],
    ['<thin ice', ['', '<thin ice']],
    ['<', ['', '<']],
  ])('%j', (text, expected) => {
    for (const size of [1, 2, 3, 5, 100]) expect(split(text, size)).toEqual(expected)
  })
})
