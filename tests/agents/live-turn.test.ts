import { expect, test } from 'bun:test'
import { LiveTurn } from '../../src/agents/questions/live-turns.ts'
import { AppError } from '../../src/core/errors.ts'

const NEVER = new AbortController().signal

function liveTurn(): LiveTurn {
  const at = '2026-01-01 00:00:00.000000'
  const ids = { conversationId: 'c', agentId: 1, askedBy: null }
  return new LiveTurn({ ...ids, question: 'Why?', isFirst: true, startedAt: at })
}

const piece = (content: string) => ({ type: 'delta', content, trace_id: 't' }) as const
const call = { actions: [], messages: [], trace_id: 't' }

async function textOf(turn: LiveTurn): Promise<string> {
  const texts: string[] = []
  for await (const { event } of turn.watch(NEVER)) {
    texts.push('type' in event && event.type === 'delta' ? event.content : '|')
  }
  return texts.join('')
}

test('every watcher gets all events, whenever it joins', async () => {
  const turn = liveTurn()
  const watchers = [textOf(turn)]
  const expected: string[] = []
  // Pieces of every length, some with others in between, and watchers that join at any time.
  for (let index = 0; index < 400; index += 1) {
    const content = String.fromCharCode(97 + (index % 26)).repeat(index % 37)
    turn.tell(piece(content))
    expected.push(content)
    if (index % 50 === 49) {
      turn.tell(call)
      expected.push('|')
    }
    if (index % 7 === 0) await Bun.sleep(0)
    if (index % 40 === 3) watchers.push(textOf(turn))
  }
  turn.end(null)
  watchers.push(textOf(turn))
  const told = await Promise.all(watchers)
  expect(new Set(told)).toEqual(new Set([expected.join('')]))
})

test("ends with the question's own outcome, and at once for a watcher who leaves", async () => {
  const turn = liveTurn()
  turn.tell(piece('a'))
  const leaving = new AbortController()
  const left = turn.watch(leaving.signal)
  await left.next()
  const waiting = left.next()
  leaving.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
  turn.end(new AppError('timeout', 'Too late'))
  await expect(textOf(turn)).rejects.toMatchObject({ code: 'timeout' })
})
