import { describe, expect, test } from 'bun:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { readTable } from './read-table.ts'

const table = async (content: string, options = {}) => {
  const { columns, rows, warnings, recognized } = await readTable('t.csv', content, options)
  return { columns, rows, warnings, delimiter: recognized.delimiter, header: recognized.header }
}

describe('no row of a CSV file is lost', () => {
  test('ragged rows are padded, or get further columns, and are counted with their lines', async () => {
    const { columns, rows, warnings } = await table('a,b,c\n1,2\n3,4,5,6\n7,8,9\n')
    expect(columns).toEqual(['a BIGINT', 'b BIGINT', 'c BIGINT', 'column_4 BIGINT'])
    expect(rows).toEqual([
      ['1', '2', null, null],
      ['3', '4', '5', '6'],
      ['7', '8', '9', null],
    ])
    expect(warnings).toEqual([
      '1 row has fewer values than the header; the missing ones are NULL (line 2)',
      '1 row has more values than the header; they are in 1 further column, from column_4 on (line 3)',
    ])
  })

  test('lines are those of the file, also behind line breaks in values', async () => {
    const { warnings } = await table('a,b\n"x\ny",1\n2\n\n3,4\n')
    expect(warnings).toEqual([
      '1 empty line is not a row (line 5)',
      '1 row has fewer values than the header; the missing ones are NULL (line 4)',
    ])
  })

  test('titles and comments above the table are reported', async () => {
    const titled = await table('Report 2026\n\nname,price,day\na,1,2026-01-01\nb,2,2026-01-02\n')
    expect(titled.columns).toEqual(['name VARCHAR', 'price BIGINT', 'day DATE'])
    expect(titled.warnings).toEqual(['1 line above the table is not a row (1): "Report 2026"'])
    const commented = await table('# made by hand\n# twice\nname,price\na,1\nb,2\n')
    expect(commented.rows).toHaveLength(2)
    expect(commented.warnings).toEqual(['2 lines that begin with # are comments, not rows'])
    const ended = await table('# made by hand\nid,price\n1,2\n# end\n')
    expect(ended.columns).toEqual(['id BIGINT', 'price BIGINT'])
  })

  test('a quote that is never closed is an error with its line', async () => {
    await expect(table('a,b\n1,2\n"3,4\n5\n')).rejects.toThrow(
      'a quote is opened in the row that begins in line 3 and never closed',
    )
  })

  test('unless all rows are complete with quotes as ordinary characters', async () => {
    const { rows, warnings } = await table('pipe,length\n"a,1\nb,2\n')
    expect(rows).toEqual([
      ['"a', '1'],
      ['b', '2'],
    ])
    expect(warnings).toEqual([
      'A quote in the row that begins in line 2 is never closed: quotes were read as ordinary characters',
    ])
  })

  test('line ends of every kind within the first value', async () => {
    for (const within of ['\n', '\r\n', '\r']) {
      for (const end of ['\n', '\r\n', '\r', '\r\r\n']) {
        const rows = ['a,b', `"x${within}y",1`, `z,2`]
        const found = await readTable('t.csv', rows.map((one) => one + end).join(''))
        const values = found.rows.map(([text, number]) => [text, String(number).trim()])
        expect({ within, end, values }).toEqual({
          within,
          end,
          values: [
            [`x${within}y`, '1'],
            ['z', '2'],
          ],
        })
      }
    }
  })

  test('lines within quotes are not the ends of rows, as Excel for Mac writes them', async () => {
    const found = await readTable('t.csv', '"a","b"\r"1","x\ny"\r"2","z"\r')
    expect(found.columns).toEqual(['a BIGINT', 'b VARCHAR'])
    expect(found.rows).toEqual([
      ['1', 'x\ny'],
      ['2', 'z'],
    ])
  })

  test('text behind a closing quote is kept', async () => {
    const { rows, warnings } = await table('a,b\n"x"y,1\nz,2\n')
    expect(rows[0]).toEqual(['xy', '1'])
    expect(warnings[0]).toContain('text behind a closing quote')
  })
})

describe('the dialect of a CSV file is found', () => {
  const rows = [
    ['id', 'name', 'price'],
    ['1', 'Apple pie', '1.5'],
    ['2', 'Bread', '20'],
    ['3', 'Corn', '0.25'],
  ]
  for (const delimiter of [',', ';', '\t', '|', ':', '^', '~', '\x01']) {
    for (const end of ['\n', '\r\n', '\r']) {
      test(JSON.stringify([delimiter, end]), async () => {
        const found = await table(rows.map((row) => row.join(delimiter) + end).join(''))
        expect(found.delimiter).toBe(delimiter)
        expect(found.columns).toEqual(['id BIGINT', 'name VARCHAR', 'price DOUBLE'])
        expect(found.rows[0]).toEqual(['1', 'Apple pie', 1.5])
        expect(found.warnings).toEqual([])
      })
    }
  }

  test('quotes of all kinds', async () => {
    const expected = [
      ['1', 'a, b'],
      ['2', 'say "x"'],
      ['3', "it's"],
    ]
    const double = await table('id,t\n1,"a, b"\n2,"say ""x"""\n3,it\'s\n')
    expect(double.rows).toEqual(expected)
    const backslash = await table('id,t\n1,"a, b"\n2,"say \\"x\\""\n3,"it\'s"\n')
    expect(backslash.rows).toEqual(expected)
    const single = await table("id,t\n1,'a, b'\n2,'say \"x\"'\n3,'it''s'\n")
    expect(single.rows).toEqual(expected)
    const spaced = await table('id, t\n1, "a, b"\n2, "say ""x"""\n3, "it\'s"\n')
    expect(spaced.rows).toEqual(expected)
  })

  test('the line by which Excel names it', async () => {
    const found = await table('sep=;\nid;name;price\n1;"Äpfel; rot";"1.234,56"\n2;Birnen;3,5\n')
    expect(found.columns).toEqual(['id BIGINT', 'name VARCHAR', 'price DOUBLE'])
    expect(found.rows[0]).toEqual(['1', 'Äpfel; rot', 1234.56])
  })

  test('columns aligned by spaces', async () => {
    const found = await table('  id  name   size\n   1  apple   2.5\n  20  plum   10\n')
    expect(found.columns).toEqual(['id BIGINT', 'name VARCHAR', 'size DOUBLE'])
    expect(found.rows[1]).toEqual(['20', 'plum', 10])
  })

  test('one column, with commas in its sentences', async () => {
    const found = await table('text\nHello there\nWell, yes\nNo\nMaybe\n')
    expect(found.columns).toEqual(['text VARCHAR'])
    expect(found.rows).toEqual([['Hello there'], ['Well, yes'], ['No'], ['Maybe']])
  })

  test('one column, of values that contain delimiters', async () => {
    const cases = [
      ['at', ['2026-01-31 10:00:00', '2026-01-31 11:00:00'], 'TIMESTAMP'],
      ['at', ['2026-01-31T10:00:00+02:00', '2026-01-31T10:00:00Z'], 'TIMESTAMP WITH TIME ZONE'],
      ['at', ['09:05', '23:59:30'], 'TIME'],
      ['price', ['5,00', '1.234,50'], 'DOUBLE'],
      ['Measurements 2026', ['1,5', '2,75'], 'DOUBLE'],
      ['price', ['1 234,50', '7,25'], 'DOUBLE'],
      ['Time (hh:mm)', ['09:05', '23:59'], 'TIME'],
      ['Timestamp (UTC)', ['2026-01-31 10:00:00', '2026-01-31 11:00:00'], 'TIMESTAMP'],
      ['Room #', ['1,5', '2,75'], 'DOUBLE'],
      ['page', ['http://a.test/b', 'https://a.test:80/c'], 'VARCHAR'],
      ['card', ['00:11:22:33:44:55', 'aa:bb:cc:dd:ee:ff'], 'VARCHAR'],
    ] as const
    for (const [name, values, type] of cases) {
      const found = await table(`${name}\n${values.join('\n')}\n`)
      expect(found.columns).toEqual([`${name} ${type}`])
      expect(found.rows).toHaveLength(2)
    }
  })

  test('two columns, whose rows also look like one value', async () => {
    const cases = [
      ['x y\n1 200\n2 300\n10 400\n', ['x BIGINT', 'y BIGINT']],
      ['1 200\n2 300\n10 400\n', ['column_1 BIGINT', 'column_2 BIGINT']],
      ['id:qty\n1:10\n2:20\n3:30\n', ['id BIGINT', 'qty BIGINT']],
      ['1:10\n2:20\n3:30\n', ['column_1 BIGINT', 'column_2 BIGINT']],
      ['date time\n2026-01-31 10:00:00\n2026-02-01 11:00:00\n', ['date DATE', 'time TIME']],
    ] as const
    for (const [content, columns] of cases) {
      expect((await table(content)).columns).toEqual([...columns])
    }
  })

  test('or is the one that the client states', async () => {
    const found = await table('a,b;c\n1,2;3\n', { delimiter: ';', header: false, allText: true })
    expect(found.columns).toEqual(['column_1 VARCHAR', 'column_2 VARCHAR'])
    expect(found.rows).toEqual([
      ['a,b', 'c'],
      ['1,2', '3'],
    ])
  })
})

describe('the header of a CSV file', () => {
  test('is not there where the first row is like all others', async () => {
    const found = await table('1,2.5,x\n2,3.5,y\n')
    expect(found.header).toBe(false)
    expect(found.columns).toEqual(['column_1 BIGINT', 'column_2 DOUBLE', 'column_3 VARCHAR'])
    expect(found.rows).toHaveLength(2)
  })

  test('may hold years, equal names and none', async () => {
    const years = await table('country,2019,2020\nA,1,2\nB,3,4\n')
    expect(years.columns).toEqual(['country VARCHAR', '2019 BIGINT', '2020 BIGINT'])
    const same = await table('a,A,,x y\n1,2,3,4\n')
    expect(same.columns).toEqual(['a BIGINT', 'A_1 BIGINT', 'column_3 BIGINT', 'x y BIGINT'])
  })

  test('has one name less in what R writes', async () => {
    const found = await table('"mpg" "cyl"\n"Mazda" 21.5 6\n"Fiat" 30 4\n')
    expect(found.columns).toEqual(['column_1 VARCHAR', 'mpg DOUBLE', 'cyl BIGINT'])
  })

  test('may be the only row', async () => {
    const found = await table('a,b\n')
    expect(found.columns).toEqual(['a VARCHAR', 'b VARCHAR'])
    expect(found.rows).toEqual([])
    expect(found.warnings).toEqual(['The table has no rows'])
  })
})

describe('the type of a column', () => {
  const cases: [values: string[], type: string, first: unknown][] = [
    [['true', 'FALSE'], 'BOOLEAN', true],
    [['yes', 'no'], 'VARCHAR', 'yes'],
    [['5', '-3'], 'BIGINT', '5'],
    [['9223372036854775807', '1'], 'BIGINT', '9223372036854775807'],
    [['12345678901234567890123', '5'], 'HUGEINT', '12345678901234567890123'],
    [
      ['1234567890123456789012345678901234567890123', '5'],
      'VARCHAR',
      '1234567890123456789012345678901234567890123',
    ],
    [['12345678901234567', '0.5'], 'VARCHAR', '12345678901234567'],
    [['00123', '04567'], 'VARCHAR', '00123'],
    [['+4912345', '+4954321'], 'VARCHAR', '+4912345'],
    [['1.5', '2', '1e3'], 'DOUBLE', 1.5],
    [['1,5', '1.234,56'], 'DOUBLE', 1.5],
    [['1,234.5', '1,000'], 'DOUBLE', 1234.5],
    [['1,234', '5,678'], 'VARCHAR', '1,234'],
    [['1 234,5', '7,25'], 'DOUBLE', 1234.5],
    [['12%', '5%'], 'VARCHAR', '12%'],
    [['€ 5', '€ 6'], 'VARCHAR', '€ 5'],
    [['2026-01-31', '2026-02-01'], 'DATE', '2026-01-31'],
    [['31.1.2026', '1.2.2026'], 'DATE', '2026-01-31'],
    [['1/31/2026', '2/1/2026'], 'DATE', '2026-01-31'],
    [['31/1/2026', '1/2/2026'], 'DATE', '2026-01-31'],
    [['1/2/2026', '3/4/2026'], 'VARCHAR', '1/2/2026'],
    [['31-Jan-2026', '1-Feb-2026'], 'DATE', '2026-01-31'],
    [['2026-01-31', '17'], 'VARCHAR', '2026-01-31'],
    [['2026-01-31 10:00:00', '2026-02-01'], 'TIMESTAMP', '2026-01-31 10:00:00'],
    [['2026-01-31T10:00:00.5', '2026-02-01T00:00:00'], 'TIMESTAMP', '2026-01-31 10:00:00.5'],
    [
      ['2026-01-31T10:00:00+02:00', '2026-02-01T00:00:00Z'],
      'TIMESTAMP WITH TIME ZONE',
      '2026-01-31 08:00:00+00',
    ],
    [['31.1.2026 8:05', '1.2.2026 18:30'], 'TIMESTAMP', '2026-01-31 08:05:00'],
    [['1/31/2026 8:05 PM', '2/1/2026 6:30 AM'], 'TIMESTAMP', '2026-01-31 20:05:00'],
    [['9:05', '23:59:30'], 'TIME', '09:05:00'],
    [['99:05', '23:59'], 'VARCHAR', '99:05'],
  ]
  for (const [values, type, first] of cases) {
    test(`${values.join(' | ')} is ${type}`, async () => {
      const found = await table(
        `id\tv\n${values.map((value, index) => `${index}\t${value}\n`).join('')}`,
      )
      expect(found.columns[1]).toBe(`v ${type}`)
      expect(found.rows[0]?.[1]).toEqual(first)
    })
  }

  test('is found from all rows; one value of another kind makes only its column text', async () => {
    const rows = Array.from({ length: 3000 }, (_, index) => `${index},${index}`)
    const found = await table(`a,b\n${rows.join('\n')}\n3000,late\n`)
    expect(found.columns).toEqual(['a BIGINT', 'b VARCHAR'])
    expect(found.rows).toHaveLength(3001)
    expect(found.warnings).toEqual([
      'Column "b" is text: 1 of 3001 values cannot be read as the others, such as "late"',
    ])
  })

  test('markers such as NA are NULL among numbers, and text among texts', async () => {
    const found = await table('n,t\n1,NA\nNA,x\n3,\n')
    expect(found.rows).toEqual([
      ['1', 'NA'],
      [null, 'x'],
      ['3', null],
    ])
    expect(found.warnings).toEqual(['Column "n": 1 value such as "NA" is NULL'])
  })

  test('an ambiguous one follows the other columns of its file', async () => {
    const found = await table(
      'a;b;c;d\n1,5;1,234;1/2/2026;12/31/2026\n2,5;5,678;3/4/2026;1/1/2026\n',
    )
    expect(found.rows[0]).toEqual([1.5, 1.234, '2026-01-02', '2026-12-31'])
  })
})

describe('what is compressed', () => {
  const content = 'a,b\n1,x\n2,y\n'
  test('by gzip and zstd is unpacked, under any name', async () => {
    const gzip = await readTable('t.csv.gz', gzipSync(content))
    expect(gzip.recognized).toMatchObject({ compression: 'gzip' })
    expect(gzip.rows).toHaveLength(2)
    const zstd = await readTable('t.csv', zstdCompressSync(content))
    expect(zstd.recognized).toMatchObject({ compression: 'zstd' })
    expect(zstd.rows).toHaveLength(2)
  })

  test('and damaged is an error', async () => {
    await expect(readTable('t.csv.gz', gzipSync(content).subarray(0, 20))).rejects.toThrow(
      'its gzip compression is damaged',
    )
  })
})

test('a table of a thousand columns is read, with markers of nothing in all of them', async () => {
  const numbers = Array.from({ length: 1000 }, (_, index) => index)
  const row = (shift: number) => numbers.map((n) => ((n + shift) % 3 === 0 ? 'NA' : n)).join(',')
  const { columns, rows } = await table(
    `${numbers.map((n) => `k${n}`)}\n${row(0)}\n${row(1)}\n${row(2)}\n`,
  )
  expect(columns[999]).toBe('k999 BIGINT')
  expect(rows.map((values) => values[999])).toEqual([null, '999', '999'])
})

describe('wide tables', () => {
  const row = (width: number, value: (index: number) => string) =>
    Array.from({ length: width }, (_, index) => value(index)).join(',')
  const header = (width: number) => row(width, (index) => `h${index}`)

  test('have the types that their columns would have in a narrow one', async () => {
    const values = ['1', '2.5', '2026-01-02', 'words', 'true', '-']
    const types = ['BIGINT', 'DOUBLE', 'DATE', 'VARCHAR', 'BOOLEAN', 'VARCHAR']
    const rows = `${row(120, (index) => values[index % 6] ?? '')}\n`.repeat(12)
    const stray = row(120, (index) => (index === 60 ? 'x' : (values[index % 6] ?? '')))
    const found = await table(`${header(120)}\n${rows}${stray}\n`)
    const typeOf = (index: number) => (index === 60 ? 'VARCHAR' : types[index % 6])
    expect(found.columns).toEqual(
      Array.from({ length: 120 }, (_, index) => `h${index} ${typeOf(index)}`),
    )
    expect(found.rows).toHaveLength(13)
    expect(found.warnings).toEqual([
      'Column "h60" is text: 1 of its first 13 values is no number, such as "x" in line 14',
    ])
  })

  test('of 2000 columns are read, of more refused', async () => {
    const rows = (width: number) => `${header(width)}\n${row(width, () => '1')}\n`
    expect((await table(rows(2000))).columns).toHaveLength(2000)
    const refused = await table(rows(2001)).catch((error: Error) => error.message)
    expect(refused).toBe(
      'The file could not be read: the row that begins in line 1 has 2001 values; a table has at most 2000 columns',
    )
  })

  test('of hundreds of text columns are read', async () => {
    const rows = `${row(700, (index) => `an answer of ${index} words`)}\n`.repeat(2500)
    const found = await table(`${header(700)}\n${rows}`)
    expect([found.columns.length, found.rows.length]).toEqual([700, 2500])
  })

  test('are not measured by the words in their values', async () => {
    const line = row(1000, () => `${'word '.repeat(40)}end`)
    const found = await table(`${header(1000)}\n${line}\n${line}\n`)
    expect(found.columns).toHaveLength(1000)
  })
})
