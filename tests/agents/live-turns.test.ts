/** Who sees a question while it is being answered. */
import { expect, test } from 'bun:test'
import { LiveTurns } from '../../src/agents/questions/live-turns.ts'
import type { Asker } from '../../src/core/domain/access/principal.ts'
import { AppError } from '../../src/core/errors.ts'

const missing = async () => {
  throw new AppError('conversation_not_found', 'There is none')
}
const AGENT = { id: 1, projectId: 1 }
const PAGE = { limit: 10, before: null }

test('is the owner of its conversation, or sees all, with the agent that was asked', async () => {
  const list = async () => ({ items: [], next: null })
  const turns = new LiveTurns({ list, get: missing, requireOwn: missing })
  const at = { startedAt: '2026-01-01 00:00:00.000000', isFirst: true, agentId: AGENT.id }
  const turn = turns.begin({ ...at, conversationId: 'c', question: 'Why?', askedBy: 'key 1' })
  const owner: Asker = { by: 'key 1', seesAll: false }
  // The question waits for a slot.
  expect((await turns.list(AGENT, PAGE, owner)).items).toEqual([])
  turn.tell({ type: 'start', prompt: 'Why?', trace_id: 't', conversation_id: 'c' })
  const { signal } = new AbortController()
  for (const [agent, asker, isSeen] of [
    [AGENT, owner, true],
    [AGENT, { by: null, seesAll: true }, true],
    [AGENT, { by: 'key 2', seesAll: false }, false],
    [AGENT, { by: null, seesAll: false }, false],
    [{ ...AGENT, id: 2 }, owner, false],
  ] as const) {
    const { items } = await turns.list(agent, PAGE, asker)
    expect(items.map(({ isRunning }) => isRunning)).toEqual(isSeen ? [true] : [])
    expect(turns.has(agent, 'c', asker)).toBe(isSeen)
    const told = await Promise.allSettled([
      turns.get(agent, 'c', PAGE, asker),
      turns.watch(agent, 'c', asker, signal).next(),
    ])
    const refused = { reason: { code: 'conversation_not_found' } }
    const running = { question: 'Why?', traceId: 't' }
    expect(told).toMatchObject(
      isSeen
        ? [{ value: { running, turns: [] } }, { value: { value: { event: { type: 'start' } } } }]
        : [refused, refused],
    )
  }
  turns.end(turn, null)
  expect((await turns.list(AGENT, PAGE, owner)).items).toEqual([])
})
