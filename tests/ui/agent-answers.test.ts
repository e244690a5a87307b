import { expect, test } from 'bun:test'
import {
  blocksOf,
  inlinesOf,
  NOTHING_READ,
  readOn,
} from '../../src/ui/views/agents/asking/answer-blocks.ts'
import { newTurn, withEvent } from '../../src/ui/views/agents/asking/asked-turn.ts'

test('an answer becomes blocks, and what is no Markdown stays text', () => {
  const kinds = blocksOf(
    '# T\nA\n\n- b\n- c\n\n|x|y|\n|-|-|\n|1|2|\n\n```js\n<b>\n```\n> q\n---\nz',
  )
  expect(kinds.map(({ kind }) => kind)).toEqual([
    'heading',
    'paragraph',
    'list',
    'table',
    'code',
    'quote',
    'rule',
    'paragraph',
  ])
  expect(inlinesOf('<script>x</script> [a](javascript:alert(1))', [])).toEqual([
    { kind: 'text', text: '<script>x</script> [a](javascript:alert(1))' },
  ])
})

test('lists hold lists and code, and go on over empty lines', () => {
  const text =
    '1. one\n   - a\n     - deep\n   - b\n\n2. two\n\n   ```sh\n   ls\n   ```\n\nAfter\n7) seven'
  expect(blocksOf(text)).toEqual([
    {
      kind: 'list',
      first: 1,
      items: [
        {
          text: 'one',
          blocks: [
            {
              kind: 'list',
              first: null,
              items: [
                {
                  text: 'a',
                  blocks: [{ kind: 'list', first: null, items: [{ text: 'deep', blocks: [] }] }],
                },
                { text: 'b', blocks: [] },
              ],
            },
          ],
        },
        { text: 'two', blocks: [{ kind: 'code', text: 'ls', language: 'sh' }] },
      ],
    },
    { kind: 'paragraph', text: 'After' },
    { kind: 'list', first: 7, items: [{ text: 'seven', blocks: [] }] },
  ])
})

test('a bar that is escaped belongs to its cell', () => {
  expect(blocksOf('|a\\|b|c|\n|-|-|\n|1|2\\||')).toEqual([
    {
      kind: 'table',
      rows: [
        ['a|b', 'c'],
        ['1', '2|'],
      ],
    },
  ])
})

test('a text read as it grows becomes what it is as a whole, and what is over stays the same', () => {
  const text =
    '# T\r\nA\nb\n\n- x\n\n- y\n  - z\n\nk | v\n-|-\n1 | 2\n3 | 4\nend\n\n```\n- a\n\n```\n> q\n* * *\n1. o\n\n2. p'
  for (const size of [1, 2, 3, 5, 7]) {
    let read = NOTHING_READ
    for (let end = size; end < text.length + size; end += size) {
      const before = read
      read = readOn(read, text.slice(0, end))
      expect(read.blocks).toEqual(blocksOf(text.slice(0, end)))
      before.blocks.slice(0, before.keptCount).forEach((block, index) => {
        expect(read.blocks[index]).toBe(block)
      })
    }
  }
  expect(readOn(readOn(NOTHING_READ, text), 'other').blocks).toEqual(blocksOf('other'))
})

test('ids that were cited become numbers, emphasis and links what they are', () => {
  expect(inlinesOf('**a** [1:c:1of1:0to9] https://e.org/x.', ['1:c:1of1:0to9'])).toEqual([
    { kind: 'strong', content: [{ kind: 'text', text: 'a' }] },
    { kind: 'text', text: ' ' },
    { kind: 'citation', index: 0 },
    { kind: 'text', text: ' ' },
    { kind: 'link', href: 'https://e.org/x', text: 'https://e.org/x' },
    { kind: 'text', text: '.' },
  ])
})

test('steps end in the order of their calls, and text before a call is no answer', () => {
  const action = { tool: 't', tool_input: 'i', log: '' }
  const about = { messages: [], trace_id: 'r' }
  let turn = withEvent(newTurn('q', 0), { type: 'delta', content: 'Let me', trace_id: 'r' }, 1)
  turn = withEvent(turn, { actions: [action], ...about }, 2)
  turn = withEvent(turn, { actions: [action], ...about }, 3)
  turn = withEvent(turn, { steps: [{ action, observation: 'one' }], ...about }, 5)
  expect(turn.text).toBe('')
  expect(turn.steps).toEqual([
    { action, startedAtMs: 2, observation: 'one', endedAtMs: 5 },
    { action, startedAtMs: 3 },
  ])
})

test('one that somebody stopped is no failure, whoever that was', () => {
  const error = {
    type: 'error',
    content: 'It ended',
    error_type: 'general',
    trace_id: 'r',
  } as const
  const ended = (error_code: 'cancelled' | 'shutting_down') => {
    return withEvent(newTurn('Why?', 0), { ...error, error_code }, 5)
  }
  expect(ended('cancelled')).toMatchObject({ state: 'stopped', endedAtMs: 5 })
  expect(ended('shutting_down')).toMatchObject({ state: 'failed', failure: { words: 'It ended' } })
})

test('one that is watched has the times of who asked', () => {
  const action = { tool: 'kb_query_tool', tool_input: '{}', log: '' }
  const told = { messages: [], trace_id: 't' }
  const asked = withEvent(newTurn('Why?', 1000), { actions: [action], ...told, at_ms: 20 }, 1020)
  const step = { action, observation: 'found' }
  expect(withEvent(asked, { steps: [step], ...told, at_ms: 50 }, 1050).steps).toEqual([
    { action, observation: 'found', startedAtMs: 1020, endedAtMs: 1050 },
  ])
})
