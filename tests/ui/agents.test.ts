import { expect, test } from 'bun:test'
import type { Agent } from '../../src/ui/api/records.ts'
import {
  definitionOf,
  draftAfter,
  draftOf,
  MASKED,
  withoutKey,
} from '../../src/ui/views/agents/agent-draft.ts'
import { isCovered } from '../../src/ui/views/agents/agent-form.tsx'
import { drawnChart } from '../../src/ui/views/agents/asking/findings.tsx'
import { callsOf } from '../../src/ui/views/agents/trace-view.tsx'

const AGENT: Agent = {
  id: 1,
  name: 'a',
  project_id: 1,
  created_at: '',
  updated_at: '',
  data: { knowledge_bases: ['p.k'], mcp: [{ name: 'm', url: 'https://m.example', tools: ['t'] }] },
  model: { provider: 'ollama', model_name: 'q', api_key: 'k-shown-once', context_tokens: 16384 },
  prompt_template: 'Be brief',
  params: { timeout: 9, return_context: true },
}

test('saving an agent keeps settings without a field, and sends no masked key', () => {
  const draft = { ...draftOf(AGENT), tables: ['p.*'], maxSteps: '4', timeoutSeconds: '' }
  const saved: unknown = definitionOf(draft, AGENT)
  expect(saved).toEqual({
    name: 'a',
    data: { ...AGENT.data, tables: ['p.*'] },
    model: { provider: 'ollama', model_name: 'q', api_key: MASKED, context_tokens: 16384 },
    prompt_template: 'Be brief',
    params: { return_context: true, mode: 'text', timeout: null, max_steps: 4 },
  })
  const other = definitionOf({ ...draft, provider: 'openai', apiKey: '' }, AGENT)
  expect(other.model).toEqual({ provider: 'openai', model_name: 'q' })
  expect(definitionOf({ ...draft, provider: '' }, AGENT).model).toEqual({})
})

test('a knowledge base that SQL gave an agent without its project is the one of the project', () => {
  const agent = { ...AGENT, data: { knowledge_bases: ['k', 'q.k', 's*'] } }
  expect(draftOf(agent, 'p').knowledgeBases).toEqual(['p.k', 'q.k', 'p.s*'])
})

test('what is typed while an agent is saved stays, and the key that the answer repeats does not', () => {
  const begun = draftOf({ ...AGENT, model: {} })
  const sent = { ...begun, apiKey: 'k-shown-once', promptTemplate: ' Be brief' }
  const latest = { ...sent, maxSteps: '4' }
  expect(draftAfter(draftOf(AGENT), sent, latest)).toEqual({ ...draftOf(AGENT), maxSteps: '4' })
  expect(draftAfter(draftOf(AGENT), latest, latest)).toEqual(draftOf(AGENT))
  expect(JSON.stringify(withoutKey(AGENT))).not.toContain('k-shown-once')
})

test('a name is picked by itself, quoted, in other letters, or with all of its project', () => {
  const orders = { schema: 'Shop', name: 'orders', kind: '' }
  for (const picked of ['shop.orders', '"Shop"."Orders"', 'SHOP.*', 'shop.ord*']) {
    expect(isCovered(orders, [picked])).toBe(true)
  }
  for (const picked of ['shop.order', 'shops.*', 'orders', 'shop.orders.x']) {
    expect(isCovered(orders, [picked])).toBe(false)
  }
})

test('charts of an agent are drawn as it describes them, and invalid ones are not', () => {
  const rows = { sql: '', column_names: ['year', 'sum', 'kind'], data: [[2024, 1, 'x']] }
  const field = (title: string) => ({ title })
  const encoding = { x: field('year'), y: field('sum'), color: field('kind') }
  const spec = { title: 'T', mark: { type: 'line' }, encoding }
  expect(drawnChart({ ...rows, spec })).toMatchObject({
    title: 'T',
    choice: { kind: 'line', x: 0, y: [1], by: 2 },
  })
  const pie = { mark: { type: 'arc' }, encoding: { theta: field('sum'), color: field('kind') } }
  expect(drawnChart({ ...rows, spec: pie })?.choice).toEqual({ kind: 'bar', x: 2, y: [1] })
  const bins = { mark: { type: 'bar' }, encoding: { x: { title: 'sum', bin: true } } }
  expect(drawnChart({ ...rows, spec: bins })?.choice).toEqual({ kind: 'histogram', x: 1, y: [] })
  for (const wrong of [{}, { mark: 'line' }, { mark: { type: 'line' }, encoding: 7 }]) {
    expect(drawnChart({ ...rows, spec: wrong })).toBeUndefined()
  }
})

test('calls of a run come in the order in which they began', () => {
  const turn = { first_piece_ms: null, finish: 'stop', tool_calls: 0, usage: null, reasoning: '' }
  const step = { tool: 'sql_db_query', input: '', observation: '', start_ms: 5, took_ms: 1 }
  const turns = [0, 7].map((start_ms) => ({
    ...turn,
    finish: 'stop' as const,
    start_ms,
    took_ms: 2,
  }))
  const labels = callsOf({ turns, steps: [step] }).map(({ label }) => label)
  expect(labels).toEqual(['Model, turn 1', 'sql_db_query', 'Model, turn 2'])
})
