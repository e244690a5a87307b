/** Hostile PDF files, pages and mails. */
import { deflateSync } from 'node:zlib'
import { BILLION_LAUGHS, joined } from './hostile-archives.ts'
import { type Corpus, filled, latin1, MB, many, noise, utf16 } from './hostile-bytes.ts'

function pdf(objects: readonly string[]): string {
  return `%PDF-1.7\n${objects.map((body, index) => `${index + 1} 0 obj\n${body}\nendobj\n`).join('')}trailer<</Root 1 0 R/Size ${objects.length + 1}>>\n%%EOF`
}

function pdfOfStream(bytes: Uint8Array, filters: string, more = ''): Uint8Array {
  const page = '<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>'
  const head = pdf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[3 0 R]/Count 1>>', page])
  return joined([
    latin1(head.slice(0, head.indexOf('trailer'))),
    latin1(`4 0 obj\n<</Length ${bytes.length}/Filter${filters}${more}>>stream\n`),
    bytes,
    latin1('\nendstream\nendobj\ntrailer<</Root 1 0 R/Size 5>>\n%%EOF'),
  ])
}

const CATALOG = '<</Type/Catalog/Pages 2 0 R>>'

export const PDFS: Corpus = {
  'pages-that-are-their-own.pdf': () =>
    pdf([CATALOG, '<</Type/Pages/Kids[2 0 R]/Count 999999999>>']),
  'pages-in-a-circle.pdf': () =>
    pdf([
      CATALOG,
      '<</Type/Pages/Kids[3 0 R]/Count 9>>',
      '<</Type/Pages/Kids[2 0 R 3 0 R]/Count 9>>',
    ]),
  'pages-said-to-be-a-billion.pdf': () => pdf([CATALOG, '<</Type/Pages/Kids[]/Count 1000000000>>']),
  'pages-100000.pdf': () =>
    pdf([
      CATALOG,
      `<</Type/Pages/Count 100000/Kids[${'3 0 R '.repeat(100_000)}]>>`,
      '<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>',
    ]),
  'half-a-gigabyte-of-drawing.pdf': () =>
    pdfOfStream(deflateSync(filled(500 * MB, 0x20)), '/FlateDecode'),
  'drawing-of-drawings.pdf': () => {
    const once = deflateSync(deflateSync(deflateSync(filled(200 * MB, 0x20))))
    return pdfOfStream(once, '[/FlateDecode/FlateDecode/FlateDecode]')
  },
  'text-without-end.pdf': () =>
    pdfOfStream(deflateSync(`BT /F1 1 Tf ${'(x) Tj '.repeat(3_000_000)} ET`), '/FlateDecode'),
  'saved-states.pdf': () => pdfOfStream(deflateSync('q '.repeat(5_000_000)), '/FlateDecode'),
  'thousand-filters.pdf': () => pdfOfStream(noise(100, 1), `[${'/FlateDecode'.repeat(1000)}]`),
  'deep-lists.pdf': () => pdf([`<</Type/Catalog/Pages 2 0 R/A ${'['.repeat(200_000)}`]),
  'deep-dictionaries.pdf': () => pdf([`<</Type/Catalog/Pages 2 0 R/A ${'<</A'.repeat(200_000)}`]),
  'form-that-draws-itself.pdf': () =>
    pdf([
      CATALOG,
      '<</Type/Pages/Kids[3 0 R]/Count 1>>',
      '<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</XObject<</F 4 0 R>>>>/Contents 5 0 R>>',
      '<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</F 4 0 R>>>>/Length 5>>stream\n/F Do\nendstream',
      '<</Length 5>>stream\n/F Do\nendstream',
    ]),
  'outline-in-a-circle.pdf': () =>
    pdf([
      '<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R>>',
      '<</Type/Pages/Kids[3 0 R]/Count 1>>',
      '<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>',
      '<</First 5 0 R/Last 5 0 R/Count 9>>',
      '<</Title(A)/Next 5 0 R/First 5 0 R/Parent 4 0 R>>',
    ]),
  'objects-that-lead-to-each-other.pdf': () => pdf(['2 0 R', '3 0 R', '1 0 R']),
  'table-before-itself.pdf': () =>
    `%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\nxref\n0 1\n0000000000 65535 f \ntrailer<</Root 1 0 R/Size 3/Prev 53>>\nstartxref\n53\n%%EOF`,
  'stream-of-a-terabyte.pdf': () => '%PDF-1.7\n1 0 obj<</Length 1099511627776>>stream\nabc',
  'page-as-large-as-nothing.pdf': () =>
    pdf([
      CATALOG,
      '<</Type/Pages/Kids[3 0 R]/Count 1>>',
      '<</Type/Page/Parent 2 0 R/MediaBox[1e308 -1e308 1e309 NaN]>>',
    ]),
  'locked.pdf': () =>
    `${pdf([CATALOG, '<</Type/Pages/Kids[]/Count 0>>', '<</Filter/Standard/V 99/R 99/O()/U()/P 0>>']).replace('/Size', '/Encrypt 3 0 R/Size')}`,
  'head-and-nothing-else.pdf': () => '%PDF-1.7',
  'head-and-noise.pdf': () => joined([latin1('%PDF-1.7\n'), noise(2 * MB, 13)]),
}

export const PAGES: Corpus = {
  'deep.html': () => `${'<div>'.repeat(100_000)}text`,
  'deep-300.html': () => `${'<div><span>'.repeat(150)}text`,
  'deep-tables.html': () => `${'<table><tr><td>'.repeat(3000)}text`,
  'deep-lists.html': () => `${'<ul><li>'.repeat(20_000)}text`,
  'bold-that-never-ends.html': () => `<p>${'<b>x'.repeat(20_000)}`,
  'formatting-crossed.html': () => `<p>${'<b><i><a href=x>y</b></i>'.repeat(20_000)}`,
  'less-than.html': () => '<'.repeat(5 * MB),
  'open-comment.html': () => `<p>a</p><!--${'-'.repeat(5 * MB)}`,
  'open-script.html': () => `<script>${'</scrip'.repeat(500_000)}`,
  'attributes.html': () => `<a ${many(200_000, (n) => `a${n}="b"`, ' ')}>text</a>`,
  'attribute-of-megabytes.html': () => `<p title="${'x'.repeat(8 * MB)}">text</p>`,
  'links.html': () => many(100_000, (n) => `<a href="/p${n}">link ${n}</a>`),
  'entities.html': () => '&amp;&#x1F600;&notin'.repeat(300_000),
  'spans.html': () => '<table><tr><td rowspan="65534" colspan="999999999">x</td></tr></table>',
  'table-of-a-million.html': () =>
    `<table>${`<tr>${'<td>1</td>'.repeat(1000)}</tr>`.repeat(500)}</table>`,
  'table-of-spans.html': () =>
    `<table>${'<tr><td rowspan=1000 colspan=1000>x</td></tr>'.repeat(1000)}</table>`,
  'spaces.html': () => `<p>a${' \n\t'.repeat(2 * MB)}b</p>`,
  'title-of-megabytes.html': () => `<title>${'t '.repeat(2 * MB)}</title><p>x`,
  'stars.html': () => `<p>${'*_*_'.repeat(300_000)}</p>`,
  'code-of-ticks.html': () => `<pre><code>${'`'.repeat(MB)}</code></pre>`,
  'data-url.html': () => `<img src="data:image/png;base64,${'A'.repeat(8 * MB)}">text`,
  'frames.html': () => '<iframe srcdoc="<iframe srcdoc=x>">'.repeat(20_000),
  'nulls.html': () => `<p>a\0b${'\0'.repeat(3000)}</p>`,
  'marks.md': () => `${'*'.repeat(MB)}\n${'`'.repeat(MB)}\n${'#'.repeat(MB)}`,
  'quotes.md': () => '>'.repeat(500_000),
  'columns-20000.md': () =>
    `|${'a|'.repeat(20_000)}\n|${'-|'.repeat(20_000)}\n|${'1|'.repeat(20_000)}`,
  'headings.md': () => many(200_000, (n) => `${'#'.repeat((n % 6) + 1)} h\n`),
  'marks-on-one-letter.txt': () => `a${'\u0301'.repeat(2_000_000)}`,
  'one-word.txt': () => 'x'.repeat(20 * MB),
  'no-encoding.txt': () => Uint8Array.from({ length: MB }, (_, index) => 0x80 + (index % 128)),
  'half-characters.txt': () => utf16('\ud800'.repeat(100_000)),
  'line-ends.txt': () => '\r\n\u2028\u2029\u0085'.repeat(500_000),
}

export const MAILS: Corpus = {
  'parts-in-parts.eml': () =>
    `${many(3000, (n) => `Content-Type: multipart/mixed; boundary="b${n}"\n\n--b${n}\n`)}text`,
  'mail-in-mail.eml': () => `${'Content-Type: message/rfc822\n\n'.repeat(5000)}text`,
  'header-of-megabytes.eml': () => `Subject: ${'=?utf-8?q?x?= '.repeat(500_000)}\n\ntext`,
  'headers.eml': () => `${many(300_000, (n) => `X-${n}: y\n`)}\ntext`,
  'boundary-of-nothing.eml': () =>
    `Content-Type: multipart/mixed; boundary=""\n\n${'--\n'.repeat(500_000)}`,
  'base64-that-is-none.eml': () => `Content-Transfer-Encoding: base64\n\n${'!'.repeat(5 * MB)}`,
  'mails-200000.mbox': () =>
    'From a@b Mon Jan 1 00:00:00 2024\nSubject: s\n\nx\n\n'.repeat(200_000),
  'cells-200000.ipynb': () =>
    `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[${many(200_000, () => '{"cell_type":"code","source":"x","outputs":[],"metadata":{}}', ',')}]}`,
  'laughs.xml': () => `${BILLION_LAUGHS}<x>&a10;</x>`,
}
