/**
 * Files made to harm their reader, such as decompression bombs, endless loops and false sizes. Each
 * is created when it is needed.
 */
import { gzipSync } from 'node:zlib'
import {
  BILLION_LAUGHS,
  docx,
  epub,
  joined,
  OUTSIDE_ENTITY,
  openDocument,
  pptx,
  worksheet,
  xlsx,
  type ZipEntry,
  zip,
} from './hostile-archives.ts'
import { type Corpus, filled, latin1, MB, many, noise, utf16 } from './hostile-bytes.ts'
import { MAILS, PAGES, PDFS } from './hostile-documents.ts'

const JSONS: Corpus = {
  'lists-20000.json': () => '['.repeat(20_000),
  'lists-3000.json': () => '['.repeat(3000),
  'lists-100000-closed.json': () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  'objects-5000.json': () => '{"a":'.repeat(5000),
  'objects-5000-closed.json': () => `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
  'lists-250-closed.json': () => `${'['.repeat(250)}${']'.repeat(250)}`,
  'lists-190-closed.json': () => `[{"a":${'['.repeat(190)}${']'.repeat(190)}}]`,
  'lists-20000-in-utf16.json': () => utf16('['.repeat(20_000)),
  'lists-20000.jsonl': () => `{"a":1}\n${'['.repeat(20_000)}`,
  'lists-20000-behind-an-open-string.jsonl': () => `{"a":"x\n${'[{"a":'.repeat(20_000)}`,
  'lists-20000-after-a-megabyte.json': () =>
    `[${many(50_000, (n) => `{"a":${n}}`, ',')},${'['.repeat(20_000)}`,
  'lists-20000.json.gz': () => gzipSync('['.repeat(20_000)),
  'lists-20000.csv': () => '['.repeat(20_000),
  'lists-20000.txt': () => '['.repeat(20_000),
  'lists-20000.md': () => '['.repeat(20_000),
  'lists-20000.ipynb': () => `{"nbformat":4,"cells":${'['.repeat(20_000)}`,
  'keys-20000.json': () => `[{${many(20_000, (n) => `"k${n}":${n}`, ',')}}]`,
  'another-key-in-each-of-50000.json': () => `[${many(50_000, (n) => `{"k${n}":1}`, ',')}]`,
  'key-of-a-megabyte.json': () => `[{"${'k'.repeat(MB)}":1}]`,
  'number-of-a-megabyte.json': () => `[{"a":${'9'.repeat(MB)}}]`,
  'text-of-30-megabytes.json': () => `[{"a":"${'x'.repeat(30 * MB)}"}]`,
  'spaces.json': () => `[${' '.repeat(8 * MB)}{"a":1}]`,
  'half.json': () => '[{"a":1},{"a":',
  'surrogates.json': () => '[{"a":"\\ud800","b":"\\udc00\\u0000"}]',
  'other-types-in-each.json': () => '[{"a":1},{"a":[1]},{"a":{"b":2}},{"a":"x"},{"a":null},5,[6]]',
}

const QUOTE_THEN_WIDE = `a,b\n1,"${many(20_000, (n) => `x${n}`, ',')}\n${many(20_000, (n) => `y${n}`, ',')}`

const TABLES: Corpus = {
  'columns-20000.csv': () => `${many(20_000, (n) => `c${n}`, ',')}\n${'1,'.repeat(19_999)}1\n`,
  'columns-100000.csv': () => `${many(100_000, (n) => `c${n}`, ',')}\n`,
  'columns-9999.csv': () =>
    `${many(9999, (n) => `c${n}`, ',')}\n${many(50, () => `${'1,'.repeat(9998)}1\n`)}`,
  'columns-20000.tsv': () => `${many(20_000, (n) => `c${n}`, '\t')}\n`,
  'one-line-of-100-megabytes.csv': () => filled(100 * MB, 0x61),
  'one-line-of-commas.csv': () => filled(20 * MB, 0x2c),
  'one-line-of-quotes.csv': () => filled(20 * MB, 0x22),
  'wide-line-behind-an-open-quote.csv': () => QUOTE_THEN_WIDE,
  'wide-line-behind-two-quotes.csv': () => `"a""${QUOTE_THEN_WIDE}`,
  'wide-quoted-lines.csv': () => many(200, () => `${'"x",'.repeat(5000)}"y\n`),
  'open-quote-of-30-megabytes.csv': () => `a,b\n1,"${'x\n'.repeat(15 * MB)}`,
  'quotes-in-turn.csv': () => `a,b\n${'"x"y"z",1\n'.repeat(200_000)}`,
  'empty-lines.csv': () => filled(10 * MB, 0x0a),
  'carriage-returns.csv': () => filled(10 * MB, 0x0d),
  'zeros-after-a-header.csv': () => joined([latin1('a,b\n'), filled(5 * MB, 0)]),
  'ragged.csv': () => many(100_000, (n) => `${'1,'.repeat(n % 20)}1\n`),
  'delimiters-of-all-kinds.csv': () => 'a,b;c\td|e\n1;2,3|4\t5\n'.repeat(100_000),
  'header-of-a-megabyte.csv': () => `${'h'.repeat(MB)},b\n1,2\n`,
  'names-that-are-all-one.csv': () => `${'a,'.repeat(5000)}a\n${'1,'.repeat(5000)}1\n`,
  'numbers-of-ten-thousand-digits.csv': () => `a\n${`${'9'.repeat(10_000)}\n`.repeat(500)}`,
  'dates-that-are-none.csv': () => 'd\n2024-02-30\n99999-99-99\n294247-01-10 04:00:54.775807\n',
  'half-of-utf16.csv': () => utf16('a,b\n1,2\n'.repeat(1000)).subarray(0, 15_001),
  'bytes-that-are-no-text.csv': () => noise(MB, 7),
  'a-mark-and-nothing-else.csv': () => '\ufeff',
  'a-quote-and-nothing-else.csv': () => '"',
}

function parquetLike(size: number, metadataBytes: number): Uint8Array {
  const length = new Uint8Array(new Uint32Array([metadataBytes]).buffer)
  return joined([latin1('PAR1'), noise(size, 3), length, latin1('PAR1')])
}

const PACKED: Corpus = {
  'gigabyte.csv.gz': () => gzipSync(filled(400 * MB, 0x61), { level: 9 }),
  'rows-without-end.csv.gz': () => gzipSync('1,2\n'.repeat(50 * MB), { level: 9 }),
  'gz-in-gz-in-gz.csv.gz': () => gzipSync(gzipSync(gzipSync(filled(100 * MB, 0x61)))),
  'half.csv.gz': () => gzipSync('a,b\n1,2\n'.repeat(10_000)).subarray(0, 60),
  'wrong-sum.csv.gz': () => {
    const bytes = new Uint8Array(gzipSync('a,b\n1,2\n'.repeat(1000)))
    return bytes.map((byte, index) => (index > bytes.length - 8 ? byte ^ 0xff : byte))
  },
  'said-to-be-gz.csv.gz': () => joined([Uint8Array.of(0x1f, 0x8b, 8), noise(5000, 5)]),
  'said-to-be-zst.csv.zst': () => joined([Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd), noise(5000, 9)]),
  'gigabyte.csv.zst': () => Bun.zstdCompressSync(filled(400 * MB, 0x61)),
  'garbage.parquet': () => noise(10_000, 11),
  'garbage-between-marks.parquet': () => parquetLike(10_000, 500),
  'metadata-longer-than-the-file.parquet': () => parquetLike(1000, 0x7fffffff),
  'metadata-of-nothing.parquet': () => parquetLike(1000, 0),
  'gigabyte.zip': () => zip([{ name: 'a.csv', data: filled(400 * MB, 0x61) }]),
  'gigabyte-said-to-be-small.zip': () =>
    zip([{ name: 'a.csv', data: filled(200 * MB, 0x61), declaredBytes: 10 }]),
  'small-said-to-be-huge.zip': () =>
    zip([{ name: 'a.csv', data: 'a\n', declaredBytes: 0xfffffff0 }]),
  'thousand-names-for-one-bomb.zip': () =>
    zip([{ name: 'a.txt', data: filled(50 * MB, 0x61) }], { overlaps: 1000 }),
  'entries-60000.zip': () => zip(Array.from({ length: 60_000 }, (_, n) => empty(`${n}.txt`))),
  'climbing-names.zip': () =>
    zip(['../../x.csv', '/etc/x.csv', '..\\x.csv', 'C:\\x.csv', 'a\0.csv'].map(empty)),
  'links.zip': () => zip([{ name: 'a.csv', data: '/etc/passwd', mode: 0o120777 }]),
  'locked.zip': () => zip([{ name: 'a.csv', data: 'a\n1\n', isEncrypted: true }]),
  'without-an-end.zip': () => zip([{ name: 'a.csv', data: 'a\n1\n' }], { hasNoEnd: true }),
  'directory-somewhere-else.zip': () =>
    zip([{ name: 'a.csv', data: 'a\n1\n' }], { directoryAt: 0xfffffff }),
  'more-entries-than-there-are.zip': () =>
    zip([{ name: 'a.csv', data: 'a\n1\n' }], { count: 9999 }),
  'zip-in-zip-in-zip.zip': () => {
    let inner = zip([{ name: 'a.txt', data: filled(10 * MB, 0x61) }])
    for (let level = 0; level < 20; level += 1) inner = zip([{ name: 'a.zip', data: inner }])
    return inner
  },
}

function empty(name: string): ZipEntry {
  return { name, data: '', isStored: true }
}

const cell = (at: string, value: string) => `<c r="${at}"><v>${value}</v></c>`

const OFFICES: Corpus = {
  'laughs.docx': () => docx(`${BILLION_LAUGHS}<w:p><w:r><w:t>&a10;</w:t></w:r></w:p>`),
  'outside-entity.docx': () => docx(`${OUTSIDE_ENTITY}<w:p><w:r><w:t>&a10;</w:t></w:r></w:p>`),
  'gigabyte.docx': () => docx(filled(400 * MB, 0x20)),
  'paragraphs.docx': () => docx('<w:p><w:r><w:t>x</w:t></w:r></w:p>'.repeat(500_000)),
  'deep-tables.docx': () =>
    docx(`${'<w:tbl><w:tr><w:tc>'.repeat(5000)}<w:p/>${'</w:tc></w:tr></w:tbl>'.repeat(5000)}`),
  'deep-runs.docx': () => docx(`${'<w:sdt><w:sdtContent>'.repeat(50_000)}x`),
  'without-a-document.docx': () => zip([empty('word/nothing.xml')]),
  'styles-in-a-circle.docx': () =>
    docx('<w:p><w:pPr><w:pStyle w:val="A"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p>', [
      {
        name: 'word/styles.xml',
        data: '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:styleId="A"><w:basedOn w:val="B"/></w:style><w:style w:styleId="B"><w:basedOn w:val="A"/></w:style></w:styles>',
      },
    ]),
  'spans.docx': () =>
    docx(
      '<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2147483647"/></w:tcPr><w:p/></w:tc></w:tr></w:tbl>',
    ),
  'laughs.xlsx': () =>
    xlsx(worksheet('<row><c t="inlineStr"><is><t>&a10;</t></is></c></row>', BILLION_LAUGHS)),
  'gigabyte.xlsx': () => xlsx(filled(400 * MB, 0x20)),
  'rows-without-end.xlsx': () => xlsx(worksheet('<row><c><v>1</v></c></row>'.repeat(1_000_000))),
  'last-cell-of-all.xlsx': () =>
    xlsx(
      worksheet(
        `<row r="1">${cell('A1', '1')}</row><row r="1048576">${cell('XFD1048576', '2')}</row>`,
      ),
    ),
  'cell-beyond-all.xlsx': () =>
    xlsx(worksheet(`<row r="9999999999">${cell('ZZZZZZ9999999999', '2')}</row>`)),
  'all-is-merged.xlsx': () =>
    xlsx(
      `${worksheet(`<row r="1">${cell('A1', '1')}</row>`).replace('</worksheet>', '')}<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells></worksheet>`,
    ),
  'said-to-be-all.xlsx': () =>
    xlsx(worksheet(`<row r="1">${cell('A1', '1')}</row>`, '<dimension ref="A1:XFD1048576"/>')),
  'columns-16384.xlsx': () =>
    xlsx(worksheet(many(20, () => `<row>${'<c><v>1</v></c>'.repeat(16_384)}</row>`))),
  'texts-bomb.xlsx': () =>
    xlsx(worksheet('<row><c t="s"><v>0</v></c><c t="s"><v>999999999</v></c></row>'), [
      { name: 'xl/sharedStrings.xml', data: filled(300 * MB, 0x20) },
    ]),
  'laughs.pptx': () =>
    pptx('<p:sp><p:txBody><a:p><a:r><a:t>x</a:t></a:r></a:p></p:txBody></p:sp>', 20_000),
  'deep-groups.pptx': () => pptx(`${'<p:grpSp>'.repeat(50_000)}`),
  'laughs.ods': () => openDocument('spreadsheet', '&a10;', BILLION_LAUGHS),
  'repeated-cells.ods': () =>
    openDocument(
      'spreadsheet',
      '<table:table table:name="T"><table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384" office:value-type="float" office:value="1"><text:p>1</text:p></table:table-cell></table:table-row></table:table>',
    ),
  'deep-lists.odt': () => openDocument('text', '<text:list><text:list-item>'.repeat(20_000)),
  'spaces.odt': () => openDocument('text', '<text:p>a<text:s text:c="2147483647"/>b</text:p>'),
  'one-chapter-100000-times.epub': () =>
    epub(
      {
        manifest: '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>',
        spine: '<itemref idref="c"/>'.repeat(100_000),
      },
      [{ name: 'c.xhtml', data: `<html><body><p>${'text '.repeat(10_000)}</p></body></html>` }],
    ),
  'book-of-itself.epub': () =>
    epub({
      manifest: '<item id="c" href="book.opf" media-type="application/xhtml+xml"/>',
      spine: '<itemref idref="c"/>'.repeat(100),
    }),
  'container-of-itself.epub': () => epub({ manifest: '', spine: '' }, [], 'META-INF/container.xml'),
  'climbing-chapter.epub': () =>
    epub({
      manifest: '<item id="c" href="../../../../etc/passwd" media-type="application/xhtml+xml"/>',
      spine: '<itemref idref="c"/>',
    }),
  'laughing-chapter.epub': () =>
    epub(
      {
        manifest: '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>',
        spine: '<itemref idref="c"/>',
      },
      [{ name: 'c.xhtml', data: `${BILLION_LAUGHS}<html><body>&a10;</body></html>` }],
    ),
  'braces.rtf': () => `{\\rtf1 ${'{'.repeat(100_000)}`,
  'binary-of-a-terabyte.rtf': () => '{\\rtf1 \\bin1099511627776 abc}',
}

/** The first bytes of each format. */
const SIGNS: Readonly<Record<string, Uint8Array>> = {
  png: Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
  jpeg: Uint8Array.of(0xff, 0xd8, 0xff, 0xe0),
  elf: Uint8Array.of(0x7f, 0x45, 0x4c, 0x46),
  ole: Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1),
}

const ENDINGS = ['csv', 'json', 'parquet', 'pdf', 'docx', 'xlsx', 'html', 'txt', 'epub', 'eml']

const LIES: Corpus = Object.fromEntries([
  ...ENDINGS.map((ending, index) => {
    return [`noise.${ending}`, () => noise(50_000, 100 + index)] as const
  }),
  ...Object.entries(SIGNS).map(([name, sign], index) => {
    const ending = ENDINGS[(index * 3) % ENDINGS.length]
    return [`${name}.${ending}`, () => joined([sign, noise(20_000, index)])] as const
  }),
  ['sheet.docx', () => xlsx(worksheet('<row><c><v>1</v></c></row>'))],
  ['text.xlsx', () => docx('<w:p><w:r><w:t>text</w:t></w:r></w:p>')],
  ['page.json', () => '<!DOCTYPE html><html><body><p>page</p></body></html>'],
  ['table.pdf', () => 'a,b\n1,2\n'],
  ['portable.csv', () => '%PDF-1.7\n1 0 obj<<>>endobj'],
  ['nothing.csv', () => ''],
  ['nothing.docx', () => ''],
  ['one-byte.pdf', () => '%'],
  ['without-an-ending', () => noise(1000, 77)],
] as const)

export const HOSTILE_CORPUS: Corpus = {
  ...JSONS,
  ...TABLES,
  ...PACKED,
  ...OFFICES,
  ...PDFS,
  ...PAGES,
  ...MAILS,
  ...LIES,
}
