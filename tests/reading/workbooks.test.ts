import { describe, expect, test } from 'bun:test'
import { strToU8, unzipSync, zipSync } from 'fflate'
import { readBytes } from './read-table.ts'

const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

/**
 * Formats of the styles 0 to 5: none, date, date and time, time, percentage, hours beyond a day.
 */
const STYLES = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy\\ hh:mm"/></numFmts>
  <cellXfs>${[0, 14, 164, 20, 9, 46].map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs></styleSheet>`

interface Sheet {
  readonly name: string
  readonly rows: string
  readonly merged?: readonly string[]
  readonly state?: string
}

function xlsx(
  sheets: readonly Sheet[],
  strings: readonly string[] = [],
  workbookPr = '',
): Uint8Array {
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`
  const parts: Record<string, string> = {
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': `<Relationships>${relation('r', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook>${workbookPr}<sheets>${sheets
      .map(
        (one, index) =>
          `<sheet name="${one.name}" r:id="s${index}" state="${one.state ?? 'visible'}"/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${sheets
      .map((_, index) => relation(`s${index}`, 'worksheet', `worksheets/${index}.xml`))
      .join(
        '',
      )}${relation('st', 'styles', 'styles.xml')}${relation('ss', 'sharedStrings', '/xl/strings.xml')}</Relationships>`,
    'xl/styles.xml': STYLES,
    'xl/strings.xml': `<sst>${strings.map((text) => `<si>${text}</si>`).join('')}</sst>`,
  }
  for (const [index, { rows, merged = [] }] of sheets.entries()) {
    const cells = merged.map((ref) => `<mergeCell ref="${ref}"/>`).join('')
    parts[`xl/worksheets/${index}.xml`] =
      `<worksheet><sheetData>${rows}</sheetData><mergeCells>${cells}</mergeCells></worksheet>`
  }
  return zipSync(
    Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])),
  )
}

const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`
const number = (value: string | number, style = 0) => `<c s="${style}"><v>${value}</v></c>`
const row = (...cells: readonly string[]) => `<row>${cells.join('')}</row>`

describe('XLSX', () => {
  test('each sheet is a table, its cells typed', async () => {
    const header = row(
      ...['i', 'f', 'day', 'at', 't', 'share', 'long', 'ok', 's', 'calc'].map(text),
    )
    const values = (n: number) =>
      row(
        number(n),
        number(n + 0.5),
        number(45_000 + n, 1),
        number(45_000.5, 2),
        number(0.25, 3),
        number(0.1 * n, 4),
        number(1.5, 5),
        `<c t="b"><v>${n % 2}</v></c>`,
        `<c t="s"><v>${n - 1}</v></c>`,
        '<c t="str"><f>A1&amp;"x"</f><v>1x</v></c>',
      )
    const strings = [
      '<t>00123</t>',
      '<r><t>two </t></r><r><t>runs</t></r><rPh><t>reading</t></rPh>',
    ]
    const file = await readBytes(
      'a.xlsx',
      xlsx(
        [
          { name: 'Data', rows: header + values(1) + values(2) },
          { name: 'Nothing', rows: '' },
        ],
        strings,
      ),
    )
    expect(file.recognized.sheets).toEqual(['Data', 'Nothing'])
    expect(file.warnings).toEqual(['Empty: sheet "Nothing"'])
    const [table] = file.tables
    expect(table?.name).toBe('Data')
    expect(table?.columns).toEqual([
      'i BIGINT',
      'f DOUBLE',
      'day DATE',
      'at TIMESTAMP',
      't TIME',
      'share DOUBLE',
      'long VARCHAR',
      'ok BOOLEAN',
      's VARCHAR',
      'calc VARCHAR',
    ])
    const first = ['1', 1.5, '2023-03-16', '2023-03-15 12:00:00', '06:00:00', 0.1, '36:00:00', true]
    expect(table?.rows[0]).toEqual([...first, '00123', '1x'])
    expect(table?.rows[1]?.[8]).toBe('two runs')
  })

  test('a header of several rows, a title above it, empty rows and errors', async () => {
    const rows = [
      '<row r="1"><c r="B1" t="inlineStr"><is><t>Sales 2026</t></is></c></row>',
      `<row r="3"><c r="B3" t="inlineStr"><is><t>Region</t></is></c><c r="C3"><v>2025</v></c><c r="E3"><v>2026</v></c></row>`,
      `<row r="4"><c r="C4" t="inlineStr"><is><t>Q1</t></is></c><c r="D4" t="inlineStr"><is><t>Q2</t></is></c><c r="E4" t="inlineStr"><is><t>Q1</t></is></c></row>`,
      `<row r="5"><c r="B5" t="inlineStr"><is><t>North</t></is></c><c r="C5"><v>1</v></c><c r="D5"><v>2</v></c><c r="E5"><v>3</v></c></row>`,
      `<row r="7"><c r="B7" t="inlineStr"><is><t>South</t></is></c><c r="C7"><v>4</v></c><c r="D7" t="e"><v>#N/A</v></c><c r="E7"><v>6</v></c></row>`,
    ]
    const merged = ['B1:E1', 'B3:B4', 'C3:D3']
    const { tables, warnings } = await readBytes(
      'a.xlsx',
      xlsx([{ name: 'S', rows: rows.join(''), merged }]),
    )
    expect(tables[0]?.columns).toEqual([
      'Region VARCHAR',
      '2025 / Q1 BIGINT',
      '2025 / Q2 BIGINT',
      '2026 / Q1 BIGINT',
    ])
    expect(tables[0]?.rows).toEqual([
      ['North', '1', '2', '3'],
      ['South', '4', null, '6'],
    ])
    expect(warnings).toContain('Sheet "S": 1 row above the table is not part of it: "Sales 2026"')
    expect(warnings).toContain('Sheet "S": 1 cell with an error such as #N/A is NULL')
  })

  test('dates from 1904, hidden sheets, and the one that is wanted', async () => {
    const rows = row(text('day')) + row(number(44_000, 1))
    const bytes = xlsx(
      [
        { name: 'A', rows: row(text('a')) + row(number(1)) },
        { name: 'B', rows, state: 'hidden' },
      ],
      [],
      '<workbookPr date1904="1"/>',
    )
    const all = await readBytes('a.xlsx', bytes)
    expect(all.tables.map(({ name }) => name)).toEqual(['A', 'B'])
    expect(all.tables[1]?.rows).toEqual([['2024-06-19']])
    expect(all.warnings).toEqual(['Sheet "B" is hidden in the workbook'])
    for (const sheet of ['b', '2']) {
      const one = await readBytes('a.xlsx', bytes, { sheet })
      expect(one.tables.map(({ name }) => name)).toEqual(['B'])
    }
    await expect(readBytes('a.xlsx', bytes, { sheet: 'C' })).rejects.toThrow(
      'The workbook has no sheet "C"; it has "A", "B"',
    )
  })

  test('what programs add about a workbook changes nothing in it', async () => {
    const properties =
      '<workbookPr date1904="1"/><extLst><ext><x15:workbookPr chartTrackingRefBase="1"/></ext></extLst>'
    const file = await readBytes(
      'a.xlsx',
      xlsx([{ name: 'S', rows: row(text('day')) + row(number(43_000, 1)) }], [], properties),
    )
    expect(file.tables[0]?.rows).toEqual([['2021-09-23']])
  })

  test('a formula without a stored value causes a warning', async () => {
    const rows = [
      row(text('a'), text('sum')),
      row(number(1), '<c><f>A2*2</f></c>'),
      row(number(2), '<c><f>A3*2</f><v/></c>'),
      row(number(3), '<c t="str"><f>""</f><v></v></c>'),
      row(number(4), '<c><f>A5*2</f><v>8</v></c>'),
    ].join('')
    const file = await readBytes('a.xlsx', xlsx([{ name: 'S', rows }]))
    expect(file.tables[0]?.rows.map((one) => one[1])).toEqual([null, null, null, '8'])
    expect(file.warnings).toEqual([
      'Sheet "S": 2 formulas are NULL: the workbook does not contain their results; open it in a spreadsheet program, save it and send it again',
    ])
  })

  test('a sheet with an endless name is refused by its reason', async () => {
    const bytes = xlsx([{ name: 'a'.repeat(30_000), rows: row(number(1)) }])
    await expect(readBytes('a.xlsx', bytes)).rejects.toThrow(
      /^The name of the sheet "a+…" has more than 255 characters; give it a shorter one$/,
    )
  })

  test('the last cell of a sheet is a column like others', async () => {
    const far = '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>far</t></is></c></row>'
    const rows = row(text('a'), text('b')) + row(number(1), number(2)) + far
    const file = await readBytes('a.xlsx', xlsx([{ name: 'S', rows }]))
    expect(file.tables[0]?.columns).toEqual(['a BIGINT', 'b BIGINT', 'column_3 VARCHAR'])
    expect(file.tables[0]?.rows).toEqual([
      ['1', '2', null],
      [null, null, 'far'],
    ])
    expect(file.warnings).toEqual(['Sheet "S": 1048573 empty rows are left out'])
  })

  test('parts are found however a program writes their names', async () => {
    const rows = row(text('a')) + row('<c t="s"><v>0</v></c>')
    const parts = unzipSync(xlsx([{ name: 'S', rows }], ['<t>x</t>']))
    const renamed = Object.entries(parts).map(([name, bytes]) => [
      name.replace('xl/strings', 'xl\\Strings').replace('worksheets/0', 'WorkSheets/0'),
      bytes,
    ])
    const file = await readBytes('a.xlsx', zipSync(Object.fromEntries(renamed)))
    expect(file.tables[0]?.rows).toEqual([['x']])
  })

  test('rows beyond the first hundred keep their order and their types', async () => {
    const rows = Array.from({ length: 300 }, (_, n) =>
      row(number(n), n === 299 ? number('0.5') : number(n)),
    )
    const { tables } = await readBytes(
      'a.xlsx',
      xlsx([{ name: 'S', rows: row(text('a'), text('b')) + rows.join('') }]),
    )
    expect(tables[0]?.columns).toEqual(['a BIGINT', 'b DOUBLE'])
    expect(tables[0]?.rows.map(([first]) => Number(first))).toEqual(rows.map((_, n) => n))
  })

  test('what is damaged is an error that says so', async () => {
    const whole = xlsx([{ name: 'S', rows: row(text('a')) + row(number(1)) }])
    const broken = new Uint8Array(whole)
    // This is within the compressed data of the last part.
    broken.fill(0xff, whole.length - 900, whole.length - 800)
    const stored = zipSync(unzipSync(whole), { level: 0 })
    // This changes a value but leaves valid XML.
    stored[Buffer.from(stored).indexOf('<v>1</v>') + 3] = '2'.charCodeAt(0)
    for (const bytes of [whole.subarray(0, whole.length - 10), broken, stored]) {
      await expect(readBytes('a.xlsx', bytes)).rejects.toMatchObject({ code: 'file_unreadable' })
    }
  })
})

describe('ODS', () => {
  test('values are typed, repeated as often as the sheet has them, and formats end nowhere', async () => {
    const cell = (type: string, value: string, shown = '', more = '') =>
      `<table:table-cell office:value-type="${type}" ${value} ${more}><text:p>${shown}</text:p></table:table-cell>`
    const head = ['n', 'd', 'at', 't', 'ok', 's'].map((name) => cell('string', '', name)).join('')
    const body = [
      cell('float', 'office:value="1.5"', '1,50'),
      cell('date', 'office:date-value="2026-01-31"'),
      cell('date', 'office:date-value="2026-01-31T10:00:00"'),
      cell('time', 'office:time-value="PT09H05M00S"'),
      cell('boolean', 'office:boolean-value="true"'),
      cell('string', '', 'a<text:s text:c="2"/>b</text:p><text:p>c'),
    ].join('')
    const content = `<office:document-content><office:body><office:spreadsheet><table:table table:name="One">
      <table:table-row>${head}</table:table-row>
      <table:table-row table:number-rows-repeated="2">${body}<table:table-cell table:number-columns-repeated="16000"/></table:table-row>
      <table:table-row table:number-rows-repeated="1048573"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>
      </table:table></office:spreadsheet></office:body></office:document-content>`
    const mimetype = strToU8('application/vnd.oasis.opendocument.spreadsheet')
    const bytes = zipSync({ mimetype, 'content.xml': strToU8(content) })
    const { format, tables } = await readBytes('a.ods', bytes)
    expect(format).toBe('ods')
    const types = ['n DOUBLE', 'd DATE', 'at TIMESTAMP', 't TIME', 'ok BOOLEAN', 's VARCHAR']
    expect(tables[0]?.columns).toEqual(types)
    const values = [1.5, '2026-01-31', '2026-01-31 10:00:00', '09:05:00', true, 'a  b\nc']
    expect(tables[0]?.rows).toEqual([values, values])
  })

  const ods = (rows: string, manifest = '') => {
    const content = `<office:document-content><office:body><office:spreadsheet><table:table table:name="One">${rows}</table:table></office:spreadsheet></office:body></office:document-content>`
    const mimetype = strToU8('application/vnd.oasis.opendocument.spreadsheet')
    const parts = { 'content.xml': strToU8(content), 'META-INF/manifest.xml': strToU8(manifest) }
    return zipSync({ mimetype, ...parts })
  }

  test('errors are counted, and the layout of the XML is not text', async () => {
    const cells = (...shown: string[]) =>
      `<table:table-row>${shown
        .map(
          (one) => `<table:table-cell office:value-type="string">${one}
          </table:table-cell>`,
        )
        .join('')}</table:table-row>`
    const bad = `<table:table-row><table:table-cell office:value-type="string" office:string-value="" calcext:value-type="error"><text:p>Err:502</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="2"/></table:table-row>`
    const long = `<text:p>one</text:p>
            <text:p>two</text:p>`
    const head = cells('<text:p>a</text:p>', '<text:p>b</text:p>')
    const { tables, warnings } = await readBytes('a.ods', ods(head + cells(long, '') + bad))
    expect(tables[0]?.rows).toEqual([
      ['one\ntwo', null],
      [null, '2'],
    ])
    expect(warnings).toEqual(['Sheet "One": 1 cell with an error such as #N/A is NULL'])
  })

  test('a password is an error that says so', async () => {
    const manifest = '<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>'
    expect(readBytes('a.ods', ods('', manifest))).rejects.toThrow('locked by a password')
  })
})

test('a workbook with a line end behind it, and with a part that is cut short', async () => {
  const whole = xlsx([{ name: 'S', rows: row(text('a')) + row(number(1)) }])
  const longer = Buffer.concat([whole, Buffer.from('\n')])
  const { tables } = await readBytes('a.xlsx', longer)
  expect(tables[0]?.rows).toHaveLength(1)
  expect(tables).toEqual((await readBytes('a.xlsx', whole)).tables)
  const shorter = Buffer.concat([whole.subarray(0, 40), whole.subarray(60)])
  await expect(readBytes('a.xlsx', shorter)).rejects.toMatchObject({ code: 'file_unreadable' })
})
