import { describe, expect, test } from 'bun:test'
import type { RawDocument } from '../../src/domain/ports/reading-ports.ts'
import type { DocumentFormat } from '../../src/domain/uploaded-file.ts'
import { readDocument } from '../../src/reading/read-document.ts'
import { tinyPdf } from './tiny-pdf.ts'

function raw(format: DocumentFormat, content: string | Uint8Array, url: string | null = null) {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  return { bytes, format, charset: null, url } satisfies RawDocument
}

async function markdown(html: string, url: string | null = 'https://a.test/dir/page') {
  return (await readDocument(raw('html', html, url))).content
}

describe('text is decoded', () => {
  const bytes = (...codes: readonly number[]) => Uint8Array.from(codes)
  const cases: readonly [string, Uint8Array, string | null, string][] = [
    ['UTF-8', bytes(0x63, 0xc3, 0xa9), null, 'cé'],
    ['UTF-8 with a byte order mark', bytes(0xef, 0xbb, 0xbf, 0x63), null, 'c'],
    ['UTF-16 little endian', bytes(0xff, 0xfe, 0xe9, 0), null, 'é'],
    ['UTF-16 big endian', bytes(0xfe, 0xff, 0, 0xe9), null, 'é'],
    ['windows-1252 that nobody declared', bytes(0x63, 0xe9, 0x80), null, 'cé€'],
    ['a declared encoding', bytes(0xcf, 0xf0), 'windows-1251', 'Пр'],
    ['a declared UTF-8 that is none', bytes(0x63, 0xe9), 'utf-8', 'cé'],
    ['an encoding that does not exist', bytes(0x63, 0xc3, 0xa9), 'klingon', 'cé'],
    ['Windows line ends', bytes(0x61, 13, 10, 0x62), null, 'a\nb'],
  ]
  for (const [name, content, charset, expected] of cases) {
    test(name, async () => {
      const read = await readDocument({ ...raw('text', content), charset })
      expect(read.content).toBe(expected)
    })
  }

  test('a page’s own declaration', async () => {
    const html = '<html><head><meta charset="windows-1251"></head><body>'
    const content = Buffer.concat([Buffer.from(html), Buffer.from([0xcf, 0xf0])])
    expect((await readDocument(raw('html', content))).content).toBe('Пр')
  })
})

describe('HTML', () => {
  test('becomes Markdown: headings, lists, tables, code', async () => {
    const html = `<!doctype html><html><head><title> Tea
      &amp; Duck </title></head><body><h1>Teas</h1><ul><li>green</li></ul>
      <table><thead><tr><th>tea</th><th>price</th></tr></thead>
      <tbody><tr><td>green</td><td>9</td></tr></tbody></table><pre><code>a < b</code></pre>`
    const read = await readDocument(raw('html', html))
    expect(read.title).toBe('Tea & Duck')
    expect(read.content).toContain('# Teas')
    expect(read.content).toMatch(/-\s+green/)
    expect(read.content).toMatch(/\| tea \| price \|\n\| -+ \| -+ \|\n\| green \| 9 +\|/)
    expect(read.content).toContain('a < b')
  })

  test('tables keep their cells, whatever is in them; a layout is no table', async () => {
    const html = `<table><tr><td>a|b</td><td></td></tr><tr><td colspan=2>wide<br>cell</td></tr>
      <tr><td>1</td><td><a href="/x">x</a></td></tr></table>
      <table><tr><td><ul><li>item</li></ul></td><td>side</td></tr></table>`
    const content = await markdown(html)
    expect(content).toStartWith(
      '| a\\|b | |\n| --- | --- |\n| wide cell | |\n| 1 | [x](https://a.test/x) |\n\n',
    )
    expect(content.slice(content.indexOf('-   item'))).toBe('-   item\n\nside')
  })

  test('of a table with thousands of rows is read in a moment', async () => {
    const rows = Array.from({ length: 5000 }, (_, index) => `<tr><td>${index}</td><td>b</td></tr>`)
    const content = await markdown(`<table>${rows.join('')}</table>`)
    expect(content.split('\n').length).toBe(5001)
  })

  test('that leaves out its body, or has two, keeps its text', async () => {
    for (const html of [
      '<html><head><title>T</title></head><p>one<p>two',
      '<!doctype html><title>T</title><p>one<p>two',
      '<title>T</title><body><p>one</body><body><p>two</body></html>',
    ]) {
      const read = await readDocument(raw('html', html))
      expect([read.content, read.title]).toEqual(['one\n\ntwo', 'T'])
    }
  })

  test('without scripts, styles, hidden parts and pictures in the text', async () => {
    const html = `<html><body><script>evil()</script><style>p{}</style><p>text</p>
      <noscript>no</noscript><nav>menu</nav><p hidden>secret</p><svg><text>drawn</text></svg>
      <img alt="p" src="data:image/png;base64,AAAA"></body></html>`
    expect(await markdown(html)).toBe('text')
  })

  test('links become absolute and are listed', async () => {
    const html = `<a href="next">n</a> <a href="/top#x">t</a> <a href="javascript:1">j</a>
      <a href="mailto:a@b">m</a> <a href="https://b.test/">b</a> <img src="i.png" alt="i">`
    const read = await readDocument(raw('html', html, 'https://a.test/dir/page'))
    expect(read.links).toEqual([
      'https://a.test/dir/next',
      'https://a.test/top#x',
      'https://b.test/',
    ])
    expect(read.content).toBe(
      '[n](https://a.test/dir/next) [t](https://a.test/top#x) j m [b](https://b.test/) ' +
        '![i](https://a.test/dir/i.png)',
    )
  })

  test('a base address counts', async () => {
    const html = '<html><head><base href="/docs/"></head><body><a href="x">x</a></body></html>'
    expect(await markdown(html)).toBe('[x](https://a.test/docs/x)')
  })

  test('a fragment and plain text are pages too', async () => {
    expect(await markdown('<p>one</p><p>two</p>')).toBe('one\n\ntwo')
    expect(await markdown('just text')).toBe('just text')
    expect(await markdown('')).toBe('')
  })

  test('of a page with an article, the article', async () => {
    const paragraph = 'The common eider is a large sea duck of northern coasts. '.repeat(6)
    const html = `<html><body><div class="sidebar"><a href="/1">Login</a></div>
      <article><h1>Eider</h1><p>${paragraph}</p><p>${paragraph}</p></article>
      <footer>All rights reserved</footer></body></html>`
    const content = await markdown(html)
    expect(content).toContain('large sea duck')
    expect(content).not.toContain('All rights reserved')
  })

  test('that is nested without end is refused, not followed', async () => {
    const deep = `<html><body>${'<div>'.repeat(20_000)}x`
    await expect(markdown(deep)).rejects.toMatchObject({
      code: 'file_unreadable',
      message: 'HTML nested deeper than 500 levels',
    })
  })
})

describe('PDF', () => {
  test('gives the text of its pages', async () => {
    const read = await readDocument(raw('pdf', tinyPdf(['Hello duck', 'Second page'])))
    expect(read.content).toBe('Hello duck\n\nSecond page')
  })

  test('that is none is unreadable', async () => {
    await expect(readDocument(raw('pdf', '%PDF-1.4 garbage'))).rejects.toMatchObject({
      code: 'file_unreadable',
    })
  })
})

test('Markdown stays as it is; its first heading is its title', async () => {
  const read = await readDocument(raw('markdown', 'intro\n\n## The *title* ##\ntext'))
  expect(read).toEqual({
    content: 'intro\n\n## The *title* ##\ntext',
    title: 'The *title*',
    links: [],
    id: null,
    syntax: 'markdown',
    parts: null,
    columns: {},
  })
})
