import { expect, test } from 'bun:test'
import { answerHtml, citedIds, partsOf } from '../../src/ui/views/agents/asking/answer-text.tsx'
import { newTurn, withEvent } from '../../src/ui/views/agents/asking/asked-turn.ts'

const html = (text: string) => answerHtml(text, (id) => `<sup>${id}</sup>`)

test('an answer becomes HTML, and anything but Markdown stays text', () => {
  const text = '# T\nA\n\n- b\n- c\n\n|x|y|\n|-|-|\n|1|2|\n\n```js\n<b>\n```\n> q\n\n---\nz'
  const tags = [...html(text).matchAll(/<([a-z]+\d?)/g)].map(([, tag]) => tag)
  expect(
    tags.filter((tag) => !['tr', 'thead', 'tbody', 'div', 'button'].includes(tag ?? '')),
  ).toEqual(
    ['h3', 'p', 'ul', 'li', 'li', 'table', 'th', 'th', 'td', 'td', 'pre', 'code'].concat([
      'blockquote',
      'p',
      'hr',
      'p',
    ]),
  )
})

test('no tag, script, image or address of another kind gets through', () => {
  const hostile = [
    '<script>x</script> <img src=x onerror=alert(1)> &lt;b&gt;',
    '<div onclick="x">\n\n<!-- c -->\n\n[a](javascript:alert(1)) [b](data:text/html,x) [c](/api/x)',
    '![i](https://spy.example/p.png) <https://e.org/"onclick=x> [d](<https://e.org/" onclick="x>)',
    '[`]`](https://e.org) ```<b>``` [x]: javascript:alert(1)\n\n[x]',
    '|<b>|\n|-|\n|<i onclick=x>|',
  ]
  for (const text of hostile) {
    const tags = html(text).match(/<[^>]*>/g) ?? []
    for (const tag of tags) {
      expect(tag).toMatch(
        /^<\/?(p|li|table|thead|tbody|tr|th|td|code|em|strong|a|div|h3)( (dir|class|tabindex|href|target|rel)="[^"]*")*>$/,
      )
      if (tag.startsWith('<a')) expect(tag).toMatch(/^<a href="https:\/\/(e|spy\.example|e\.org)/)
    }
  }
})

test('lists hold lists and code, and continue over empty lines', () => {
  const text = '1. one\n   - a\n     - deep\n\n2. two\n\n   ```sh\n   ls\n   ```\n\nAfter'
  expect(partsOf(text)).toEqual([text.slice(0, -5), 'After'])
  expect(html(text)).toMatch(/<ol>.*<ul>.*<ul>.*deep.*two.*ls\n<\/code>.*<\/ol>/s)
})

test('a link to a web address stays, others leave their words', () => {
  const links = html('[out](https://e.org/) [in](/api/x) [mail](mailto:a@e.org)')
  expect(links).toBe(
    '<p dir="auto"><a href="https://e.org/" target="_blank" rel="noopener noreferrer nofollow">out</a> in mail</p>',
  )
})

test('an escaped bar belongs to its cell', () => {
  expect(html('|a\\|b|c|\n|-|-|\n|1|2\\||')).toMatch(/>a\|b<.*>c<.*>1<.*>2\|</s)
})

test('a text read as it grows becomes what it is as a whole, and what is over stays the same', () => {
  const text =
    '# T\nA\nb\n\nB\n\n- x\n\n- y\n  - z\n\nk | v\n-|-\n1 | 2\nend\n\n```\n- a\n\nin code\n```\n> q\n\n1. o\n\n2. p\n\nEnd'
  const whole = partsOf(text)
  expect(whole.length).toBeGreaterThan(3)
  expect(whole.join('')).toBe(text)
  for (let end = 1; end < text.length; end += 1) {
    const parts = partsOf(text.slice(0, end))
    expect(parts.slice(0, -1)).toEqual(whole.slice(0, parts.length - 1))
  }
  const withoutSpace = (one: string) => one.replace(/\s+/g, '')
  expect(withoutSpace(whole.map(html).join(''))).toBe(withoutSpace(html(text)))
})

test('cited ids become marks, but not in code, and addresses become links', () => {
  const id = '_a_*b*.md:c:1of1:0to9'
  expect(citedIds(`x [${id}] [${id}] [other]`)).toEqual([id])
  expect(html(`**a** [${id}] https://e.org/x. \`[${id}]\``)).toBe(
    `<p dir="auto"><strong>a</strong> <sup>${id}</sup> <a href="https://e.org/x" target="_blank" rel="noopener noreferrer nofollow">https://e.org/x</a>. <code>&#91;`.replace(
      '&#91;',
      `[${id}]</code></p>`,
    ),
  )
})

test('hostile sizes take time in proportion to their length', () => {
  const startedAt = performance.now()
  for (const text of ['*'.repeat(50_000), '[a]('.repeat(10_000), '> '.repeat(20_000)]) html(text)
  expect(performance.now() - startedAt).toBeLessThan(10_000)
})

test('steps end in the order of their calls, and text before a call is not an answer', () => {
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

test('a stopped one is not a failure, no matter who stopped it', () => {
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
