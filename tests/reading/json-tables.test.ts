import { describe, expect, test } from 'bun:test'
import { readTable } from './read-table.ts'

describe('JSON', () => {
  test('lists, lines and one object become rows, nested values stay typed', async () => {
    const list = await readTable('t.json', '[{"a":1,"b":{"c":[1,2]}},{"a":2,"x":"y"}]')
    expect(list.columns).toEqual(['a BIGINT', 'b STRUCT("c" BIGINT[])', 'x VARCHAR'])
    const lines = await readTable('t.jsonl', '{"a":1}\n{"b":"x"}\n\n{"a":2.5}\n')
    expect(lines.rows).toEqual([
      [1, null],
      [null, 'x'],
      [2.5, null],
    ])
    expect((await readTable('t.json', '{"a":1,"b":"x"}')).rows).toEqual([['1', 'x']])
  })

  test('an object around one list of objects is that list, and names the values left out', async () => {
    const found = await readTable('t.json', '{"count":2,"rows":[{"a":1},{"a":2}]}')
    expect(found.rows).toEqual([['1'], ['2']])
    expect(found.warnings).toEqual([
      'The table is the list "rows"; values next to the list are left out: "count"',
    ])
  })

  test('a list of numbers next to the list of objects does not hide it', async () => {
    const found = await readTable('t.geojson', '{"bbox":[1,2],"features":[{"a":1},{"a":2}]}', {
      format: 'json',
    })
    expect(found.rows).toEqual([['1'], ['2']])
    expect(found.warnings[0]).toContain('"features"')
  })

  test('values of several kinds are text, and strings have no quotation marks', async () => {
    const found = await readTable(
      't.json',
      `[{"a":"x","b":{"JSON":"y","n":1,"m":{"k":"z"}},"c":["\\"d\\"",1],"day":"31-12-2020"},
        {"a":12345678901234567890123,"b":{"JSON":12345678901234567890,"m":{"k":[1]}},"c":[true],"day":"30-12-2020"},
        {"a":{"o":"p"}},
        {"a":null,"b":null}]`,
    )
    expect(found.columns).toEqual([
      'a VARCHAR',
      'b STRUCT("JSON" VARCHAR, "n" BIGINT, "m" STRUCT("k" VARCHAR))',
      'c VARCHAR[]',
      'day DATE',
    ])
    expect(found.rows).toEqual([
      ['x', { JSON: 'y', n: '1', m: { k: 'z' } }, ['"d"', '1'], '2020-12-31'],
      [
        '12345678901234567890123',
        { JSON: '12345678901234567890', n: null, m: { k: '[1]' } },
        ['true'],
        '2020-12-30',
      ],
      ['{"o":"p"}', null, null, null],
      [null, null, null, null],
    ])
  })

  test('long integers stay exact', async () => {
    const whole = await readTable(
      't.jsonl',
      '{"a":1,"b":0.5}\n{"a":12345678901234567890123,"b":2}\n',
    )
    expect(whole.columns).toEqual(['a HUGEINT', 'b DOUBLE'])
    expect(whole.rows[1]).toEqual(['12345678901234567890123', 2])
    const longer = await readTable('t.jsonl', `{"a":${'9'.repeat(50)}}\n{"a":1}\n`)
    expect(longer.columns).toEqual(['a VARCHAR'])
    expect(longer.rows[0]).toEqual(['9'.repeat(50)])
    expect(longer.warnings[0]).toContain('would be rounded')
  })

  test('long numbers with a fraction are text, and a warning says that they may be rounded', async () => {
    const found = await readTable(
      't.json',
      '[{"a":9007199254740993,"b":1.5,"c":"x \\"9007199254740993.5"},{"a":9007199254740993.5,"b":2}]',
    )
    expect(found.columns).toEqual(['a VARCHAR', 'b DOUBLE', 'c VARCHAR'])
    expect(found.rows).toEqual([
      ['9007199254740993', 1.5, 'x "9007199254740993.5'],
      ['9007199254740994.0', 2, null],
    ])
    expect(found.warnings.join()).toContain('before a fraction may be rounded')
    expect(found.warnings.join()).toContain('would be rounded')
  })

  test('a list within an object keeps its long numbers', async () => {
    const found = await readTable(
      't.json',
      '{"count":2,"rows":[{"a":9007199254740993,"b":0.5},{"a":1,"b":9007199254740993}]}',
    )
    expect(found.columns).toEqual(['a BIGINT', 'b VARCHAR'])
    expect(found.rows).toEqual([
      ['9007199254740993', '0.5'],
      ['1', '9007199254740993'],
    ])
    expect(found.warnings.join()).toContain('would be rounded')
  })

  test('fields are columns, even if there are hundreds of one type, or each is rare', async () => {
    const fields = Array.from({ length: 300 }, (_, n) => [`f${n}`, n] as const)
    const wide = await readTable('t.json', JSON.stringify([Object.fromEntries(fields)]))
    expect(wide.columns).toHaveLength(300)
    expect(wide.columns[0]).toBe('f0 BIGINT')
    const events = Array.from({ length: 200 }, (_, n) =>
      JSON.stringify({ id: n, [`a${n % 20}`]: 'x', [`b${n % 20}`]: 1, [`c${n % 20}`]: { d: 2 } }),
    )
    const found = await readTable('t.jsonl', events.join('\n'))
    expect(found.columns).toHaveLength(61)
    expect(found.columns.slice(0, 4)).toEqual([
      'id BIGINT',
      'a0 VARCHAR',
      'b0 BIGINT',
      'c0 STRUCT("d" BIGINT)',
    ])
    expect(found.rows).toHaveLength(200)
    const listed = await readTable('t.json', `{"events":[${events.join()}]}`)
    expect(listed.columns).toEqual(found.columns)
  })

  test('an object of more fields of one type than a CSV file may have columns is a map', async () => {
    const fields = (count: number) => Array.from({ length: count }, (_, n) => ({ [`f${n}`]: n }))
    const wide = (count: number) => [Object.assign({}, ...fields(count))]
    for (const events of [wide(2500), fields(2500)]) {
      const found = await readTable('t.json', JSON.stringify({ events }))
      expect(found.columns).toEqual(['events MAP(VARCHAR, BIGINT)[]'])
      expect(found.warnings).toEqual([])
    }
    const found = await readTable('t.json', JSON.stringify({ events: wide(2000) }))
    expect(found.columns).toHaveLength(2000)
  })

  test('a table that takes too much memory is an error that says what to do', async () => {
    const fields = Array.from({ length: 9000 }, (_, n) => [`f${n}`, n % 2 === 0 ? n : ['x']])
    await expect(readTable('t.json', JSON.stringify([Object.fromEntries(fields)]))).rejects.toThrow(
      'it takes more than 512 MiB of memory; split it into files with fewer rows or columns',
    )
  })

  test('a byte order mark does not matter', async () => {
    for (const name of ['t.json', 't.jsonl']) {
      const found = await readTable(name, '\ufeff{"a":1,"b":2}\n{"a":3,"b":4}\n')
      expect(found.columns).toEqual(['a BIGINT', 'b BIGINT'])
      expect(found.warnings).toEqual([])
    }
  })

  test('a name that appears twice is an error without advice for users of DuckDB', async () => {
    for (const content of ['[{"a":1,"a":2}]', '[{"b":{"A":1,"a":2}}]']) {
      await expect(readTable('t.json', content)).rejects.toThrow(
        'The file could not be read: an object has two keys "a"; upper and lower case are the same',
      )
    }
  })

  test('a mistake is reported with line and column', async () => {
    const cases: [name: string, content: string, message: string][] = [
      [
        't.json',
        '[{"a":1},\n {"a":2,},\n]',
        'line 2, column 9: expected a name in double quotes, found "}"',
      ],
      ['t.json', '[{"a":1}\n {"a":2}]', 'line 2, column 2: expected "," or "]", found "{"'],
      ['t.json', '[{"a":1},{"a":', 'line 1, column 15: expected a value, found the end'],
      ['t.jsonl', '{"a":1}\n{"a":2\n{"a":3}\n', 'line 3, column 1: expected "," or "}", found "{"'],
      [
        't.jsonl',
        "{'a':1}\n",
        'line 1, column 2: expected a name in double quotes or "}", found "\'"',
      ],
    ]
    for (const [name, content, message] of cases) {
      await expect(readTable(name, content)).rejects.toThrow(message)
    }
  })
})

test('decimals of Parquet that DuckDB would read as other numbers are refused', async () => {
  // The number 1.5 as DECIMAL(45, 10).
  const base64 =
    'UEFSMRUAFTIVMiwVAhUAFQYVBhwAAAACAAAAAgEAAAAAAAAAAAAAAAAAAAN+EdYAFQQZLDUAGAZzY2hlbWEVAgAVDhUmFQIYAXYlChUUFVosXBUUFVoAAAAWAhkcGRwmABwVDhklBgAZGAF2FQAWAhZYFlgmCEkcFQAVABUCADwpBhkmAAIAAAAWWBYCJggWWAAoIHBhcnF1ZXQtY3BwLWFycm93IHZlcnNpb24gMjYuMC4xGRwcAAAAigAAAFBBUjE='
  await expect(readTable('t.parquet', Buffer.from(base64, 'base64'))).rejects.toThrow(
    'The file could not be read: its decimals have up to 45 digits, more than 38',
  )
})
