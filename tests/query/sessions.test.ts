import { describe, expect, test } from 'bun:test'
import type { BoundValue } from '../../src/core/domain/ports/engine-ports.ts'
import type { AppError } from '../../src/core/errors.ts'
import { Sessions } from '../../src/query/sessions.ts'

const LIMITS = { sessionsMax: 3, sessionBytesMax: 1_000, bytesMax: 2_000, idleMs: 60_000 }

function sessions() {
  const clock = { nowMs: 0 }
  return { clock, all: new Sessions(LIMITS, () => clock.nowMs) }
}

const named = (name: string, login = '') => ({ login, name })
const values = (...entries: readonly (readonly [string, BoundValue])[]) => new Map(entries)

function codeOf(work: () => unknown): AppError['code'] | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    // Other errors have no code.
    return (error as AppError).code
  }
}

describe('variables', () => {
  test('belong to their session only', () => {
    const { all } = sessions()
    all.variablesOf(named('a')).set(values(['v', 1]))
    expect(all.variablesOf(named('a')).get('v')).toBe(1)
    expect(all.variablesOf(named('b')).get('v')).toBeUndefined()
    expect(all.variablesOf(named('a', 'another login')).get('v')).toBeUndefined()
    expect(all.variablesOf(null).get('v')).toBeUndefined()
  })

  test('without a session are those of one request', () => {
    const { all } = sessions()
    const request = all.variablesOf(null)
    request.set(values(['v', 1]))
    expect(request.get('v')).toBe(1)
    expect(all.variablesOf(null).get('v')).toBeUndefined()
    expect(all.size).toEqual({ sessions: 0, bytes: 0 })
  })

  test('of a login go with its logout, those of its named sessions too', () => {
    const { all } = sessions()
    all.variablesOf(named('', 'ada')).set(values(['v', 1]))
    all.variablesOf(named('x', 'ada')).set(values(['v', 1]))
    all.variablesOf(named('x', 'bob')).set(values(['v', 1]))
    all.drop('ada')
    expect(all.variablesOf(named('', 'ada')).get('v')).toBeUndefined()
    expect(all.variablesOf(named('x', 'ada')).get('v')).toBeUndefined()
    expect(all.variablesOf(named('x', 'bob')).get('v')).toBe(1)
  })
})

describe('room', () => {
  test('for a session: one more byte is refused, and nothing is set', () => {
    const { all } = sessions()
    const variables = all.variablesOf(named('a'))
    variables.set(values(['a', 'x'.repeat(800)]))
    const tooMuch = values(['b', 'x'.repeat(100)], ['c', 'x'.repeat(100)])
    expect(codeOf(() => variables.set(tooMuch))).toBe('sql_not_supported')
    expect(variables.get('b')).toBeUndefined()
    variables.set(values(['a', 'x'.repeat(10)]))
    variables.set(tooMuch)
    expect(variables.get('c')).toBe('x'.repeat(100))
  })

  test('for all: the least recently used session ends', () => {
    const { all } = sessions()
    for (const name of ['a', 'b', 'c']) all.variablesOf(named(name)).set(values(['v', 1]))
    all.variablesOf(named('a'))
    all.variablesOf(named('d')).set(values(['v', 1]))
    const left = ['a', 'b', 'c', 'd'].filter((name) => all.variablesOf(named(name)).get('v') === 1)
    expect(left).toEqual(['a', 'c', 'd'])
  })

  test('for all bytes together', () => {
    const { all } = sessions()
    for (const name of ['a', 'b', 'c']) {
      all.variablesOf(named(name)).set(values(['v', 'x'.repeat(900)]))
    }
    expect(all.size.sessions).toBe(2)
    expect(all.size.bytes).toBeLessThanOrEqual(LIMITS.bytesMax)
    expect(all.variablesOf(named('a')).get('v')).toBeUndefined()
  })

  test('an unused session ends', () => {
    const { all, clock } = sessions()
    all.variablesOf(named('a')).set(values(['v', 1]))
    clock.nowMs += 50_000
    expect(all.variablesOf(named('a')).get('v')).toBe(1)
    clock.nowMs += 50_000
    expect(all.variablesOf(named('a')).get('v')).toBe(1)
    clock.nowMs += 60_001
    expect(all.variablesOf(named('a')).get('v')).toBeUndefined()
    expect(all.size).toEqual({ sessions: 0, bytes: 0 })
  })
})
