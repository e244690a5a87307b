import { describe, expect, test } from 'bun:test'
import {
  PLANNED_RESTART_CODE,
  RestartPolicy,
  type ServerExit,
} from '../../src/ops/supervisor/restart-policy.ts'

const CRASH: ServerExit = { exitCode: null, signal: 'SIGSEGV', readyMs: 500, isStopping: false }
const FAILED_START: ServerExit = { ...CRASH, exitCode: 1, signal: null, readyMs: null }

function delaysOf(
  policy: RestartPolicy,
  exits: readonly ServerExit[],
): readonly (number | 'end')[] {
  return exits.map((exit) => {
    const next = policy.afterExit(exit)
    return next.kind === 'end' ? 'end' : next.delayMs
  })
}

describe('a server that has served', () => {
  test('is started again at once, then later and later, and never given up', () => {
    const delays = delaysOf(
      new RestartPolicy(),
      Array.from({ length: 9 }, () => CRASH),
    )
    expect(delays).toEqual([0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
  })

  test('is started at once again after a quiet time', () => {
    const quiet = { ...CRASH, readyMs: 60_000 }
    expect(delaysOf(new RestartPolicy(), [CRASH, CRASH, CRASH, quiet, CRASH])).toEqual([
      0, 1000, 2000, 0, 1000,
    ])
  })

  test('that cannot start again for a while is tried some times, then its message is the last one', () => {
    const exits = [CRASH, ...Array.from({ length: 7 }, () => FAILED_START)]
    const delays = delaysOf(new RestartPolicy(), exits)
    expect(delays).toEqual([0, 1000, 2000, 4000, 8000, 16_000, 30_000, 'end'])
  })

  test('that asks to be replaced is replaced', () => {
    const planned = { ...CRASH, signal: null, exitCode: PLANNED_RESTART_CODE }
    expect(new RestartPolicy().afterExit(planned)).toEqual({
      kind: 'restart',
      isPlanned: true,
      delayMs: 0,
    })
    expect(delaysOf(new RestartPolicy(), [planned, planned, planned])).toEqual([0, 0, 0])
  })

  test('that fails with an exit code is started again', () => {
    expect(delaysOf(new RestartPolicy(), [{ ...CRASH, signal: null, exitCode: 1 }])).toEqual([0])
  })
})

test('a first start that fails in order is the end, one that crashes is tried some times', () => {
  expect(delaysOf(new RestartPolicy(), [FAILED_START])).toEqual(['end'])
  const crashes = Array.from({ length: 7 }, () => ({ ...CRASH, readyMs: null }))
  expect(delaysOf(new RestartPolicy(), crashes)).toEqual([0, 1000, 2000, 4000, 8000, 16_000, 'end'])
})

test('who was asked to stop is not started again, however it ended', () => {
  const ends: readonly ServerExit[] = [
    { ...CRASH, isStopping: true },
    { ...CRASH, signal: null, exitCode: 0 },
    { ...CRASH, signal: 'SIGTERM' },
    { ...CRASH, signal: 'SIGINT', readyMs: null },
  ]
  for (const exit of ends) expect(delaysOf(new RestartPolicy(), [exit])).toEqual(['end'])
})
