/**
 * One question kills, hangs, floods or exhausts its thread while 20 others are running, half of
 * them for its own agent.
 */
import { expect, test } from 'bun:test'
import { AgentPool } from '../../../src/agents/questions/agent-pool.ts'
import { rowsOf } from '../../../src/core/domain/query-result.ts'
import {
  agentNamed,
  collected,
  snapshotOf,
  streamOf,
  transcript,
} from '../../agents/agent-fixture.ts'
import { NO_TRACES } from '../../support/absent-parts.ts'
import { fakeSources } from '../../support/fake-sources.ts'

function newPool(): AgentPool {
  return new AgentPool(
    {
      agentsMax: 64,
      agentQuestionsMax: 64,
      agentQueueMax: 0,
      agentTimeoutSeconds: 50,
      agentStepsMax: 10,
      observationBytesMax: 32_768,
      defaultModel: null,
      chatDefaults: {},
      sparesMax: 2,
      workerUrl: new URL('../../agents/fixtures/scripted-agent.ts', import.meta.url).href,
    },
    {
      catalog: { snapshot: () => snapshotOf({}) },
      select: async () => rowsOf(['a'], [['1']]),
      sources: fakeSources({}),
      embed: async (texts) => texts.map(() => Float32Array.of(1)),
      chatProviders: ['builtin'],
      traces: NO_TRACES,
      newTraceId: () => crypto.randomUUID(),
    },
  )
}

async function lines(pool: AgentPool, agentId: number, question: string) {
  const agent = agentNamed(`agent${agentId}`, { id: agentId })
  const request = { agent, question, history: [], deltas: true }
  return transcript(await collected(streamOf(pool, request, new AbortController().signal)))
}

const STOPPED = 'error general: The agent stopped unexpectedly: its thread'
/** Eider notices this first if a slow machine's thread is too busy to report anything. */
const SILENT = `${STOPPED} did not respond any more`

test.each([
  ['throw', [`${STOPPED} failed`]],
  ['exit', [`${STOPPED} ended with exit code 3`]],
  ['spin', [SILENT]],
  ['flood', [`${STOPPED} sent more `, SILENT]],
  ['bulk', [`${STOPPED} sent more than 64000000 characters`, SILENT]],
  ['grow', [`${STOPPED} took more than 536870912 bytes of memory`]],
  ['grow-and-spin', [`${STOPPED} took more than 536870912 bytes of memory`, SILENT]],
])('a question that does "%s" ends alone', async (act, errors) => {
  const pool = newPool()
  try {
    const own = Array.from({ length: 10 }, () => lines(pool, 1, 'pause output'))
    const others = Array.from({ length: 10 }, (_, index) => {
      return lines(pool, 2 + (index % 3), 'actions pause steps query output')
    })
    const broken = await lines(pool, 1, act)
    const said = broken.at(-2) ?? ''
    expect([said, errors.some((error) => said.startsWith(error))]).toEqual([said, true])
    expect(broken.at(-1)).toBe('end')
    for (const answered of await Promise.all([...own, ...others])) {
      expect(answered.slice(-2)).toEqual(['output The answer', 'end'])
    }
    expect(pool.load).toEqual({ running: 0, waiting: 0 })
  } finally {
    pool.close()
  }
})

test('many questions that share threads are all answered, however long the threads compute', async () => {
  const pool = newPool()
  try {
    await lines(pool, 1, 'output')
    const asked = Array.from({ length: 40 }, () => lines(pool, 1, 'actions query block output'))
    for (const answered of await Promise.all(asked)) {
      expect(answered.slice(-2)).toEqual(['output The answer', 'end'])
    }
  } finally {
    pool.close()
  }
})
