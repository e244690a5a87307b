import { describe, expect, test } from 'bun:test'
import { strToU8, zipSync } from 'fflate'
import { fileFormat } from '../../src/reading/file-format.ts'
import { read } from './read-bytes.ts'
import { paragraph, shape, tinyDocx, tinyPptx, tinyZip } from './tiny-office.ts'

async function docx(body: string, more: Partial<Parameters<typeof tinyDocx>[0]> = {}) {
  return (await read(tinyDocx({ body, ...more }))).content
}

const style = (id: string, name: string, more = '') =>
  `<w:style w:styleId="${id}"><w:name w:val="${name}"/>${more}</w:style>`
const styled = (id: string) => `<w:pStyle w:val="${id}"/>`
const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`

describe('DOCX', () => {
  test('headings by style, by outline level and by what a style is based on', async () => {
    const styles = [
      style('berschrift1', 'heading 1'),
      style('Own', 'Chapter', '<w:basedOn w:val="berschrift2"/>'),
      style('berschrift2', 'Überschrift 2'),
      style('Deep', 'Deep', '<w:pPr><w:outlineLvl w:val="2"/></w:pPr>'),
      style('Loop', 'Loop', '<w:basedOn w:val="Loop"/>'),
    ].join('')
    const body = [
      paragraph('One', styled('berschrift1')),
      paragraph('Two', styled('Own')),
      paragraph('Three', styled('Deep')),
      paragraph('Four', '<w:outlineLvl w:val="3"/>'),
      paragraph('text', styled('Loop')),
    ].join('')
    expect(await docx(body, { styles })).toBe('# One\n\n## Two\n\n### Three\n\n#### Four\n\ntext')
  })

  test('styles that are based on one another without end are read', async () => {
    const based = (id: number) => style(`S${id}`, `S${id}`, `<w:basedOn w:val="S${id + 1}"/>`)
    const styles = Array.from({ length: 100_000 }, (_, id) => based(id)).join('')
    expect(await docx(paragraph('text', styled('S0')), { styles })).toBe('text')
  })

  test('lists with the numbers that Word counts, also in headings', async () => {
    const level = (at: number, format: string, text: string) =>
      `<w:lvl w:ilvl="${at}"><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`
    const numbering = `<w:abstractNum w:abstractNumId="0">${level(0, 'decimal', '%1.')}${level(1, 'lowerLetter', '(%2)')}</w:abstractNum>
      <w:abstractNum w:abstractNumId="1">${level(0, 'bullet', 'x')}</w:abstractNum>
      <w:num w:numId="5"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="6"><w:abstractNumId w:val="1"/></w:num>`
    const item = (text: string, list: number, depth: number) =>
      paragraph(text, `<w:numPr><w:ilvl w:val="${depth}"/><w:numId w:val="${list}"/></w:numPr>`)
    const body = [
      item('one', 5, 0),
      item('first', 5, 1),
      item('second', 5, 1),
      item('two', 5, 0),
      item('again', 5, 1),
      item('dot', 6, 0),
      paragraph('Scope', `<w:outlineLvl w:val="0"/><w:numPr><w:numId w:val="5"/></w:numPr>`),
    ].join('')
    expect(await docx(body, { numbering })).toBe(
      '1. one\n  (a) first\n  (b) second\n2. two\n  (a) again\n- dot\n\n# 3. Scope',
    )
  })

  test('tables whole: merged cells, wrapped rows, several paragraphs; a layout is not a table', async () => {
    const cell = (text: string, properties = '') =>
      `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(text)}</w:tc>`
    const body = `<w:tbl><w:tr>${cell('tea')}${cell('price', '<w:gridSpan w:val="2"/>')}</w:tr>
      <w:sdt><w:sdtContent><w:tr><w:tc>${paragraph('green')}${paragraph('a|b')}</w:tc>${cell('9', '<w:vMerge w:val="restart"/>')}${cell('x')}</w:tr></w:sdtContent></w:sdt>
      <w:tr>${cell('black')}${cell('', '<w:vMerge/>')}${cell('y')}</w:tr></w:tbl>
      <w:tbl><w:tr>${cell('only a box')}</w:tr></w:tbl>`
    expect(await docx(body)).toBe(
      '| tea | price |  |\n| --- | --- | --- |\n| green a\\|b | 9 | x |\n| black |  | y |\n\nonly a box',
    )
  })

  test('what changed is read as accepted; remarks and hidden text are not there', async () => {
    const body = `<w:p>${run('kept ')}<w:ins>${run('added')}</w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>
      <w:moveFrom>${run('moved')}</w:moveFrom><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:commentReference w:id="1"/></w:r></w:p>`
    expect(await docx(body)).toBe('kept added')
  })

  test('fields show their result; a table of contents is left out; a field without an end hides nothing', async () => {
    const field = (instruction: string, result: string) =>
      `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>${instruction}</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>${run(result)}<w:r><w:fldChar w:fldCharType="end"/></w:r>`
    expect(
      await docx(`<w:p>${field(' TOC \\o', 'Scope 3')}</w:p><w:p>${field('REF x', 'seen')}</w:p>`),
    ).toBe('seen')
    const open = '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
    expect(await docx(`<w:p>${open}${run('all of it')}</w:p>`)).toBe('all of it')
  })

  test('notes follow their paragraph, text boxes too, each once', async () => {
    const box = `<w:txbxContent>${paragraph('in a box')}</w:txbxContent>`
    const body = `<w:p>${run('text')}<w:r><w:footnoteReference w:id="2"/></w:r><w:r><mc:AlternateContent><mc:Choice><w:drawing>${box}</w:drawing></mc:Choice><mc:Fallback><w:pict>${box}</w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>${paragraph('next')}`
    const footnotes = `<w:footnote w:id="2">${paragraph('the note')}</w:footnote>`
    expect(await docx(body, { footnotes })).toBe('text[^1]\n\n[^1]: the note\n\nin a box\n\nnext')
  })

  test('equations, signs, breaks, links, controls and raised digits are text', async () => {
    const body = `<w:p><m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>${run(' 5')}
      <w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:noBreakHyphen/><w:softHyphen/></w:r><w:hyperlink r:id="x">${run('link')}</w:hyperlink>
      <w:sdt><w:sdtContent>${run(' m')}<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>2</w:t></w:r></w:sdtContent></w:sdt><w:r><w:br/><w:t>new line</w:t></w:r></w:p>`
    expect(await docx(body)).toBe('(a+b)/2 5✓-link m²\nnew line')
  })

  test('code is fenced; title and author are facts of the document', async () => {
    const body = ['def f():', '  return 1'].map((line) => {
      return `<w:p><w:pPr>${styled('SourceCode')}</w:pPr>${run(line)}</w:p>`
    })
    const core = '<dc:title>Teas</dc:title><dc:creator>Ann</dc:creator>'
    const found = await read(
      tinyDocx({ body: body.join(''), styles: style('SourceCode', 'Source Code'), core }),
    )
    expect(found.content).toBe('```\ndef f():\n  return 1\n```')
    expect(found).toMatchObject({ title: 'Teas', columns: { author: 'Ann' }, syntax: 'markdown' })
  })

  test('a file that is truncated, lacks its text part or expands too much is a clear error', async () => {
    const whole = tinyDocx({ body: paragraph('x') })
    expect(() => fileFormat('a.docx', whole.subarray(0, whole.length - 30))).toThrow('cut off')
    const empty = tinyZip({ '[Content_Types].xml': '<Types/>', 'word/other.xml': '<x/>' })
    await expect(read(empty)).rejects.toThrow('no text part')
    const zeros = new Uint8Array(40 * 1024 * 1024)
    const bomb = zipSync({ '[Content_Types].xml': new Uint8Array(1), 'word/document.xml': zeros })
    await expect(read(bomb)).rejects.toThrow('expands too much')
    const deep = `${'<w:ins>'.repeat(600)}`
    await expect(read(tinyDocx({ body: deep }))).rejects.toThrow('nested deeper than 500')
  })

  test('a byte that was changed is an error, even where it still is text', async () => {
    const body = `<w:document><w:body>${paragraph('ten tons')}</w:body></w:document>`
    const parts = { '[Content_Types].xml': '<Types/>', 'word/document.xml': body }
    const files = Object.entries(parts).map(([name, text]) => [name, strToU8(text)] as const)
    const bytes = zipSync(Object.fromEntries(files), { level: 0 })
    expect((await read(bytes)).content).toBe('ten tons')
    bytes[Buffer.from(bytes).indexOf('ten tons')] = 'p'.charCodeAt(0)
    await expect(read(bytes)).rejects.toThrow('its part word/document.xml is not what was packed')
  })

  test('entities that a document declares stay what they are', async () => {
    const bytes = tinyZip({
      '[Content_Types].xml': '<Types/>',
      'word/document.xml': `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><w:document><w:body>${paragraph('&b; &amp; c')}</w:body></w:document>`,
    })
    expect((await read(bytes)).content).toBe('&b; & c')
  })
})

describe('PPTX', () => {
  test('the points of a chart are in their rows; dates are dates, levels are joined', async () => {
    const points = (...values: readonly (readonly [number, string])[]) =>
      values.map(([at, value]) => `<c:pt idx="${at}"><c:v>${value}</c:v></c:pt>`).join('')
    const slide =
      '<p:graphicFrame><a:graphic><a:graphicData><c:chart r:id="rId1"/></a:graphicData></a:graphic></p:graphicFrame>'
    const chart = async (categories: string) => {
      const series = `<c:ser><c:tx><c:v/>${points([0, 'Sold'])}</c:tx><c:cat>${categories}</c:cat><c:val><c:numRef><c:numCache>${points([0, '5'], [2, '7'])}</c:numCache></c:numRef></c:val></c:ser>`
      const parts = {
        'ppt/slides/_rels/slide1.xml.rels':
          '<Relationships><Relationship Id="rId1" Type="x/chart" Target="../charts/chart1.xml"/></Relationships>',
        'ppt/charts/chart1.xml': `<c:chartSpace><c:chart><c:plotArea>${series}</c:plotArea></c:chart></c:chartSpace>`,
      }
      return (await read(tinyPptx([slide], parts))).content.split('\n').slice(2)
    }
    const dates = `<c:numRef><c:numCache><c:formatCode>m/d/yyyy</c:formatCode>${points([0, '37261'], [2, '37263'])}</c:numCache></c:numRef>`
    expect(await chart(dates)).toEqual(['| 2002-01-05 | 5 |', '| 2002-01-07 | 7 |'])
    const levels = [points([0, 'SF'], [1, 'LA'], [2, 'NY']), points([0, 'CA'], [2, 'NY'])]
    const joined = levels.map((level) => `<c:lvl>${level}</c:lvl>`).join('')
    const found = await chart(`<c:multiLvlStrRef>${joined}</c:multiLvlStrRef>`)
    expect(found).toEqual(['| CA / SF | 5 |', '| CA / LA |  |', '| NY / NY | 7 |'])
  })

  test('a heading and a part for each slide, tables, lists, notes; footers left out', async () => {
    const table = `<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>b</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>`
    const found = await read(
      tinyPptx(
        [
          shape(['one', 'two'], 'body') + shape(['First'], 'title') + shape(['7'], 'sldNum'),
          '',
          table,
        ],
        {
          'ppt/slides/_rels/slide1.xml.rels':
            '<Relationships><Relationship Id="n" Type="x/notesSlide" Target="../notesSlides/n1.xml"/></Relationships>',
          'ppt/notesSlides/n1.xml': `<p:notes><p:cSld><p:spTree>${shape(['Say this'], 'body')}</p:spTree></p:cSld></p:notes>`,
        },
      ),
    )
    expect(found.content).toBe(
      '# First\n\n- one\n- two\n\nNotes: Say this\n\n| a | b |\n| --- | --- |',
    )
    expect(found.parts).toEqual({ unit: 'slide', starts: [0, 37, 39] })
    expect(found.title).toBe('First')
    expect(found.warnings).toEqual(['1 of 3 slides hold no text'])
  })
})
