import { describe, expect, test } from 'bun:test'
import type { ReadDocument } from '../../src/core/domain/ports/reading-ports.ts'
import type { Recognized } from '../../src/core/domain/uploaded-file.ts'
import { readDocument } from '../../src/reading/processes/read-file.ts'
import { type DrawnPdf, drawnPdf, hexLine, line } from './drawn-pdf.ts'

async function read(
  drawn: DrawnPdf,
): Promise<ReadDocument & { warnings: string[]; found: Recognized[] }> {
  const warnings: string[] = []
  const found: Recognized[] = []
  const raw = { bytes: drawnPdf(drawn), format: 'pdf', charset: null, url: null } as const
  const document = await readDocument(raw, {
    recognize: (recognized) => void found.push(recognized),
    warn: (sentence) => void warnings.push(sentence),
  })
  return { ...document, warnings, found }
}

async function contentOf(...pages: string[]): Promise<string> {
  return (await read({ pages })).content
}

/** Draws lines one below the other. */
function block(lines: readonly string[], x: number, y: number, font = 'F1', size = 10): string {
  return lines.map((text, index) => line(text, x, y - index * size * 1.2, font, size)).join('')
}

test('Japanese is read by character maps that the file does not hold', async () => {
  const unicode = hexLine('65E5672C8A9E306E30C630AD30B930C8', 72, 700, 'J1')
  const shiftJis = hexLine('93FA967B8CEA82C583AF8381838283', 72, 680, 'J2').replace('83AF', '83')
  expect(await contentOf(unicode)).toBe('日本語のテキスト')
  expect(await contentOf(shiftJis.replace('83838183', '83818382'))).toStartWith('日本語で')
})

test('a page is where it begins in the text, and its facts are columns', async () => {
  const pages = [line('The first page ends here.', 72, 700), '', line('The third page.', 72, 700)]
  const info = { Title: 'A report', Author: 'Ada', CreationDate: 'D:20260131120000Z' }
  const { content, parts, title, columns, found } = await read({ pages, info })
  expect(content).toBe('The first page ends here.\n\nThe third page.')
  expect(parts).toEqual({ unit: 'page', starts: [0, 25, 27] })
  expect([title, columns]).toEqual(['A report', { author: 'Ada', created: '2026-01-31' }])
  expect(found).toEqual([{ pages: 3 }])
})

test('generated names are not titles', async () => {
  for (const name of ['untitled', 'Microsoft Word - report.docx', 'paper.dvi']) {
    expect((await read({ pages: [line('text', 72, 700)], info: { Title: name } })).title).toBeNull()
  }
})

test('two columns are read one after the other, however they are drawn', async () => {
  const left = [
    'The left column begins here and fills',
    'its lines with words of some length, so',
    'that nobody takes it for a table, as it',
    'is prose from its start to its very end.',
  ]
  const right = [
    'The right column follows it with other',
    'words that have nothing to do with what',
    'stands at their left, although they have',
    'the same height on the same printed page.',
  ]
  const across = left
    .flatMap((text, index) => [
      line(text, 72, 700 - index * 12),
      line(right[index] ?? '', 320, 700 - index * 12),
    ])
    .join('')
  const expected = `${left.join(' ')}\n\n${right.join(' ')}`
  expect(await contentOf(across)).toBe(expected)
  expect(await contentOf(block(left, 72, 700) + block(right, 320, 700))).toBe(expected)
})

test('lines become paragraphs, and hyphens at their ends go where they belong to no word', async () => {
  const lines = [
    'A well-known system reads the docu-',
    'ment as a whole. It is a well-',
    'known fact that it does so with',
    'a word that ends as in UTF-',
    '8, which keeps its sign.',
  ]
  expect(await contentOf(block(lines, 72, 700))).toBe(
    'A well-known system reads the document as a whole. It is a well-known fact that it does so with a word that ends as in UTF-8, which keeps its sign.',
  )
})

test('headings come from the outline, and from larger type', async () => {
  const body = block(
    ['This is the text of the section, which', 'has a usual size and goes on a little.'],
    72,
    650,
  )
  const pages = [
    line('Getting started', 72, 700, 'F2', 10) + body,
    line('Larger type', 72, 700, 'F1', 18) + body,
  ]
  const { content } = await read({ pages, outline: [['Getting started', 0]] })
  expect(content).toStartWith('# Getting started\n\nThis is')
  expect(content).toContain('\n\n# Larger type\n\nThis is')
})

test('headers, footers and page numbers are left out, the text around them is not', async () => {
  const pages = Array.from({ length: 4 }, (_, index) => {
    const words = ['alpha', 'beta', 'gamma', 'delta'][index]
    return (
      line('Manual of everything', 72, 760) +
      block([`Text about ${words} stands here.`, `More about ${words} follows it.`], 72, 700) +
      line(`Page ${index + 1} of 4`, 280, 40)
    )
  })
  const content = await contentOf(...pages)
  expect(content).not.toContain('Manual of')
  expect(content).not.toContain('Page ')
  expect(content).toContain('Text about delta stands here. More about delta follows it.')
})

test('a table of contents with dots is left out', async () => {
  const titles = ['Introduction', 'Installation', 'Configuration', 'Reference']
  const contents = titles.map((title, index) => `${title} ${'. '.repeat(30)}${index + 3}`)
  const content = await contentOf(
    line('Contents', 72, 720) + block(contents, 72, 700),
    line('Real text is kept.', 72, 700),
  )
  expect(content).toBe('Real text is kept.')
})

const CELLS = [
  ['Name', 'Price', 'Stock'],
  ['Apples', '1.20', '15'],
  ['Pears', '2.35', '7'],
  ['Plums', '0.80', '120'],
]
const TABLE =
  '| Name | Price | Stock |\n| --- | --- | --- |\n| Apples | 1.20 | 15 |\n| Pears | 2.35 | 7 |\n| Plums | 0.80 | 120 |'

test('cells below each other are a table', async () => {
  const drawn = CELLS.flatMap((row, y) =>
    row.map((cell, x) => line(cell, 72 + x * 120, 700 - y * 14)),
  )
  expect(await contentOf(drawn.join(''))).toBe(TABLE)
})

test('a drawn grid is a table, with lines of one cell together', async () => {
  const xs = [70, 170, 270, 370]
  const ys = [712, 698, 672, 658]
  const rules = [
    ...xs.map((x) => `${x} 658 m ${x} 712 l S\n`),
    ...ys.map((y) => `70 ${y} m 370 ${y} l S\n`),
  ]
  const texts = [
    ['Key', 72, 701],
    ['Value', 172, 701],
    ['Note', 272, 701],
    ['a', 72, 687],
    ['1', 172, 687],
    ['a note di-', 272, 687],
    ['vided in two', 272, 676],
    ['b', 72, 661],
    ['2', 172, 661],
  ] as const
  const content = await contentOf(
    rules.join('') + texts.map(([text, x, y]) => line(text, x, y)).join(''),
  )
  expect(content).toBe(
    '| Key | Value | Note |\n| --- | --- | --- |\n| a | 1 | a note divided in two |\n| b | 2 |  |',
  )
})

test('code is fenced with its indents; lists keep their entries', async () => {
  const text = block(
    ['Call it like this and look at what', 'comes out of it on your own screen:'],
    72,
    720,
  )
  const code = block(['if (ready) {', '  start()', '}'], 90, 680, 'F3')
  const list = block(['\x95 first entry', '\x95 second entry'], 72, 620)
  expect(await contentOf(text + code + list)).toBe(
    'Call it like this and look at what comes out of it on your own screen:\n\n```\nif (ready) {\n  start()\n}\n```\n\n- first entry\n- second entry',
  )
})

test('accents that are drawn before their letter belong to it', async () => {
  // As TeX draws it: the accent first, then the letter below it, which may be narrower.
  const accent = (x: number) => line('\xa8', x, 700)
  const within = line('na', 72, 700) + accent(82.57) + line('ive readers', 83.12, 700)
  expect(await contentOf(within)).toBe('naïve readers')
  expect(await contentOf(accent(71.45) + line('ile de la Cite', 72, 700))).toBe('ïle de la Cite')
  // Accents narrower than their letter, on either side of its start, and raised over a capital.
  for (const [accentX, letterX] of [
    [81.44, 80.33],
    [80.33, 81.5],
  ] as const) {
    const name = line('M', 72, 700) + accent(accentX) + line('oller is a name', letterX, 700)
    expect(await contentOf(name)).toBe('Möller is a name')
  }
  const raised = line('\xa8', 74.2, 702.2) + line('Osterreich is far', 72, 700)
  expect(await contentOf(raised)).toBe('Österreich is far')
})

test('an accent beside its letter belongs to it, an apostrophe does not', async () => {
  expect(await contentOf(line('Herr M\xa8oller, in \xa8Ostersund', 72, 700))).toBe(
    'Herr Möller, in Östersund',
  )
  expect(await contentOf(line('l\xb4eau, 5 \xa8 x', 72, 700))).toBe('l´eau, 5 ¨ x')
})

describe('the authors below a title', () => {
  const text = block(
    Array(20).fill('The text of the paper has words of some length in it.'),
    72,
    600,
  )
  const title = line('A Study of Tea', 72, 740, 'F2', 20)
  const heading = line('Steeping, Pouring and Drinking', 72, 640, 'F2', 13)
  const columns = ['Ada Lovelace', 'Charles Babbage', 'Mary Stein']

  test.each([
    ['with commas', line('Ada B. Lovelace, Charles Babbage and Mary von Stein', 72, 715, 'F1', 13)],
    ['with numbers of notes', line('Ada Lovelace1,2, Charles Babbage1', 72, 715, 'F1', 13)],
    ['with marks of notes', line('Ada Lovelace*   Charles Babbage*   Mary Stein', 72, 715, 'F2')],
    [
      'apart and bold',
      columns.map((name, at) => line(name, 72 + at * 140, 715, 'F2', 12)).join(''),
    ],
  ])('%s are not a heading', async (_, authors) => {
    const content = await contentOf(title + authors + heading + text)
    expect(content).toMatch(/^# A Study of Tea\n\nAda [^#]+\n\n#+ Steeping, Pouring and Drinking\n/)
  })

  test('are not confused with a title of several capitalised words', async () => {
    const second = line('Artificial Intelligence and Machine Learning', 72, 715, 'F1', 13)
    expect(await contentOf(title + second + heading + text)).toContain('# Artificial Intelligence')
  })
})

test('a tag in the right margin does not cut the prototype that it names', async () => {
  const intro = block(['The text before it has a line of some length, up to the margin.'], 72, 700)
  const prototype =
    line('int getopt_long (int argc, char *const *argv, const char', 72, 650, 'F2') +
    line('[Function]', 480, 650) +
    line('*shortopts, const struct option *longopts)', 110, 638, 'F2') +
    block(['Decodes the options.'], 90, 618) +
    line('int asn1_delete_element (asn1_node structure, const char *', 72, 550, 'F2') +
    line('[Function]', 480, 550) +
    line('* list, int', 110, 538, 'F1') +
    line('element_name)', 110, 526, 'F3') +
    block(['Deletes it.'], 90, 506) +
    line('size_t strlen (const char *s)', 72, 590, 'F2') +
    line('[Function]', 480, 590) +
    block(['The length of a string.'], 90, 578)
  expect(await contentOf(intro + prototype)).toEndWith(
    '\n\n[Function] int getopt_long (int argc, char *const *argv, const char *shortopts, const struct option *longopts)\n\nDecodes the options.\n\n[Function] size_t strlen (const char *s)\n\nThe length of a string.\n\n[Function] int asn1_delete_element (asn1_node structure, const char * * list, int\nelement_name)\n\nDeletes it.',
  )
})

test('raised digits are not part of the number before them', async () => {
  const drawn = 'BT /F1 10 Tf 72 700 Td (10) Tj /F1 6 Tf 4 Ts (3) Tj 0 Ts /F1 10 Tf ( units) Tj ET'
  expect(await contentOf(drawn)).toBe('10³ units')
})

test('spaced letters are one word, and what is drawn twice is there once', async () => {
  expect(await contentOf('BT /F1 12 Tf 4 Tc 72 700 Td (HEADING) Tj ET')).toEndWith('HEADING')
  expect(await contentOf(line('Bold', 72, 700) + line('Bold', 72.3, 700))).toBe('Bold')
})

test('pages that are pictures are reported', async () => {
  const picture = 'q 500 0 0 500 50 50 cm /Im1 Do Q'
  const { content, warnings } = await read({ pages: [line('Text', 72, 700), picture, picture] })
  expect(content).toBe('Text')
  expect(warnings).toEqual([
    '2 of 3 pages contain no text. Set an OCR model (EIDER_OCR_MODEL) to read them (pages 2, 3)',
  ])
  await expect(read({ pages: [picture, picture] })).rejects.toMatchObject({
    code: 'file_unreadable',
    message: '2 of 2 pages contain no text. Set an OCR model (EIDER_OCR_MODEL) to read scans',
  })
})

test('form fields have their values', async () => {
  const field =
    '<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada Lovelace) /Rect [120 695 300 712] >>'
  const { content } = await read({
    pages: [line('Name:', 72, 700)],
    pageEntries: '/Annots [100 0 R]',
    objects: [field],
  })
  expect(content).toBe('Name: Ada Lovelace')
})

test('text outside of the page is not read', async () => {
  expect(await contentOf(line('Inside', 72, 700) + line('Outside', 900, 700))).toBe('Inside')
})

test('a compound keeps its hyphen at the end of a line, a divided word does not', async () => {
  const words = block(
    ['Debian is a system that is based on packages.', 'Its com and puter parts.'],
    72,
    720,
  )
  const text = block(
    ['It is said of the small Debian-', 'based and rather old com-', 'puter.'],
    72,
    680,
  )
  expect(await contentOf(words + text)).toEndWith('small Debian-based and rather old computer.')
})

test('a Cyrillic word has no Latin letters in it', async () => {
  const map =
    '/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange 4 beginbfchar <20> <0020> <64> <0434> <69> <0069> <76> <0432> endbfchar endcmap end'
  const pages = [line('div i diid', 72, 700, 'F4')]
  expect((await read({ pages, unicodeMap: map })).content).toBe('д\u0456в \u0456 д\u0456\u0456д')
})

test('the letters of a ligature that is wider than its font size are in one word', async () => {
  const map =
    '/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange 5 beginbfchar <40> <006600660069> <61> <0061> <63> <0063> <6C> <006C> <6F> <006F> endbfchar endcmap end'
  const pages = [line('o@cal', 72, 700, 'F4')]
  expect((await read({ pages, unicodeMap: map })).content).toBe('offical')
})

test('a number that begins the second line of an indented paragraph is not a list item', async () => {
  const words = [
    'The shell has several statuses for commands that it cannot run at all.',
    'If a command is not found, the child process returns a status of',
    '127. If a command is found but is not executable, it is 126.',
  ]
  const drawn = words.map((text, at) => line(text, at === 1 ? 88 : 72, 700 - at * 12)).join('')
  expect(await contentOf(drawn)).toContain('returns a status of 127. If a command is found')
  const items = ['1. Knead the dough until it', 'no longer sticks to the bowl', '2. Let it rise']
  const list = items.map((text, at) => line(text, at === 1 ? 88 : 72, 700 - at * 12)).join('')
  expect(await contentOf(list)).toBe(
    '1. Knead the dough until it no longer sticks to the bowl\n2. Let it rise',
  )
})

test('the letters of a Korean syllable that are drawn over each other are one', async () => {
  const map =
    '/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange 3 beginbfchar <61> <1109> <62> <1161> <63> <11B7> endbfchar endcmap end'
  const drawn = 'BT /F4 10 Tf 72 700 Td [(a) 300 (b) 300 (c)] TJ ET'
  expect((await read({ pages: [drawn], unicodeMap: map })).content).toBe('삼')
})

test('a formula is not a table, and a pipe in a cell stays one', async () => {
  const matrix = [
    ['1', '3', '1'],
    ['3', '5', '3'],
    ['1', '1', '1'],
  ]
  const cells = (rows: readonly (readonly string[])[]) =>
    rows.flatMap((row, y) => row.map((cell, x) => line(cell, 72 + x * 60, 700 - y * 14))).join('')
  expect(await contentOf(cells(matrix))).not.toContain('|')
  const table = CELLS.map(([name, ...rest]) => [`${name} | x`, ...rest])
  expect(await contentOf(cells(table))).toContain('| Apples | x | 1.20 | 15 |')
})

test('without facts the largest line of the first page is the title', async () => {
  const pages = [
    line('On Reading', 72, 740, 'F1', 20) + block(['Text of some length stands here.'], 72, 700),
  ]
  expect((await read({ pages })).title).toBe('On Reading')
})

test('an index with dots at the end of a book stays', async () => {
  const words = ['apples', 'bananas', 'cherries', 'dates']
  const index = words.map((word, at) => `${word} ${'. '.repeat(30)}${at + 3}`)
  const pages = [line('Some text.', 72, 700), line('More text.', 72, 700), block(index, 72, 700)]
  expect(await contentOf(...pages)).toContain('cherries')
})

test('entries of a list of books whose other lines are indented are paragraphs', async () => {
  const entries = [
    'Ada Lovelace. Notes on the engine that was',
    'never built by anybody. London, 1843 or so on.',
  ]
  const further = [
    'Alan Turing. On computable numbers with an',
    'application to a problem. London, in 1936.',
  ]
  const drawn = [entries, further].flatMap(([first = '', second = ''], at) => [
    line(first, 72, 700 - at * 24),
    line(second, 90, 688 - at * 24),
  ])
  expect(await contentOf(drawn.join(''))).toBe(`${entries.join(' ')}\n\n${further.join(' ')}`)
})

test('the title above the text of the second page is left out', async () => {
  const pages = [
    line('Design notes', 72, 740, 'F1', 20) +
      block(['The text of one page goes', 'on in two lines.'], 72, 690),
    line('2 Design notes', 72, 760) + block(['The other page has two', 'lines as well.'], 72, 700),
  ]
  expect(await contentOf(...pages)).not.toContain('2 Design')
})
