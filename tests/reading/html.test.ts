import { describe, expect, test } from 'bun:test'
import type { RawDocument } from '../../src/core/domain/ports/reading-ports.ts'
import { readDocument } from '../../src/reading/processes/read-file.ts'

function page(html: string, url: string | null = 'https://a.test/dir/page') {
  const bytes = new TextEncoder().encode(html)
  return readDocument({ bytes, format: 'html', charset: null, url } satisfies RawDocument)
}

async function markdown(html: string) {
  return (await page(html)).content
}

interface Case {
  readonly name: string
  readonly html: string
  readonly expected: string
}

function becomes(cases: readonly Case[]): void {
  for (const { name, html, expected } of cases) {
    test(name, async () => expect(await markdown(html)).toBe(expected))
  }
}

const PARAGRAPH = 'The common eider is a large sea duck of northern coasts. '.repeat(6)

describe('text of a page', () => {
  becomes([
    {
      name: 'headings, lists, emphasis and code',
      html: `<h1>Teas <a class="headerlink" href="#teas">¶</a></h1><ul><li>green<ol start=3><li>sencha</ol>
        <li><p>black</p></ul><p>see <em>also</em> <b>the</b> <code>tea(*)</code> <del>old</del>`,
      expected: '# Teas\n\n- green\n  3. sencha\n- black\n\nsee *also* **the** `tea(*)` ~~old~~',
    },
    {
      name: 'emphasis within the same emphasis once',
      html: '<dl><dt><b><b><code>-v</code></b></b>: more<dd>text</dl><p><i>a <i>b</i></i>',
      expected: '- **`-v`**: more: text\n\n*a b*',
    },
    {
      name: 'no escape anywhere',
      html: '<p>SELECT * FROM [temp_lo] # 1. a_b <i>x*y</i> \\ ` ~ | &lt;p&gt;<p>1. one<p>+ two',
      expected: 'SELECT * FROM [temp_lo] # 1. a_b *x*y* \\ ` ~ | <p>\n\n1. one\n\n+ two',
    },
    {
      name: 'no address of a link or picture; the text of a picture if it has one',
      html: `<a href="/x" title="t">see here</a> <img src="data:image/png;base64,AAAA" alt="logo">
        <img src=a.png alt="A duck with its ducklings"> <img src=b.png alt="b.png">`,
      expected: 'see here A duck with its ducklings',
    },
    {
      name: 'nothing hidden, but folded parts and tabs',
      html: `<script>evil()</script><style>p{}</style><template>no</template><noscript>no</noscript>
        <p hidden>no</p><p style="display: none">no</p><p aria-hidden=true>no</p><svg><text>no</text></svg>
        <button>Copy</button><!-- no --><div role=tabpanel hidden>macOS</div>
        <details><summary>More</summary>folded</details>`,
      expected: 'macOS\n\nMore\n\nfolded',
    },
    {
      name: 'raised and lowered text, readings of characters, formulas',
      html: `<p>10<sup>9</sup> H<sub>2</sub>O x<sub>i</sub> 1<sup>st</sup> note<sup><a href="#f">1</a></sup>
        <ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby> <ruby>字<rt>じ</rt></ruby>
        <math><semantics><mi>x</mi><annotation encoding="application/x-tex">x_1^2</annotation></semantics></math>
        <math><mfrac><mn>1</mn><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfrac></math>
        <script type="math/tex">\\frac{a}{b}</script>`,
      expected: '10^9 H2O x_i 1st note[1] 漢字(かんじ) 字(じ) $x_1^2$ 1/(a + b) $\\frac{a}{b}$',
    },
    {
      name: 'definitions, notes, captions',
      html: `<dl><dt>-v<dt>--verbose<dd>says more<dt><code>-q</code><dd>says less</dl>
        <div class="admonition note"><p class="admonition-title">Note</p><p>Beware.</p></div>
        <figure><img alt="Fig. 1" src=x><figcaption>A duck.</figcaption></figure>
        <dl><dt>long</dt><dd><p>one</p><p>two</p></dd></dl>`,
      expected:
        '- **-v**, **--verbose**: says more\n- `-q`: says less\n\n**Note**\n\nBeware.\n\nA duck.\n\n**long**\n\none\n\ntwo',
    },
    { name: 'a fragment', html: '<p>one</p><p>two</p>', expected: 'one\n\ntwo' },
    { name: 'plain text', html: 'just text', expected: 'just text' },
    { name: 'nothing', html: '', expected: '' },
  ])

  test('a page that leaves out its body, or has two, keeps its text', async () => {
    for (const html of [
      '<html><head><title>T</title></head><p>one<p>two',
      '<!doctype html><title>T</title><p>one<p>two',
      '<title>T</title><body><p>one</body><body><p>two</body></html>',
      '<?xml version="1.0"?><html><head><title>T</title><script src="x"/></head><body><p>one</p><p>two</p></body></html>',
    ]) {
      const read = await page(html)
      expect([read.content, read.title]).toEqual(['one\n\ntwo', 'T'])
    }
  })

  test('broken HTML is read as a browser does', async () => {
    const html = '<table><tr><td>a<td>b<tr><td>c<td>d</table><p>x<b>y<p>z</b><div>w</p>v'
    expect(await markdown(html)).toBe(
      '| a | b |\n| --- | --- |\n| c | d |\n\nx**y**\n\n**z**\n\nw\n\nv',
    )
    expect(await markdown('<table>lost?<tr><td>a<td>b<tr><td>c<td>d</table>')).toStartWith(
      'lost?\n\n| a | b |',
    )
  })

  test('that is nested without end is refused, not followed', async () => {
    await expect(markdown(`<html><body>${'<div>'.repeat(20_000)}x`)).rejects.toMatchObject({
      code: 'file_unreadable',
      message: 'HTML nested deeper than 500 levels',
    })
  })
})

describe('code', () => {
  const block = (code: string, language = '') => `\`\`\`${language}\n${code}\n\`\`\``
  becomes([
    {
      name: 'with and without a code tag, its language, its white space',
      html: `<pre>\n  a &lt; b\n\n\tc  </pre><pre class="x"><code class="language-sql">SELECT *\n  FROM t;\n</code></pre>`,
      expected: `${block('  a < b\n\n\tc  ')}\n\n${block('SELECT *\n  FROM t;', 'sql')}`,
    },
    {
      name: 'with highlighting and lines of spans',
      html: `<div class="highlight-python3 notranslate"><div class="highlight"><pre><span></span><span class="k">def</span> <span class="nf">f</span>():
    <span class="k">pass</span>
</pre></div><button class="copybtn">Copy</button></div>
        <pre><code class="lang-js"><span class="token-line" style="display:block">a()<br></span><span class="token-line" style="display:block">  b()<br></span></code></pre>`,
      expected: `${block('def f():\n    pass', 'python3')}\n\n${block('a()\n  b()', 'js')}`,
    },
    {
      name: 'without the numbers of its lines',
      html: `<table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre>1\n2</pre></div></td>
        <td class="code"><div class="highlight"><pre>x = 1\ny = 2\n</pre></div></td></tr></table>
        <div class="fragment"><div class="line"><span class="lineno"> 1</span>int a;</div>
<div class="line"><span class="lineno"> 2</span>  int b;</div></div>`,
      expected: `${block('x = 1\ny = 2')}\n\n${block('int a;\n  int b;')}`,
    },
    {
      name: 'in a list, a quote and a table keeps its characters',
      html: `<ul><li>first<pre>a\n  b</pre>then</ul><blockquote><p>q</p><pre>c\n\nd</pre></blockquote>
        <table><tr><th>h<th>i<tr><td><pre>e\nf</pre><td>g</table>`,
      expected: `- first\n\n${block('a\n  b')}\n\n  then\n\n> q\n\n${block('c\n\nd')}\n\nh\n\ni\n\n${block('e\nf')}\n\ng`,
    },
    {
      name: 'that holds fences',
      html: '<pre>```sh\nls\n```</pre><p><code>a`b</code> <code>`</code>',
      expected: '````\n```sh\nls\n```\n````\n\n``a`b`` `` ` ``',
    },
  ])
})

describe('tables', () => {
  becomes([
    {
      name: 'with a header, pipes, breaks and lists',
      html: `<table><caption>Prices</caption><thead><tr><th>tea</th><th>price</th></tr></thead>
        <tbody><tr><td>a | b</td><td>9<br>EUR</td></tr><tr><td><ul><li>x<li>y</ul><td><p>p</p><p>q</p></table>`,
      expected: 'Prices\n\n| tea | price |\n| --- | --- |\n| a | b | 9 EUR |\n| x; y | p q |',
    },
    {
      name: 'with spans and two rows of headers',
      html: `<table><tr><th rowspan=2>tea<th colspan=2>price<tr><th>old<th>new
        <tr><td rowspan=2>green<td>1<td>2<tr><td colspan=2>sold out</table>`,
      expected:
        '| tea | price old | price new |\n| --- | --- | --- |\n| green | 1 | 2 |\n| green | sold out | |',
    },
    {
      name: 'that only lay out a page become text; a table in a table stays small',
      html: `<table><tr><td><ul><li>item</li></ul></td><td>side</td></tr></table>
        <table><tr><th>a<th>b<tr><td>1<td><table><tr><td>x<td>y</table><tr><td>2<td>3</table>`,
      expected: '- item\n\nside\n\n| a | b |\n| --- | --- |\n| 1 | x, y |\n| 2 | 3 |',
    },
  ])

  test('with thousands of rows are read in a moment', async () => {
    const rows = Array.from({ length: 2000 }, (_, index) => `<tr><td>${index}</td><td>b</td></tr>`)
    const content = await markdown(`<table>${rows.join('')}</table>`)
    expect(content.split('\n').length).toBe(2001)
  })

  test('that span millions of cells stay small', async () => {
    const cell = '<td rowspan=100 colspan=100>x</td>'
    const content = await markdown(`<table>${`<tr>${cell.repeat(100)}</tr>`.repeat(100)}</table>`)
    expect(content.length).toBeLessThan(10_000_000)
  })
})

describe('what leads through a site is left out', () => {
  const links = (count: number) => {
    return Array.from(
      { length: count },
      (_, at) => `<li><a href="/p${at}">Page ${at}</a></li>`,
    ).join('')
  }

  test('menus, contents, banners, footers; the rest is whole', async () => {
    const content = await markdown(`<div class="navbar"><a href="/">Docs</a></div><nav>menu</nav>
      <ol class="breadcrumb"><li><a href="/">Home</a></li></ol>
      <div id="cookie-banner">We use cookies. <button>Accept</button></div>
      <main><div class="toc"><p>On this page</p><ul><li><a href="#a">A</a></ul></div>
      <h1>Eider</h1><p>${PARAGRAPH}</p><h2 id="share">Sharing</h2><p>short</p><pre>code()</pre>
      <ul>${links(40)}</ul><p><a href="/edit">Edit this page</a></p>
      <div class="pagination"><a href="/n">Next: Ducks</a></div></main>
      <footer>All rights reserved</footer>`)
    expect(content).toBe(
      `# Eider\n\n${PARAGRAPH.trim()}\n\n## Sharing\n\nshort\n\n\`\`\`\ncode()\n\`\`\``,
    )
  })

  test('navigation in any markup, and who made the page', async () => {
    const docbook = `<div class="navheader"><table><tr><th colspan="3">Ducks</th></tr>
      <tr><td><a accesskey="p" href="a.html">Prev</a> </td><th>Birds</th><td> </td></tr></table></div>`
    const publican = `<p id="title"><a href="/"><img alt="Product Site" src="l.png"></a></p>
      <ul class="docnav top"><li class="home">The Book of Birds</li><li><a accesskey="n" href="b">Next</a></li></ul>`
    const plain = `<p>[<a href="a">Prev</a>] [<a href="b">Up: Birds</a>] [<a href="c">Next: Geese</a>]</p>`
    const doxygen = `<div class="summary"><a href="#f">Functions</a> | <a href="#m">Macros</a></div>`
    const below = [
      '<div class="footer"><hr>Generated by GTK-Doc V1.33.1</div>',
      '<address class="footer"><p>GLFW 3.3.8</p></address>',
      '<div id="footer"><div id="footer-text">Last updated 2024-05-31</div></div>',
      '<hr><p>Copyright © 2024 The Ducks</p><p>Last modified: <i>today</i></p>',
      '<ul class="docnav"><li><a accesskey="p" href="a"><strong>Prev</strong>3. Swans</a></li></ul>',
    ]
    for (const [at, end] of below.entries()) {
      const begin = [docbook, publican, plain, doxygen][at % 4] ?? ''
      const html = `<body>${begin}<h2>Ducks</h2><p>${PARAGRAPH}${end}`
      expect(await markdown(html)).toBe(`## Ducks\n\n${PARAGRAPH.trim()}`)
    }
  })

  test('but not what only looks like it', async () => {
    const texts = [
      '<p>Copyright © 1996 Ian Jackson</p><p>This manual is free software.</p>',
      '<p>The file was last changed by a duck. <i>Generated by hand.</i></p>',
      '<ul><li><a href="a">Next steps</a></li><li><a href="b">Home brewing</a></li></ul>',
      '<p>See <a href="a">previous</a> and <a href="b">next</a> for what ducks eat, and when, where, and why they do. Nobody knows for sure, but a good number of books were written about all of this, and about how the ducks themselves see the whole matter. Some say they would rather not be asked.</p>',
    ]
    for (const html of texts) {
      const words = html
        .replace(/<[^>]+>/g, ' ')
        .split(/\s+/)
        .filter(Boolean)
      const found = await markdown(`<h1>Ducks</h1><p>${PARAGRAPH}</p>${html}`)
      for (const word of words) expect(found).toContain(word)
    }
  })

  test('sections that are items of a list have headings of the page', async () => {
    const html = `<h1>BitField</h1><ul class="summary-list"><li><section><h2>Summary</h2><p>One.</p></section></li>
      <li><section><h2>Details</h2><ul><li><section><h3>isSet</h3><p>Two.</p></section></li></ul></section></li></ul>
      <ul><li>plain</li></ul>`
    expect(await markdown(html)).toBe(
      '# BitField\n\n## Summary\n\nOne.\n\n## Details\n\n### isSet\n\nTwo.\n\n- plain',
    )
  })

  test('a newsletter form in a division called section is left out, a described picture is not', async () => {
    const html = `<h1>Ducks</h1><div class="section" id="newsletter"><p>Subscribe to our letters.</p></div>
      <p>${PARAGRAPH}</p><p><img src="d.png" alt="[Ducks by region, 2020 to 2024]"></p>`
    expect(await markdown(html)).toBe(
      `# Ducks\n\n${PARAGRAPH.trim()}\n\n[Ducks by region, 2020 to 2024]`,
    )
  })

  test("a section of DocBook with any id, and a figure's caption once", async () => {
    const html = `<div class="sect1" id="DUCKS-SHARING"><h2>46.3. Sharing</h2><p>Ducks share.</p>
      <div class="figure"><p class="title"><b>Figure 1. Two ducks</b></p><div><div><img src="d.png" alt="Two ducks"></div></div></div></div>`
    expect(await markdown(html)).toBe('## 46.3. Sharing\n\nDucks share.\n\n**Figure 1. Two ducks**')
  })

  test('notes and quotes that are laid out by tables are text', async () => {
    const html = `<h1>Ducks</h1><div class="note"><table border="0" summary="Note"><tr><td rowspan="2"><img alt="[Hinweis]" src="n.png"></td>
      <th>Note</th></tr><tr><td><p>Ducks bite.</p></td></tr></table></div>
      <table><tr><td> </td><td>A journey.</td><td> </td></tr><tr><td> </td><td colspan="2">Lao Tsu</td></tr></table>`
    expect(await markdown(html)).toBe('# Ducks\n\n**Note**\n\nDucks bite.\n\nA journey.\n\nLao Tsu')
  })

  test('of a page without a main part, the article', async () => {
    const content = await markdown(`<div class="sidebar"><a href="/1">Login</a></div>
      <div><h1>Eider</h1><p>${PARAGRAPH}</p><p>${PARAGRAPH}</p></div>
      <div class="footer">All <a href="/r">rights reserved</a></div>`)
    expect(content).toBe(`# Eider\n\n${PARAGRAPH.trim()}\n\n${PARAGRAPH.trim()}`)
  })

  test('a page of links only is marked, and keeps no name of a link', async () => {
    const read = await page(`<title>Index</title><main><h1>Index</h1><ul>${links(40)}</ul></main>`)
    expect(read).toMatchObject({ title: 'Index', content: 'A list of 40 links.' })
    expect(read.columns).toEqual({ kind: 'index' })
    expect(read.links.length).toBe(40)
  })

  const commands = (after = '') => {
    const names = Array.from({ length: 40 }, (_, at) => `<a href="/c${at}">git-${at}</a>${after}`)
    return `<main><h1>Commands</h1><pre>${names.join('\n')}</pre></main>`
  }

  test.each([
    ['of linked commands in a block of code', 'Commands', commands(), 40],
    [
      "of one letter of a manual's index",
      'API Alphabetic Index q-s for libxslt',
      `<main>${'<dl><dt>word</dt><dd><a href="/x">xsltGetKeyOfAll</a></dd></dl>'.repeat(60)}</main>`,
      60,
    ],
    ['of a folder', 'Index of /pub', commands('   2024-01-01 10:00   12K'), 40],
  ])('a page %s is marked', async (_, title, body, count) => {
    const read = await page(`<title>${title}</title>${body}`)
    expect(read).toMatchObject({ title, content: `A list of ${count} links.` })
    expect(read.columns).toEqual({ kind: 'index' })
  })

  test('linked code with a word about each is text', async () => {
    const read = await page(`<title>Commands</title>${commands(' records the changes')}`)
    expect(read.columns).toEqual({})
    expect(read.content).toContain('git-7 records the changes')
  })
})

describe('what a page says about itself', () => {
  test('its title, without the name of the site', async () => {
    const titles: readonly [string, string | null][] = [
      ['<title> Tea\n &amp; Duck </title><h1>Teas</h1>', 'Tea & Duck'],
      [
        '<title>json — JSON — Python 3 docs</title><h1>json — JSON<a href="#j">¶</a></h1>',
        'json — JSON',
      ],
      ['<title>Ducks | Birds</title><meta property="og:site_name" content="Birds">', 'Ducks'],
      ['<meta property="og:title" content="Ducks">', 'Ducks'],
      ['<h1>Ducks</h1>', 'Ducks'],
      ['<p>x', null],
    ]
    for (const [html, title] of titles) expect((await page(html)).title).toBe(title)
  })

  test('its author, date, language and description', async () => {
    const { columns } = await page(`<html lang="de-AT"><meta name=author content="A. Duck">
      <meta property="article:published_time" content="2024-05-01T10:00:00Z">
      <meta name=description content="About  ducks"><p>x`)
    expect(columns).toEqual({
      author: 'A. Duck',
      published: '2024-05-01T10:00:00Z',
      language: 'de-AT',
      description: 'About ducks',
    })
  })

  test('links become absolute and are listed, also by a base address', async () => {
    const html = `<a href="next">n</a> <a href="/top#x">t</a> <a href="javascript:1">j</a>
      <a href="mailto:a@b">m</a> <a href="https://b.test/">b</a> <iframe src="/f"></iframe>`
    expect((await page(html)).links).toEqual([
      'https://a.test/dir/next',
      'https://a.test/top#x',
      'https://b.test/',
      'https://a.test/f',
    ])
    const based = await page('<base href="/docs/"><a href="x">x</a>')
    expect(based.links).toEqual(['https://a.test/docs/x'])
  })

  test('its own address on its own host, where it sends readers, what robots may', async () => {
    const read =
      await page(`<link rel=canonical href="/duck"><meta http-equiv=refresh content="0; url=/new">
      <meta name=robots content="noindex, nofollow"><p>x`)
    expect(read.page).toEqual({
      canonical: 'https://a.test/duck',
      refresh: 'https://a.test/new',
      isKept: false,
      isFollowed: false,
    })
    const other = await page('<link rel=canonical href="https://b.test/duck"><p>x')
    expect(other.page).toEqual({ canonical: null, refresh: null, isKept: true, isFollowed: true })
  })
})

test('a tag with a name that no element can have loses nothing but itself', async () => {
  expect((await page('<p>one <a<b>two</a<b> three <sec\u0001tion>four</p>')).content).toBe(
    'one two three four',
  )
})

test('a tag with more attributes than a page has keeps its text, and goes without them', async () => {
  const attributes = Array.from({ length: 2000 }, (_, index) => `a${index}="b"`).join(' ')
  const read = await page(`<p>one <a href="/two" ${attributes}>two</a> <a href="/three">three</a>`)
  expect(read.content).toBe('one two three')
  expect(read.links).toEqual(['https://a.test/three'])
})

test('a formula in many rows is read in a moment', async () => {
  const html = `<p>so <math>${'<mrow>'.repeat(60)}<mi>x</mi><mo>=</mo><mn>1</mn></math> follows`
  const startMs = performance.now()
  expect(await markdown(html)).toBe('so x = 1 follows')
  expect(performance.now() - startMs).toBeLessThan(5_000)
})
