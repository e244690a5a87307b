import { expect, test } from 'bun:test'
import { blocksOf, inlinesOf } from '../../src/ui/views/agents/asking/answer-blocks.ts'
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
