import { describe, expect, test } from 'bun:test'
import { parseJson } from '../../src/api/http/bodies/json-text.ts'

const ALIVE = new AbortController().signal
const read = (json: string) => parseJson(new TextEncoder().encode(json), ALIVE)
const failure = (json: string) => read(json).catch((error: unknown) => error)

/** A text of this length has more than one piece and is not parsed all at once. */
const LARGE = 200_000

function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return state / 0x7fff_ffff
  }
}

const TEXTS = ['', 'a', 'ü€😀', '"\\/\b\n', '\\\\', '\u0000\u001f', '[1,{"a":2}]', ',:', '﻿b']

/** Returns a value of any kind. About one in fifty is a text with more than one piece. */
function randomValue(random: () => number, depth = 0): unknown {
  const kind = Math.floor(random() * (depth > 3 ? 5 : 7))
  const text = TEXTS[Math.floor(random() * TEXTS.length)] ?? ''
  const size = Math.floor(random() * 6)
  switch (kind) {
    case 0:
      return random() < 0.5 ? null : random() < 0.5
    case 1:
      return Math.round(random() * 1e6) / 100
    case 2:
      return -Math.floor(random() * 2 ** 52)
    case 3:
      return text.repeat(size * 4)
    case 4:
      return random() < 0.1 ? `x${text.repeat(random() * 60_000)}` : text
    case 5:
      return Array.from({ length: size }, () => randomValue(random, depth + 1))
    default: {
      const keys = Array.from({ length: size }, (_, index) => `${text}${index}`)
      return Object.fromEntries(keys.map((key) => [key, randomValue(random, depth + 1)]))
    }
  }
}

describe('a large text', () => {
  for (let seed = 1; seed <= 12; seed += 1) {
    test(`is the value that JSON.parse gives, seed ${seed}`, async () => {
      const random = generator(seed)
      const value = Array.from({ length: 200 }, () => randomValue(random))
      const indent = [undefined, 1, '\t'][seed % 3]
      const json = JSON.stringify({ rows: value, last: 'x'.repeat(LARGE) }, null, indent)
      expect(await read(json)).toEqual(JSON.parse(json))
    })
  }

  test('is refused where JSON.parse refuses it, one character changed', async () => {
    const random = generator(99)
    const item = JSON.stringify({ a: [1, -2.5e3, true, null, 'x\\"y'], b: { c: 'ü', d: [] } })
    const large = `"${'x'.repeat(LARGE)}"`
    const json = `{"r":[${Array(400).fill(item).join(',')},${large},1,[${large}],{"k":${large},"l":2}],"s":${large}}`
    // Positions outside of the long strings.
    const places = [...json.matchAll(/[^x]/g)].map((match) => match.index)
    let refused = 0
    for (let count = 0; count < 150; count += 1) {
      const at = places[Math.floor(random() * places.length)] ?? 0
      const sign = '{}[],:"1 \\-et'[Math.floor(random() * 13)] ?? ''
      const changed = `${json.slice(0, at)}${sign}${json.slice(at + (random() < 0.5 ? 1 : 0))}`
      const expected = parsed(changed)
      const found = await failure(changed)
      if (expected === undefined) {
        refused += 1
        expect(found).toMatchObject({ code: 'invalid_json' })
      } else expect(found).toEqual(expected)
    }
    expect(refused).toBeGreaterThan(50)
  })

  test('keeps the last of equal keys, at the place of the first', async () => {
    const large = `"${'x'.repeat(LARGE)}"`
    const json = `{"a":1,"b":${large},"a":2,"c":3,"b":4}`
    expect(Object.entries((await read(json)) as object)).toEqual([
      ['a', 2],
      ['b', 4],
      ['c', 3],
    ])
  })
})

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

const PADDED = (json: string) => `{"v":${json},"pad":"${'x'.repeat(LARGE)}"}`

for (const [size, around] of [
  ['small', (json: string) => `{"v":${json}}`],
  ['large', PADDED],
] as const) {
  describe(`a ${size} text`, () => {
    test('keeps numbers that a double cannot hold as they are written', async () => {
      const numbers =
        '[12345678901234567890,-9007199254740993,9007199254740991,9007199254740993.0,1e400,"12345678901234567890"]'
      const { v } = (await read(around(numbers))) as { v: unknown }
      expect(v).toEqual([
        '12345678901234567890',
        '-9007199254740993',
        9007199254740991,
        9007199254740992,
        '1e400',
        '12345678901234567890',
      ])
    })

    for (const wrong of [
      '[00000000000000000001]',
      '{12345678901234567890:1}',
      '{12345678901234567890 :1}',
      '--12345678901234567890',
      '12345678901234567890x',
      '[1,]',
      '[,1]',
      '{"a"}',
      '{"a":1,}',
      '[1 2]',
      '"\u0001"',
    ]) {
      test(`is refused for ${wrong}`, async () => {
        expect(await failure(around(wrong))).toMatchObject({ code: 'invalid_json' })
      })
    }

    for (const key of ['__proto__', '\\u005f_proto__', '_\\u005Fpr\\u006Fto__']) {
      test(`is refused for a key ${key}`, async () => {
        const found = await failure(around(`{"${key}" : {"a":1}}`))
        expect(found).toMatchObject({ message: expect.stringContaining('__proto__') })
      })
    }

    test('may have __proto__ as a value and within other texts', async () => {
      const texts = '["__proto__","\\"__proto__\\":",{"a__proto__":1,"__proto__b":2}]'
      const { v } = (await read(around(texts))) as { v: unknown }
      expect(v).toEqual(['__proto__', '"__proto__":', { a__proto__: 1, __proto__b: 2 }])
    })

    test('is refused for more than 200 levels, and not for 190', async () => {
      const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
      expect(await failure(around(deep(250)))).toMatchObject({ code: 'invalid_json' })
      expect(await read(around(deep(190)))).toBeDefined()
    })
  })
}

describe('a text is refused', () => {
  const CASES: readonly (readonly [string, string, string])[] = [
    ['of brackets alone', '['.repeat(LARGE), 'invalid_json'],
    ['of quotes alone', '"'.repeat(LARGE + 1), 'invalid_json'],
    ['of backslashes in a string', `"${'\\'.repeat(LARGE)}`, 'invalid_json'],
    ['of empty objects without end', `[${'{},'.repeat(1_000_001)}1]`, 'body_too_large'],
    ['of more keys than a row can have', `{${keys(100_001)}}`, 'body_too_large'],
    ['with a number of two megabytes', `[1,${'1'.repeat(2_000_000)}]`, 'invalid_json'],
    ['with a second value behind the first', `["${'x'.repeat(LARGE)}"] 1`, 'invalid_json'],
    ['that is closed by another sign', `["${'x'.repeat(LARGE)}"}`, 'invalid_json'],
  ]
  for (const [name, json, code] of CASES) {
    test(name, async () => expect(await failure(json)).toMatchObject({ code }))
  }

  test('that is not UTF-8', async () => {
    const bytes = new Uint8Array(LARGE).fill(0x20)
    bytes.set(new TextEncoder().encode('["'), 0)
    bytes[LARGE / 2] = 0xff
    bytes.set(new TextEncoder().encode('"]'), LARGE - 2)
    const found = await parseJson(bytes, ALIVE).catch((error: unknown) => error)
    expect(found).toMatchObject({ message: expect.stringContaining('UTF-8') })
  })
})

function keys(count: number): string {
  return Array.from({ length: count }, (_, index) => `"${index}":1`).join(',')
}

test('parsing a large text yields to waiting work', async () => {
  let isOver = false
  const order: string[] = []
  const done = read(`[${'1,'.repeat(3_000_000)}1]`).then(() => {
    isOver = true
    order.push('parsed')
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  order.push('other')
  await done
  expect(order).toEqual(['other', 'parsed'])
})

test('a client that goes away ends the parsing', async () => {
  const client = new AbortController()
  const bytes = new TextEncoder().encode(`[${'1,'.repeat(3_000_000)}1]`)
  const parsing = parseJson(bytes, client.signal).catch((error: unknown) => error)
  client.abort(new Error('gone'))
  expect(await parsing).toMatchObject({ message: 'gone' })
})
