import { describe, expect, test } from 'bun:test'
import { read } from './read-bytes.ts'
import { tinyZip } from './tiny-office.ts'

describe('Markdown', () => {
  const content = async (markdown: string) => (await read(markdown, 'a.md')).content

  test('loses addresses and keeps the text of links; code stays as it is', async () => {
    const markdown = `See [the *page*](http://x.test/a "t"), [ref][r], [r] and <http://auto.test>. \`[a](b)\`

~~~js
[a](b)  <!-- kept -->


\\*
~~~

- item [x](y)

      [code](x)

[r]: http://ref.test/z
`
    const found = await read(markdown, 'a.md')
    expect(found.content).toBe(
      'See the *page*, ref, r and http://auto.test. `[a](b)`\n\n~~~js\n[a](b)  <!-- kept -->\n\n\n\\*\n~~~\n\n- item x\n\n      [code](x)',
    )
    expect(found.links).toEqual(['http://x.test/a', 'http://auto.test/', 'http://ref.test/z'])
  })

  test('with quotes too deep for its parser stays as it is, and that is said', async () => {
    const quotes = `${'> '.repeat(600)}[a](b)`
    const found = await read(quotes, 'a.md')
    expect(found.content).toBe(quotes)
    expect(found.warnings).toEqual([
      'The Markdown has quotes more than 500 levels deep: addresses of links, comments and tags stay in it',
    ])
    expect(await content(`${'> '.repeat(40)}[a](b)`)).toBe(`${'> '.repeat(40)}a`)
  })

  test('loses comments, tags and escapes; words in angle brackets and notes stay', async () => {
    expect(
      await content(
        'a <!-- gone --> <b>b</b> List<String> 1 \\* 2 &amp; snake\\_case[^1]\n\n[^1]: x',
      ),
    ).toBe('a  b List<String> 1 * 2 & snake_case[^1]\n\n[^1]: x')
    expect(
      await content('<p align="center">\n  <b>Name</b>\n</p>\n\n<!--\ngone\n-->\n\ntext'),
    ).toBe('**Name**\n\ntext')
    expect(await content('| a | b |\n|---|---|\n| [x](y) | 1 \\| 2 |')).toBe(
      '| a | b |\n|---|---|\n| x | 1 \\| 2 |',
    )
  })

  test('badges and file names are not text, the description of a picture is', async () => {
    expect(
      await content(
        '[![Build](b.svg)](http://b.test) ![A duck on a lake](d.png) ![d.png](d.png) end',
      ),
    ).toBe('A duck on a lake  end')
  })

  test('underlined headings become marked ones; the first is the title', async () => {
    const found = await read('Big *one*\n=========\n\nx\n\nSmall\n-----\n\ny', 'a.md')
    expect(found.content).toBe('# Big *one*\n\nx\n\n## Small\n\ny')
    expect(found.title).toBe('Big one')
  })

  test('front matter becomes columns; a line above a text does not', async () => {
    const found = await read(
      '---\ntitle: "T"\ndate: 2024-01-02\ntags: [a, 1]\nid: 7\nnested: {a: 1}\n---\n\n# H',
      'a.md',
    )
    expect(found).toMatchObject({ title: 'T', content: '# H' })
    expect(found.columns).toEqual({ date: '2024-01-02', tags: ['a', '1'] })
    expect(await content('---\nno facts\n---\n\ntext')).toContain('no facts')
    expect((await read('+++\ntitle = "T"\ndraft = true\n+++\nx', 'a.md')).columns).toEqual({
      draft: true,
    })
    const swelling = '---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n'
    expect(await content(swelling)).toContain('&a [x, x]')
  })
})

describe('EPUB', () => {
  const container =
    '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
  const book = (spine: string) => ({
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': container,
    'OPS/book.opf': `<package><metadata><dc:title>Ducks</dc:title><dc:creator>Ann</dc:creator><dc:language>en</dc:language></metadata>
      <manifest><item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/><item id="a" href="a%20b.xhtml" media-type="application/xhtml+xml"/><item id="b" href="../b.xhtml" media-type="application/xhtml+xml"/><item id="x" href="x.xhtml" media-type="application/xhtml+xml"/></manifest><spine>${spine}</spine></package>`,
    'OPS/nav.xhtml': '<html><body><nav>Contents</nav></body></html>',
    'OPS/a b.xhtml':
      '<html><head><title>no text</title></head><body><h1>One</h1><p>first</p></body></html>',
    'b.xhtml': '<html><body><h1>Two</h1><p>second</p></body></html>',
  })
  const item = (id: string) => `<itemref idref="${id}"/>`

  test('its chapters in their order, each once, without navigation', async () => {
    const found = await read(tinyZip(book(item('n') + item('b') + item('a') + item('b'))))
    expect(found.content).toBe('# Two\n\nsecond\n\n# One\n\nfirst')
    expect(found.parts).toEqual({ unit: 'chapter', starts: [0, 15] })
    expect(found).toMatchObject({
      format: 'epub',
      title: 'Ducks',
      columns: { author: 'Ann', language: 'en' },
    })
  })

  test('a page of contents keeps lines other than chapter names', async () => {
    const parts = book(item('x') + item('b') + item('a'))
    const guide = '<guide><reference type="toc" href="x.xhtml"/></guide></package>'
    const found = await read(
      tinyZip({
        ...parts,
        'OPS/book.opf': parts['OPS/book.opf'].replace('</package>', guide),
        'OPS/x.xhtml':
          '<html><body><h1>Ducks</h1><p>Copyright Ann</p><ul><li><a href="../b.xhtml">1. <code>Two</code></a></li><li><a href="a%20b.xhtml">One</a></li></ul></body></html>',
      }),
    )
    expect(found.content).toBe('# Ducks\n\nCopyright Ann\n\n# Two\n\nsecond\n\n# One\n\nfirst')
  })

  test('what is missing is counted, what is locked is said', async () => {
    const found = await read(tinyZip(book(item('a') + item('x'))))
    expect(found.warnings).toEqual(['1 of 2 chapters are missing in the EPUB'])
    const locked = {
      ...book(item('a')),
      'META-INF/encryption.xml': '<encryption><CipherReference URI="OPS/a.xhtml"/></encryption>',
    }
    await expect(read(tinyZip(locked))).rejects.toThrow('locked (DRM)')
  })
})

describe('OpenDocument', () => {
  const odt = (body: string, styles = '') =>
    tinyZip({
      mimetype: 'application/vnd.oasis.opendocument.text',
      'content.xml': `<office:document-content><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:text>${body}</office:text></office:body></office:document-content>`,
      'meta.xml':
        '<office:document-meta><office:meta><dc:title>Plan</dc:title></office:meta></office:document-meta>',
    })

  test('headings, spaces, notes, deletions, generated lists', async () => {
    const found = await read(
      odt(`<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes>
        <text:h text:outline-level="2">Scope</text:h><text:table-of-content><text:p>Scope 1</text:p></text:table-of-content>
        <text:p>a<text:s text:c="2"/>b<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>note</text:p></text:note-body></text:note>
        <office:annotation><text:p>remark</text:p></office:annotation> c</text:p>`),
    )
    expect(found.content).toBe('## Scope\n\na  b[^1] c\n\n[^1]: note')
    expect(found).toMatchObject({ format: 'odt', title: 'Plan' })
  })

  test('lists with their numbers, tables with what is merged and repeated', async () => {
    const styles =
      '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix=")"/><text:list-level-style-bullet text:level="2"/></text:list-style>'
    const item = (text: string) => `<text:list-item>${text}</text:list-item>`
    const p = (text: string) => `<text:p>${text}</text:p>`
    const cell = (text: string, more = '') =>
      `<table:table-cell ${more}>${p(text)}</table:table-cell>`
    const body = `<text:list text:style-name="L">${item(`${p('one')}<text:list>${item(p('in'))}</text:list>`)}${item(p('two'))}</text:list>
      <table:table><table:table-header-rows><table:table-row>${cell('a')}${cell('b')}</table:table-row></table:table-header-rows>
      <table:table-row>${cell('1', 'table:number-columns-spanned="2"')}<table:covered-table-cell/></table:table-row>
      <table:table-row>${cell('x', 'table:number-columns-repeated="2"')}</table:table-row></table:table>`
    expect((await read(odt(body, styles))).content).toBe(
      '1) one\n  - in\n2) two\n\n| a | b |\n| --- | --- |\n| 1 |  |\n| x | x |',
    )
  })

  test('slides of ODP, with notes', async () => {
    const bytes = tinyZip({
      mimetype: 'application/vnd.oasis.opendocument.presentation',
      'content.xml': `<office:document-content><office:body><office:presentation><draw:page><draw:frame presentation:class="outline"><draw:text-box><text:p>point</text:p></draw:text-box></draw:frame>
        <draw:frame presentation:class="title"><draw:text-box><text:p>Start</text:p></draw:text-box></draw:frame>
        <presentation:notes><draw:frame presentation:class="notes"><draw:text-box><text:p>say it</text:p></draw:text-box></draw:frame></presentation:notes></draw:page></office:presentation></office:body></office:document-content>`,
    })
    const found = await read(bytes)
    expect(found.content).toBe('# Start\n\npoint\n\nNotes: say it')
    expect(found.parts).toEqual({ unit: 'slide', starts: [0] })
  })
})

describe('mail', () => {
  const message = (id: string, body: string, more = '') =>
    `From: Ann <a@x.test>\nTo: b@x.test, c@x.test\nSubject: =?utf-8?q?Te=C3=A9?=\nDate: Thu, 01 Jan 2026 10:00:00 +0100\nMessage-ID: <${id}>\n${more}\n${body}`

  test('a message is a document with its headers as columns', async () => {
    const found = await read(message('1@x.test', 'Hi\n> quoted\n'), 'a.eml')
    expect(found).toMatchObject({
      format: 'eml',
      title: 'Teé',
      content: 'Hi\n> quoted',
      syntax: 'text',
    })
    expect(found.columns).toEqual({
      from: 'Ann <a@x.test>',
      to: 'b@x.test, c@x.test',
      date: '2026-01-01T09:00:00.000Z',
      message_id: '1@x.test',
    })
  })

  test('an HTML body is Markdown; attachments are named and counted', async () => {
    const mime = `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n`
    const parts = `--B\nContent-Type: text/html; charset=utf-8\n\n<h1>News</h1><p>Read <a href="http://x.test">this</a></p>\n--B\nContent-Type: application/zip; name=a.zip\nContent-Disposition: attachment; filename=a.zip\nContent-Transfer-Encoding: base64\n\nUEsDBA==\n--B--\n`
    const found = await read(message('2@x.test', parts, mime), 'a.eml')
    expect(found).toMatchObject({ content: '# News\n\nRead this', syntax: 'markdown' })
    expect(found.columns.attachments).toEqual(['a.zip'])
    expect(found.warnings).toEqual(['1 attachment is not read; its name is in `attachments`'])
  })

  test('parts of text with a broken or unknown type are text', async () => {
    const broken = message('4@x.test', 'still text', 'Content-Type: text; charset=us-ascii\n')
    expect((await read(broken, 'a.eml')).content).toBe('still text')
    const mime = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n'
    const parts = '--B\n\none\n--B\nContent-Type: text/x-note\n\ntwo\n--B--\n'
    const found = await read(message('5@x.test', parts, mime), 'a.eml')
    expect(found.content).toBe('one\n\n\ntwo')
    expect(found.warnings).toEqual([])
  })

  test('a mailbox is a document for each message; ids are kept apart', async () => {
    const begin = 'From a@x.test Thu Jan  1 00:00:00 2026\n'
    const box = ['1@x.test', '1@x.test', '3@x.test'].map(
      (id, at) => begin + message(id, at === 2 ? '' : `body\n>From here\nFrom there 1\n`),
    )
    const found = await read(box.join('\n'), 'all.mbox')
    expect(found.documents.map((one) => one.id)).toEqual(['1@x.test', '2'])
    expect(found.documents[1]?.content).toBe('body\nFrom here\nFrom there 1')
    expect(found.recognized).toEqual({ messages: 3 })
    expect(found.warnings).toEqual(['1 of 3 messages hold no text and are left out'])
  })
})

describe('notebooks', () => {
  test('text, code and what it printed; pictures are left out, long output is cut and counted', async () => {
    const notebook = {
      nbformat: 4,
      metadata: { language_info: { name: 'python' } },
      cells: [
        { cell_type: 'markdown', source: ['# Title\n', 'see [x](http://y.test)'] },
        {
          cell_type: 'code',
          source: 'print(1)',
          outputs: [
            { output_type: 'stream', text: ['1\n'] },
            {
              output_type: 'display_data',
              data: { 'image/png': 'AAAA', 'text/plain': '<Figure size 1x1>' },
            },
            { output_type: 'error', ename: 'ValueError', evalue: 'no' },
            { output_type: 'execute_result', data: { 'text/plain': 'y'.repeat(3000) } },
          ],
        },
      ],
    }
    const found = await read(JSON.stringify(notebook), 'a.ipynb')
    const long = `${'y'.repeat(2000)}…`
    expect(found.content).toBe(
      `# Title\nsee x\n\n\`\`\`python\nprint(1)\n\`\`\`\n\n\`\`\`\n1\n\`\`\`\n\n\`\`\`\nValueError: no\n\`\`\`\n\n\`\`\`\n${long}\n\`\`\``,
    )
    expect(found).toMatchObject({ title: 'Title', parts: { unit: 'cell', starts: [0, 15] } })
    expect(found.warnings[0]).toStartWith('1 outputs of the notebook are long')
    await expect(read('{"cells": 1, "nbformat": 4}', 'a.ipynb')).rejects.toThrow('has no cells')
  })
})

describe('source code', () => {
  test('stays as it is, with its language by name or by its first line', async () => {
    const found = await read('def f(x):\r\n\treturn x\r\n', 'a.py')
    expect(found).toMatchObject({
      content: 'def f(x):\n\treturn x\n',
      syntax: 'code',
      recognized: { language: 'python' },
    })
    expect((await read('#!/usr/bin/env -S node --x\n1', 'run')).recognized).toEqual({
      language: 'javascript',
    })
  })
})

describe('other languages of text', () => {
  test('AsciiDoc: headings, listings and links are Markdown', async () => {
    const text =
      '= Manual\n:toc:\n\n// remark\n== Scope\n\nSee http://x.test[the page].\n\n[source,ruby]\n----\nputs [1]\n----\n'
    expect(await read(text, 'a.adoc')).toMatchObject({
      title: 'Manual',
      content: '# Manual\n\n## Scope\n\nSee the page.\n\n```ruby\nputs [1]\n```',
    })
  })

  test('reStructuredText: remarks, addresses of pictures and escapes are not text', async () => {
    const text = [
      '.. To release:',
      '',
      '   * tag it',
      '',
      'Teas',
      '====',
      '.. |badge| image:: https://x.test/badge.svg',
      '   :target: https://x.test',
      '',
      '.. figure:: duck.png',
      '   :alt: duck',
      '',
      '   A duck.',
      '',
      '.. note:: Hot',
      '',
      'a \\*b ``\\*``',
    ].join('\n')
    const { content } = await read(text, 'a.rst')
    expect(content).toBe('# Teas\n\n   A duck.\n\n.. note:: Hot\n\na *b ``\\*``')
  })

  test('reStructuredText: levels by their lines', async () => {
    const text =
      '====\nBook\n====\n\nOne\n===\n\nSee `here <http://x.test>`_ and :ref:`that <label>`.\n\nTwo\n---\n\n.. code-block:: python\n   :linenos:\n\n   def f():\n       pass\n\nOther\n=====\n\nSo::\n\n  x = 1\n\n=====  =====\na      b\n=====  =====\n'
    expect((await read(text, 'a.rst')).content).toBe(
      '# Book\n\n## One\n\nSee here and that.\n\n### Two\n\n```python\ndef f():\n    pass\n```\n\n## Other\n\nSo:\n\n```\nx = 1\n```\n\n=====  =====\na      b\n=====  =====',
    )
  })

  test('org and LaTeX', async () => {
    const org =
      '#+TITLE: Notes\n* One :tag:\n[[http://x.test][link]]\n#+BEGIN_SRC sh\nls\n#+END_SRC\n'
    expect(await read(org, 'a.org')).toMatchObject({
      title: 'Notes',
      content: 'Notes\n\n# One\n\nlink\n\n```sh\nls\n```',
    })
    const latex =
      '\\title{Paper}\n% remark\n\\section{Intro}\\label{x}\nSome \\emph{text}, 5\\% of it.\n'
    expect(await read(latex, 'a.tex')).toMatchObject({
      title: 'Paper',
      content: '\\title{Paper}\n\n## Intro\n\nSome text, 5% of it.',
    })
  })

  test('XML is read as its text, subtitles as the spoken words', async () => {
    const xml =
      '<?xml version="1.0"?><book><title>Tea</title><price>3</price><p>a <b>b</b> c</p></book>'
    expect(await read(xml, 'a')).toMatchObject({
      format: 'xml',
      title: 'Tea',
      content: 'Tea\nprice: 3\na b c',
    })
    const srt =
      '1\n00:00:01,000 --> 00:00:02,000\n<i>Hello</i>\nyou\n\n2\n00:00:03,000 --> 00:00:04,000\nBye\n'
    expect((await read(srt, 'a.srt')).content).toBe('Hello you\nBye')
    expect((await read('WEBVTT\n\nNOTE x\n\n00:01.000 --> 00:02.000\nHi\n', 'a.vtt')).content).toBe(
      'Hi',
    )
  })
})

describe('RTF', () => {
  test('paragraphs, headings by style and level, tables, notes, signs of several fonts', async () => {
    const rtf = String.raw`{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}{\f1\fcharset204 Arial;}}{\stylesheet{\s1\outlinelevel0 heading 1;}}
{\info{\title Teas}{\author Ann}}{\header gone}
\pard\s1 One\par\pard caf\'e9 \u8364?5 {\f1 \'cf\'f0}\~x{\footnote {\pard note\par}} {\v hidden}{\field{\*\fldinst HYPERLINK "http://x.test"}{\fldrslt link}}\par
{\listtext 1.\tab}first\par
\trowd\intbl a\cell b\cell\row\trowd\intbl 1\cell 2\cell\row\pard end {\pict\bin3 }}}\par}`
    const found = await read(rtf, 'a.doc')
    expect(found.content).toBe(
      '# One\n\ncafé €5 Пр x[^1] link\n\n[^1]: note\n\n1. first\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nend',
    )
    expect(found).toMatchObject({ format: 'rtf', title: 'Teas', columns: { author: 'Ann' } })
    await expect(read(`{\\rtf1${'{'.repeat(6000)}`)).rejects.toThrow('nested deeper')
  })
})
