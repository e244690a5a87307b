import type { RawDocument, ReadDocument } from '../../../core/domain/ports/reading-ports.ts'
import { oneLine } from '../../../core/short-text.ts'
import { unreadable, wholeDocument } from '../../document-format.ts'
import { READING_LIMITS } from '../../reading-limits.ts'
import { type Block, markdownOfBlocks, titleOfBlocks } from './markdown-blocks.ts'

/** Converts Rich Text (RTF) to Markdown: paragraphs, headings by outline level, tables. */
export function* readRtf({ bytes }: RawDocument): Generator<ReadDocument> {
  const reader = new RtfText(new TextDecoder('latin1').decode(bytes))
  const blocks = reader.read()
  yield wholeDocument({
    content: markdownOfBlocks(blocks),
    title: oneLine(reader.title) || titleOfBlocks(blocks),
    syntax: 'markdown',
    columns: reader.author.trim() === '' ? {} : { author: oneLine(reader.author) },
  })
}

function controlWords(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/))
}

/** Parses `a b, c d` to a map of a to b and c to d. */
function pairsOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    Array.from(text.matchAll(/(\w+) ([\w-]+)/g), ([, key = '', value = '']) => [key, value]),
  )
}

/** Groups that are not part of the document's text. */
const NO_TEXT = controlWords(`
  fonttbl colortbl stylesheet info pict object header footer headerl headerr headerf
  footerl footerr footerf fldinst listtable listoverridetable themedata generator rsidtbl
  xmlnstbl datastore bkmkstart bkmkend pntext pntxta pntxtb pn annotation atnid atnauthor
  nonshppict latentstyles wgrffmtfilter filetbl revtbl mmathPr shpinst sp ftnsep
`)

const SIGNS: Readonly<Record<string, string>> = {
  tab: '\t',
  line: '\n',
  emdash: '—',
  endash: '–',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  bullet: '•',
  emspace: ' ',
  enspace: ' ',
}

const CODE_PAGES = pairsOf(`
  437 windows-1252, 850 windows-1252, 932 shift_jis, 936 gb18030, 949 euc-kr, 950 big5,
  10000 macintosh
`)

/** Encodings by the numbers of Windows character sets. */
const CHARSETS = pairsOf(`
  128 shift_jis, 129 euc-kr, 134 gb18030, 136 big5, 161 windows-1253, 162 windows-1254,
  163 windows-1258, 177 windows-1255, 178 windows-1256, 186 windows-1257, 204 windows-1251,
  222 windows-874, 238 windows-1250
`)

interface Group {
  isHidden: boolean
  /** Where the text of the group goes, if not into the paragraph. */
  target: 'text' | 'marker' | 'title' | 'author' | 'note'
  encoding: string
  /** How many fallback characters to skip after a `\u`. */
  replaced: number
  isFontTable: boolean
  isStyleSheet: boolean
}

const TOKEN =
  /\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)|\\/gy

class RtfText {
  readonly #source: string
  readonly #groups: Group[] = []
  readonly #fonts = new Map<string, string>()
  #group: Group = {
    isHidden: false,
    target: 'text',
    encoding: 'windows-1252',
    replaced: 1,
    isFontTable: false,
    isStyleSheet: false,
  }
  #font = ''
  /** The outline levels of styles. */
  readonly #styles = new Map<string, number>()
  #style = ''
  #codes: number[] = []
  #skip = 0
  #texts = { text: '', marker: '', title: '', author: '', note: '' }
  #level: number | null = null
  #isInTable = false
  readonly #blocks: Block[] = []
  #notes: Block[] = []
  #noteCount = 0
  #cell: Block[] = []
  #row: (readonly Block[])[] = []
  #rows: (readonly (readonly Block[])[])[] = []

  constructor(source: string) {
    this.#source = source
  }

  get title(): string {
    return this.#texts.title
  }

  get author(): string {
    return this.#texts.author
  }

  read(): readonly Block[] {
    TOKEN.lastIndex = 0
    for (let found = TOKEN.exec(this.#source); found !== null; found = TOKEN.exec(this.#source)) {
      const [, word, number, code, sign, brace, text] = found
      if (code === undefined) this.#flushCodes()
      if (word === 'bin') TOKEN.lastIndex += Math.max(Number(number ?? 0), 0)
      else if (word !== undefined) this.#word(word, number)
      else if (code !== undefined) this.#code(Number.parseInt(code, 16))
      else if (sign !== undefined) this.#sign(sign)
      else if (brace === '{') this.#open()
      else if (brace === '}') this.#close()
      else if (text !== undefined) this.#write(text)
    }
    this.#flushCodes()
    this.#endParagraph()
    this.#endTable()
    return this.#blocks
  }

  #open(): void {
    if (this.#groups.length > READING_LIMITS.rtfDepthMax) {
      const limit = `${READING_LIMITS.rtfDepthMax} levels`
      throw unreadable(`RTF nested deeper than ${limit}`)
    }
    this.#groups.push(this.#group)
    this.#group = { ...this.#group }
  }

  #close(): void {
    const closed = this.#group
    this.#group = this.#groups.pop() ?? closed
    if (closed.target !== 'note' || this.#group.target === 'note') return
    this.#noteCount += 1
    const mark = `[^${this.#noteCount}]`
    this.#notes.push({ kind: 'paragraph', text: `${mark}: ${oneLine(this.#texts.note)}` })
    this.#texts.note = ''
    this.#texts[this.#group.target] += mark
  }

  #sign(sign: string): void {
    if (sign === '*') this.#group.isHidden = true
    else if (sign === '~') this.#write(' ')
    else if (sign === '_') this.#write('-')
    else if (sign === '\n' || sign === '\r') this.#word('par', undefined)
    else if (/[\\{}]/.test(sign)) this.#write(sign)
  }

  #write(text: string): void {
    const shown = this.#skip > 0 ? text.slice(this.#skip) : text
    this.#skip = Math.max(0, this.#skip - text.length)
    if (!this.#group.isHidden) this.#texts[this.#group.target] += shown
  }

  #code(code: number): void {
    if (this.#skip > 0) this.#skip -= 1
    else if (!this.#group.isHidden) this.#codes.push(code)
  }

  #flushCodes(): void {
    if (this.#codes.length === 0) return
    const text = decoded(Uint8Array.from(this.#codes), this.#group.encoding)
    this.#codes = []
    this.#texts[this.#group.target] += text
  }

  #word(word: string, number: string | undefined): void {
    const sign = SIGNS[word]
    if (sign !== undefined) this.#write(sign)
    else if (NO_TEXT.has(word)) this.#hide(word)
    else if (word === 'u') this.#unicode(Number(number ?? 0))
    else this.#state(word, number)
  }

  #hide(word: string): void {
    this.#group.isFontTable = word === 'fonttbl'
    this.#group.isStyleSheet = word === 'stylesheet'
    this.#group.isHidden = true
  }

  #unicode(number: number): void {
    const code = number < 0 ? number + 0x1_0000 : number
    if (code > 0 && code <= 0xffff) this.#write(String.fromCharCode(code))
    this.#skip = this.#group.replaced
  }

  #state(word: string, number: string | undefined): void {
    const group = this.#group
    if (word === 'par' || word === 'sect' || word === 'page') this.#endParagraph()
    else if (word === 'pard') this.#resetParagraph()
    else if (word === 'outlinelevel') this.#setLevel(Number(number ?? 0) + 1)
    else if (word === 's') this.#setStyle(number ?? '')
    else if (word === 'intbl') this.#isInTable = true
    else if (word === 'cell' || word === 'nestcell') this.#endCell()
    else if (word === 'row') this.#endRow()
    else if (word === 'v') group.isHidden = number !== '0'
    else if (word === 'uc') group.replaced = Math.min(Math.max(Number(number ?? 1), 0), 10)
    else if (word === 'ansicpg')
      group.encoding = CODE_PAGES.get(number ?? '') ?? `windows-${number}`
    else if (word === 'f') this.#setFont(number ?? '')
    else if (word === 'fcharset') this.#fonts.set(this.#font, CHARSETS.get(number ?? '') ?? '')
    else if (word === 'listtext') group.target = 'marker'
    else if (word === 'title' || word === 'author') this.#fact(word)
    else if (word === 'footnote') Object.assign(group, { target: 'note', isHidden: false })
  }

  /** Reads a fact about the file inside `info`, whose text is not shown. */
  #fact(fact: 'title' | 'author'): void {
    if (this.#group.isHidden) Object.assign(this.#group, { target: fact, isHidden: false })
  }

  #setFont(font: string): void {
    this.#font = font
    const encoding = this.#fonts.get(font)
    if (!this.#group.isFontTable && encoding) this.#group.encoding = encoding
  }

  #setLevel(level: number): void {
    if (this.#group.isStyleSheet) this.#styles.set(this.#style, level)
    else this.#level = level
  }

  #setStyle(style: string): void {
    this.#style = style
    if (!this.#group.isStyleSheet) this.#level = this.#styles.get(style) ?? null
  }

  #resetParagraph(): void {
    this.#level = null
    this.#isInTable = false
  }

  #endParagraph(): void {
    if (this.#group.target !== 'text') {
      this.#texts[this.#group.target] += ' '
      return
    }
    const text = this.#texts.text.trim()
    const marker = oneLine(this.#texts.marker)
    this.#texts.text = ''
    this.#texts.marker = ''
    const blocks = [...(text === '' ? [] : [this.#blockOf(text, marker)]), ...this.#notes]
    this.#notes = []
    if (this.#isInTable) this.#cell.push(...blocks)
    else if (blocks.length > 0) {
      this.#endTable()
      this.#blocks.push(...blocks)
    }
  }

  #blockOf(text: string, marker: string): Block {
    if (this.#level !== null && this.#level < 10)
      return { kind: 'heading', level: this.#level, text }
    if (marker === '') return { kind: 'paragraph', text }
    return { kind: 'item', depth: 0, marker: /[\p{L}\p{N}]/u.test(marker) ? marker : '-', text }
  }

  #endCell(): void {
    this.#isInTable = true
    this.#endParagraph()
    this.#row.push(this.#cell)
    this.#cell = []
  }

  #endRow(): void {
    this.#rows.push(this.#row)
    this.#row = []
  }

  #endTable(): void {
    if (this.#row.length > 0) this.#endRow()
    if (this.#rows.length > 0) this.#blocks.push({ kind: 'table', rows: this.#rows })
    this.#rows = []
  }
}

/** Decodes bytes of a code page, or of Windows' default if the name is unknown. */
function decoded(bytes: Uint8Array, encoding: string): string {
  try {
    return new TextDecoder(encoding).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
