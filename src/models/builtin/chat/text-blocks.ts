import { type Span, trimmedSpan } from '../../../core/text/words.ts'

/** Lines that belong together. A `term` has a description below, as in a manual page. */
export type TextBlock = Span &
  (
    | { readonly kind: 'heading'; readonly level: number; readonly title: string }
    | { readonly kind: 'prose'; readonly indent: number }
    | { readonly kind: 'item'; readonly indent: number }
    | { readonly kind: 'row'; readonly header: Span | null }
    | { readonly kind: 'code' }
    | { readonly kind: 'term'; readonly description: Span }
  )

interface Line extends Span {
  readonly text: string
  readonly indent: number
}

const FENCE = /^\s*(`{3,}|~{3,})/
const HEADING_LINE = /^\s{0,3}(#{1,6})\s*(?=[^#\s])(.*)$/
const HTML_HEADING = /^\s*<(h[1-6]|summary)\b[^<>]*>(.*?)(<\/(h[1-6]|summary)>)?\s*$/i
const UNDERLINE = /^\s{0,3}(={3,}|-{3,})\s*$/
const ITEM = /^(\s*)([-*+•‣◦]|\d{1,3}[.)])\s+(\[[ x]\]\s+)?(?=\S)/
const ROW = /^\s*\|.*\S/
const RULER = /^[\s|:+=_*-]*$/
const TABLE_RULER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$/
/** Matches link definitions, which are not readable text. */
const LINK_TARGET = /^\s{0,3}\[[^\]]{1,200}\]:\s*\S/
/** Matches `**Figure 6.1. Warning when closing**`. */
const CAPTION =
  /^[\s*_]*(?:fig(?:ure|\.)|table|example|listing|abb(?:ildung|\.)|tabelle|beispiel)\s[\dA-Z][\d.-]*[.:].{0,150}$/i
/** Matches a manual page's first and last line: `DU(1)      User Commands      DU(1)`. */
const MANUAL_MARGIN = /^\S[^\n]{0,80}\s{3,}\S[^\n]{0,80}\s{3,}\S{1,40}\(\d\w{0,6}\)\s*$/
const UNREADABLE = [LINK_TARGET, MANUAL_MARGIN, CAPTION] as const
export const MARKUP =
  /<[^<>]{0,500}>|!?\[[^[\]]{0,300}\](\([^()\s]{0,500}\)|\[[^[\]]{0,200}\])|https?:\S+/g
/** A shorter line was ended on purpose, not wrapped. */
const WRAPPED_CHARS_MIN = 50
const TERM_CHARS_MAX = 100
const CODE_INDENT = 4
/** The most lines for the names of one option. */
const NAMES_MAX = 4
/** Matches lines such as `**--move** (optional)`, but neither questions nor captions. */
const NAMES =
  /^(?:(?:\*\*[^*]{1,100}(?<![?？:])\*\*|`[^`]{1,100}`)(?: \([^()]{1,60}\))?[\s,|/]{0,3})+$/
const OPTION = /^\s*-{1,2}\w/
/** Matches `-k     like --block-size=1K`. */
const OPTION_WITH_TEXT = /^\s*-{1,2}[\w?]\S*(?:,? -{1,2}\S+)*(?:\s{2,}(?=\S)|\s(?=\S+\s\S+\s))/

/** The blocks of a text in order, without unreadable parts (pictures, link targets, rules). */
export function textBlocks(text: string): readonly TextBlock[] {
  return new BlockReader(text).read()
}

class BlockReader {
  readonly #text: string
  readonly #lines: readonly Line[]
  readonly #blocks: TextBlock[] = []
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#lines = textLines(text)
  }

  read(): readonly TextBlock[] {
    if (startsInCode(this.#lines.map((line) => line.text))) this.#code()
    while (this.#at < this.#lines.length) this.#next()
    return this.#blocks
  }

  #line(at = this.#at): Line {
    return (
      this.#lines[at] ?? { text: '', indent: 0, start: this.#text.length, end: this.#text.length }
    )
  }

  #next(): void {
    const { text } = this.#line()
    if (text.trim() === '' || UNREADABLE.some((one) => one.test(text))) {
      this.#at += 1
    } else if (text.trimStart().startsWith('<!--')) {
      this.#comment()
    } else if (FENCE.test(text)) {
      this.#at += 1
      this.#code()
    } else if (!this.#heading() && !this.#table() && !this.#item() && !this.#term()) {
      if (!this.#indentedCode() && !this.#entry()) this.#prose()
    }
  }

  #comment(): void {
    let end = this.#at
    while (end < this.#lines.length && !this.#line(end).text.includes('-->')) end += 1
    this.#at = end + 1
  }

  /** Reads up to the closing fence. */
  #code(): void {
    const from = this.#at
    while (this.#at < this.#lines.length && !FENCE.test(this.#line().text)) this.#at += 1
    if (this.#at > from) {
      this.#add({ kind: 'code', start: this.#line(from).start, end: this.#line(this.#at - 1).end })
    }
    this.#at += 1
  }

  #heading(): boolean {
    const line = this.#line()
    const [, marks, title] = HEADING_LINE.exec(line.text) ?? []
    if (marks !== undefined && title !== undefined) {
      return this.#title(marks.length, title.replace(/\s#+\s*$/, ''), 1)
    }
    const html = HTML_HEADING.exec(line.text)
    if (html !== null) return this.#title(Number(html[1]?.[1]) || 6, html[2] ?? '', 1)
    const underline = UNDERLINE.exec(this.#line(this.#at + 1).text)?.[1]
    const isUnderlined = underline !== undefined && !ITEM.test(line.text) && !ROW.test(line.text)
    if (isUnderlined) return this.#title(underline.startsWith('=') ? 1 : 2, line.text, 2)
    if (this.#isManualHeading(line)) return this.#title(2, line.text, 1)
    return this.#isAboveOptions(line) && this.#title(3, line.text, 1)
  }

  /** Whether the line is a heading such as `OPTIONS`: at the margin, with indented lines below. */
  #isManualHeading({ text, indent }: Line): boolean {
    if (indent > 0 || text.length > 80 || !/^[A-Z][A-Z0-9 ,/&-]+$/.test(text.trim())) return false
    const below = this.#lines
      .slice(this.#at + 1, this.#at + 3)
      .find((line) => line.text.trim() !== '')
    return below !== undefined && below.indent >= 2
  }

  /** Whether the line is a manual's heading within `OPTIONS`, such as `Output Control`. */
  #isAboveOptions({ text, indent }: Line): boolean {
    const below = this.#line(this.#at + 1)
    return /^\s+[A-Z][\w ,/&-]+$/.test(text) && below.indent > indent && OPTION.test(below.text)
  }

  #title(level: number, text: string, lines: number): boolean {
    const title = plainTitle(text)
    if (title !== '') {
      const { start, end } = this.#line()
      this.#add({ kind: 'heading', level, title, start, end })
    }
    this.#at += lines
    return true
  }

  #table(): boolean {
    const hasRuler = TABLE_RULER.test(this.#line(this.#at + 1).text)
    if (!ROW.test(this.#line().text) && !hasRuler) return false
    const { start, end } = this.#line()
    const header = hasRuler ? { start, end } : null
    if (hasRuler) this.#at += 2
    while (this.#at < this.#lines.length) {
      const line = this.#line()
      if (line.text.trim() === '' || !line.text.includes('|') || FENCE.test(line.text)) break
      if (!RULER.test(line.text)) this.#add({ kind: 'row', header, ...this.#trimmed(line) })
      this.#at += 1
    }
    return true
  }

  /** Reads an item with its continuation lines, which must be indented after a blank line. */
  #item(): boolean {
    const match = ITEM.exec(this.#line().text)
    if (match === null) return false
    const { start, indent } = this.#line()
    let end = this.#line().end
    this.#at += 1
    while (this.#at < this.#lines.length) {
      const line = this.#line()
      if (line.text.trim() === '' || ITEM.test(line.text) || FENCE.test(line.text)) break
      if (HEADING_LINE.test(line.text) || ROW.test(line.text)) break
      end = line.end
      this.#at += 1
    }
    const from = start + match[0].length
    this.#add({ kind: 'item', indent, ...this.#trimmed({ start: from, end }) })
    return true
  }

  /** Reads a short line with more deeply indented lines below it. */
  #term(): boolean {
    const line = this.#line()
    // An option may have several names, each on its own line.
    const isOption = (one: Line) => one.indent === line.indent && OPTION.test(one.text)
    let names = 1
    while (isOption(line) && names < NAMES_MAX && isOption(this.#line(this.#at + names))) names += 1
    if (isOption(line) && OPTION_WITH_TEXT.test(line.text)) names = 1
    const term = line.text.trim()
    const below = this.#line(this.#at + names)
    const isDeeper = below.text.trim() !== '' && below.indent >= line.indent + 2
    if (!isDeeper && OPTION_WITH_TEXT.test(line.text)) {
      this.#at += 1
      const names = OPTION_WITH_TEXT.exec(line.text)?.[0].length ?? 0
      const description = { start: line.start + names, end: line.end }
      this.#add({ kind: 'term', description, ...this.#trimmed(line) })
      return true
    }
    if (!isDeeper || term.length > TERM_CHARS_MAX || /[.;:{([]$/.test(term)) return false
    if (line.indent === 0 && !/^[-`:*]|^\S+$/.test(term) && !/^\s*:/.test(below.text)) return false
    this.#at += names
    let end = below.end
    while (this.#at < this.#lines.length) {
      const next = this.#line()
      if (next.text.trim() === '') {
        const after = this.#line(this.#at + 1)
        // After a blank line, the same indentation means another paragraph of the description.
        if (after.text.trim() === '' || after.indent < below.indent || ITEM.test(after.text)) break
      } else if (next.indent < below.indent) {
        break
      } else {
        end = next.end
      }
      this.#at += 1
    }
    const description = this.#trimmed({ start: below.start, end })
    const start = line.end - line.text.trimStart().length
    this.#add({ kind: 'term', description, start, end: description.end })
    return true
  }

  #indentedCode(): boolean {
    const from = this.#at
    let to = from
    while (this.#line(to).indent >= CODE_INDENT && this.#line(to).text.trim() !== '') to += 1
    if (to === from) return false
    const span = { start: this.#line(from).start, end: this.#line(to - 1).end }
    if (!isCode(this.#text.slice(span.start, span.end))) return false
    this.#at = to
    this.#add({ kind: 'code', ...span })
    return true
  }

  /** Reads names that have a line each and the paragraph below, which a definition list becomes. */
  #entry(): boolean {
    const from = this.#at
    const { start } = this.#line()
    for (let names = 0; names < NAMES_MAX && NAMES.test(this.#line().text); names += 1) {
      this.#at += this.#line(this.#at + 1).text.trim() === '' ? 2 : 1
    }
    const { text } = this.#line()
    const isOther = [/^\s*$/, NAMES, ITEM, ROW, FENCE, HEADING_LINE, LINK_TARGET].some((one) => {
      return one.test(text)
    })
    if (this.#at === from || isOther) {
      this.#at = from
      return false
    }
    const description = this.#paragraph()
    this.#add({ kind: 'term', description, start, end: description.end })
    return true
  }

  #prose(): void {
    const { indent } = this.#line()
    const span = withoutQuoteMark(this.#text, this.#paragraph())
    if (isReadable(this.#text.slice(span.start, span.end)))
      this.#add({ kind: 'prose', indent, ...span })
  }

  /** Joins lines that were wrapped at a margin. */
  #paragraph(): Span {
    const { start } = this.#line()
    let last = this.#line()
    this.#at += 1
    while (this.#at < this.#lines.length) {
      const line = this.#line()
      if (line.text.trim() === '' || !this.#continues(last, line)) break
      last = line
      this.#at += 1
    }
    return this.#trimmed({ start, end: last.end })
  }

  #continues(last: Line, line: Line): boolean {
    if (ITEM.test(line.text) || ROW.test(line.text) || HEADING_LINE.test(line.text)) return false
    if (FENCE.test(line.text) || LINK_TARGET.test(line.text)) return false
    if (UNDERLINE.test(line.text) || RULER.test(line.text)) return false
    if (UNDERLINE.test(this.#line(this.#at + 1).text)) return false
    const isEnded = /[.!?:。！？]["'”’»)\]*_]*$/.test(last.text.trim())
    const isWrapped = last.text.trim().length >= WRAPPED_CHARS_MIN
    return (isWrapped && (!isEnded || last.text.length >= 60)) || /^[\s>]*\p{Ll}/u.test(line.text)
  }

  #trimmed(span: Span): Span {
    return trimmedSpan(this.#text, span)
  }

  #add(block: TextBlock): void {
    if (block.end > block.start) this.#blocks.push(block)
  }
}

function textLines(text: string): readonly Line[] {
  const lines: Line[] = []
  for (let start = 0; start <= text.length; ) {
    const at = text.indexOf('\n', start)
    const end = at === -1 ? text.length : at
    const line = text.slice(start, end).replace(/\r$/, '')
    const indent = line.length - line.trimStart().length
    const width = line.startsWith('\t') ? CODE_INDENT * indent : indent
    lines.push({ text: line, indent: width, start, end: start + line.length })
    start = end + 1
  }
  return lines
}

/** The text without markup, links and pictures. */
export function plainTitle(text: string): string {
  return text
    .slice(0, 300)
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replace(/<[^<>]*>/g, '')
    .replace(/[*`]|^_|_$/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

const LINK = /(?<!!)\[([^[\]]{1,80})\](?:\([^()\s]{0,500}\)|\[[^[\]]{0,200}\])/g

const LINKS_MAX = 2

/** Whether there are words besides markup, and more than a mere link such as `[MIT](LICENSE)`. */
function isReadable(text: string): boolean {
  const isShort = (text.match(LINK)?.length ?? 0) <= LINKS_MAX
  const plain = isShort ? text.replace(LINK, '$1') : text
  // Applied twice, because a badge is a picture inside a link.
  return /[\p{L}\p{N}]/u.test(plain.replace(MARKUP, ' ').replace(MARKUP, ' '))
}

/** Removes the `> ` of a Markdown quote, and paragraph tags. */
function withoutQuoteMark(text: string, { start, end }: Span): Span {
  const part = text.slice(start, end)
  const before =
    /^(?:\s*>\s?(?:\[![A-Z]+\]\s*>?\s?)?|\s*<[^<>]{0,300}>)*\s*/.exec(part)?.[0].length ?? 0
  const after = /(?:\s*<\/?[a-z][^<>]{0,100}>)*\s*$/i.exec(part.slice(before))?.[0].length ?? 0
  return { start: start + before, end: end - after }
}

/** Fences alternate and only opening ones have a language; otherwise code is least like prose. */
function startsInCode(lines: readonly string[]): boolean {
  const fences = lines.flatMap((line, index) => (FENCE.test(line) ? [index] : []))
  const [first, second] = fences
  if (first === undefined) return false
  const named = fences.findIndex((at) => /[a-z]/i.test(lines[at] ?? ''))
  if (named !== -1) return named % 2 === 1
  const [before, after] = [lines.slice(0, first), lines.slice(first + 1, second)]
  const [prose, proseAfter] = [proseShare(before), proseShare(after)]
  // Cut on both sides is rarer than whole, so it takes more to believe it.
  if (fences.length % 2 === 0 && prose >= PROSE_MIN) return false
  return prose === proseAfter ? codeShare(before) > codeShare(after) : prose < proseAfter
}

function codeShare(lines: readonly string[]): number {
  const text = lines.join('')
  return (text.match(/[{}();=<>]/g)?.length ?? 0) / (text.length + 1)
}

const PROSE_MIN = 0.5
/** The beginning of a line tells whether it is prose. */
const LINE_CHARS_MAX = 1_000
/** A lower-case line after a single `#` is a command or a comment. */
const PROSE =
  /^\s*(?!\/\/|\*|#!|<|\$ ).*\p{L}{2,}[,;]? [`*_]?\p{L}{2,}[`*_]?[,;]? [`*_]?\p{L}{2,}|^\s*(([-*+]|#{2,}|#(?=\s+(?!\p{Ll})[\p{L}\p{N}])|\d+[.)])\s|\*\*\S|\p{Lu}[^(){};]*:$)/u

function proseShare(lines: readonly string[]): number {
  const written = lines.map((line) => line.trim()).filter((line) => line !== '')
  if (written.length === 0) return 1
  const prose = written.filter(
    (line) => !/[;{}]$/.test(line) && PROSE.test(line.slice(0, LINE_CHARS_MAX)),
  )
  return prose.length / written.length
}

function isCode(text: string): boolean {
  return proseShare(text.split('\n')) < PROSE_MIN
}
