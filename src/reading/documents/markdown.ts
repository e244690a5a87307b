import { Parser } from 'htmlparser2'
import { parse, postprocess, preprocess } from 'micromark'
import { parse as parseYaml } from 'yaml'
import type { Row } from '../../core/domain/document.ts'
import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { isObject } from '../../core/json.ts'
import { type ReadingNotes, wholeDocument } from '../document-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { decodeText } from '../text-encoding.ts'
import { markdownOfHtml } from './html.ts'

type Event = ReturnType<typeof postprocess>[number]
type Token = Event[1]

/** Without its invisible parts: addresses, comments, tags, escapes. */
export function* readMarkdown(
  { bytes, charset, url }: RawDocument,
  notes: ReadingNotes,
): Generator<ReadDocument> {
  const { body, title, columns } = takeFrontMatter(decodeText(bytes, charset))
  const obstacle = obstacleOf(body)
  if (obstacle !== null) notes.warn(`${obstacle}: addresses of links, comments and tags stay in it`)
  const { content, firstHeading, links } =
    obstacle === null ? cleanMarkdown(body, url) : untouched(body)
  yield wholeDocument({
    content,
    title: title ?? firstHeading,
    syntax: 'markdown',
    columns,
    links,
  })
}

/** The time of micromark 4.0 grows with the square of the nesting. */
const DEEP_QUOTE = /^(?:[ \t]*>){500}/m

/** Why the Markdown cannot be cleaned; null if it can. */
function obstacleOf(body: string): string | null {
  const { markdownCleanedCharsMax: charsMax } = READING_LIMITS
  if (body.length > charsMax) return `The Markdown is longer than ${charsMax} characters`
  return DEEP_QUOTE.test(body) ? 'The Markdown has quotes more than 500 levels deep' : null
}

function untouched(body: string): CleanMarkdown {
  const heading = /^ {0,3}#{1,6}[ \t]+([^\n]{1,500})/m.exec(body.slice(0, 10_000))?.[1]
  return {
    content: body,
    firstHeading: heading === undefined ? null : cleanLine(heading),
    links: [],
  }
}

interface CleanMarkdown {
  readonly content: string
  readonly firstHeading: string | null
  readonly links: readonly string[]
}

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
  /** Code must not change. */
  readonly isCode?: boolean
}

export function cleanMarkdown(source: string, url: string | null = null): CleanMarkdown {
  const cleaner = new Cleaner(source, url)
  for (const piece of markdownPieces(source)) cleaner.read(piece.text, piece.start)
  return cleaner.result()
}

/**
 * The parser's time grows faster than the text, so parse pieces of this size that end at headings.
 */
const PIECE_CHARS = 20_000

function* markdownPieces(
  source: string,
): Generator<{ readonly text: string; readonly start: number }> {
  let start = 0
  while (source.length - start > PIECE_CHARS) {
    const end = cutAfter(source, start + PIECE_CHARS)
    if (end === -1) break
    yield { text: source.slice(start, end), start }
    start = end
  }
  yield { text: source.slice(start), start }
}

/** Outside of code. A fence that is open there began before the cut. */
function cutAfter(source: string, from: number): number {
  const heading = /\n\n(?=#{1,6} )/g
  heading.lastIndex = from
  for (let found = heading.exec(source); found !== null; found = heading.exec(source)) {
    const before = source.slice(from - PIECE_CHARS, found.index)
    const fences = before.match(/^ {0,3}(?:```|~~~)/gm)?.length ?? 0
    if (fences % 2 === 0) return found.index + 2
    if (found.index - from > PIECE_CHARS) break
  }
  return -1
}

/** Removes what is left of lines that contained only an address or a tag. */
function tidied(text: string): string {
  return text.replace(/[ \t]+(?=\n)/g, '').replace(/\n{3,}/g, '\n\n')
}

class Cleaner {
  readonly #source: string
  readonly #url: string | null
  readonly #edits: Edit[] = []
  readonly #links = new Set<string>()
  #offset = 0
  #firstHeading: string | null = null
  /** Links and pictures that are not closed yet, with their labels. */
  readonly #labels: (Token | null)[] = []

  constructor(source: string, url: string | null) {
    this.#source = source
    this.#url = url
  }

  read(text: string, offset: number): void {
    this.#offset = offset
    // Emphasis is kept, so the parser need not find it.
    const parser = parse({ extensions: [{ disable: { null: ['attention'] } }] })
    const chunks = preprocess()(text, undefined, true)
    for (const [kind, token] of postprocess(parser.document().write(chunks))) {
      if (kind === 'enter') this.#enter(token)
      else this.#exit(token)
    }
  }

  result(): CleanMarkdown {
    const edits = this.#edits.sort((one, other) => one.start - other.start || other.end - one.end)
    const parts: string[] = []
    let loose = ''
    let at = 0
    for (const edit of edits) {
      if (edit.start < at) continue
      loose += this.#source.slice(at, edit.start)
      at = edit.end
      if (edit.isCode !== true) {
        loose += edit.text
        continue
      }
      parts.push(tidied(loose), edit.text)
      loose = ''
    }
    parts.push(tidied(loose + this.#source.slice(at)))
    if (parts[0]?.trim() !== '') parts[0] = parts[0]?.trimStart() ?? ''
    return {
      content: parts.join('').replace(/^\n+/, '').trimEnd(),
      firstHeading: this.#firstHeading,
      links: [...this.#links],
    }
  }

  #text(token: Token): string {
    return this.#source.slice(this.#start(token), this.#end(token))
  }

  #start(token: Token): number {
    return token.start.offset + this.#offset
  }

  #end(token: Token): number {
    return token.end.offset + this.#offset
  }

  #replace(start: number, end: number, text: string): void {
    this.#edits.push({ start, end, text })
  }

  #replaceAll(token: Token, text: string): void {
    this.#replace(this.#start(token), this.#end(token), text)
  }

  #enter(token: Token): void {
    if (token.type === 'link' || token.type === 'image') this.#labels.push(null)
    if (token.type === 'labelText' && this.#labels.length > 0) {
      this.#labels[this.#labels.length - 1] ??= token
    }
  }

  #exit(token: Token): void {
    if (token.type === 'link') this.#link(token, this.#labels.pop() ?? null)
    else if (token.type === 'image') this.#image(token, this.#labels.pop() ?? null)
    else if (token.type === 'definition') this.#definition(token)
    else if (/^autolink(Protocol|Email)$/.test(token.type)) this.#address(this.#text(token))
    else if (/^(resource|definition)DestinationString$/.test(token.type)) {
      this.#address(this.#text(token))
    } else if (token.type === 'autolinkMarker') this.#replaceAll(token, '')
    else if (token.type === 'htmlText') this.#replaceAll(token, textOfTag(this.#text(token)))
    else if (token.type === 'htmlFlow') this.#html(token)
    else if (token.type === 'characterEscape') this.#escape(token)
    else if (token.type === 'hardBreakEscape') this.#replaceAll(token, '')
    else if (token.type === 'characterReference') {
      this.#replaceAll(token, decoded(this.#text(token)))
    } else if (token.type === 'thematicBreak') this.#replaceAll(token, '')
    else if (/^code(Fenced|Indented)$/.test(token.type)) this.#code(token)
    else this.#heading(token)
  }

  #code(token: Token): void {
    const [start, end] = [this.#start(token), this.#end(token)]
    this.#edits.push({ start, end, text: this.#text(token), isCode: true })
  }

  /** `[^1]` is a footnote if there is a definition for it. */
  #link(token: Token, label: Token | null): void {
    if (label === null) {
      this.#replaceAll(token, '')
      return
    }
    if (this.#text(label).startsWith('^')) return
    this.#replace(this.#start(token), this.#start(label), '')
    this.#replace(this.#end(label), this.#end(token), '')
  }

  #image(token: Token, label: Token | null): void {
    const isLinked = this.#labels.length > 0
    const text = label === null || isLinked ? '' : this.#text(label)
    this.#replaceAll(token, saysSomething(text) ? text : '')
  }

  #definition(token: Token): void {
    if (this.#text(token).trimStart().startsWith('[^')) return
    const end = this.#end(token)
    this.#replace(this.#start(token), this.#source[end] === '\n' ? end + 1 : end, '')
  }

  #address(address: string): void {
    if (this.#links.size >= READING_LIMITS.linksPerPageMax) return
    const target = URL.parse(address, this.#url ?? undefined)
    if (target !== null && /^https?:$/.test(target.protocol)) this.#links.add(target.href)
  }

  /** In a table, an unescaped bar would end the cell. */
  #escape(token: Token): void {
    const sign = this.#text(token).slice(1)
    if (sign !== '|') this.#replaceAll(token, sign)
  }

  #html(token: Token): void {
    const html = this.#text(token)
    const hasText = withoutTags(html).trim() !== ''
    this.#replaceAll(token, hasText || /<img\b/i.test(html) ? markdownOfHtml(html) : '')
  }

  #heading(token: Token): void {
    if (token.type === 'atxHeadingText' || token.type === 'setextHeadingText') {
      this.#firstHeading ??= cleanLine(this.#text(token))
    }
    if (token.type !== 'setextHeading') return
    const text = this.#text(token)
    const lines = text.split('\n')
    const level = lines.at(-1)?.includes('=') ? '#' : '##'
    this.#replace(this.#start(token), this.#start(token), `${level} `)
    const underline = this.#end(token) - (lines.at(-1)?.length ?? 0) - 1
    this.#replace(underline, this.#end(token), '')
  }
}

/** Returns the text of a heading without Markdown. */
function cleanLine(line: string): string | null {
  const text = line
    .replace(/!?\[([^\]]{0,500})\](?:\([^)]{0,2000}\)|\[[^\]]{0,500}\])?/g, '$1')
    .replace(/<[^>]{0,500}>/g, '')
    .replace(/[*`]|(?<!\w)_|_(?!\w)/g, '')
    .replace(/\s+/g, ' ')
    .trim()
  return text === '' ? null : decoded(text).slice(0, 500)
}

const TAGS =
  /^<\/?(?:a|abbr|acronym|address|article|aside|b|big|blockquote|br|button|caption|center|cite|code|col|colgroup|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|font|footer|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|map|mark|meta|nav|nobr|object|ol|p|param|picture|pre|q|rp|rt|ruby|s|samp|script|section|select|small|source|span|strike|strong|style|sub|summary|sup|svg|path|table|tbody|td|tfoot|th|thead|time|title|tr|tt|u|ul|var|video|wbr)\b/i

/** An unknown tag is text in angle brackets, such as `List<String>`. */
function textOfTag(tag: string): string {
  if (tag.startsWith('<!--')) return ''
  if (!TAGS.test(tag)) return /^<[!?]/.test(tag) ? '' : tag
  if (/^<br\b/i.test(tag)) return ' '
  const alt = /^<img\b[^>]*\balt\s*=\s*(?:"([^"]*)"|'([^']*)')/i.exec(tag)
  const text = decoded(alt?.[1] ?? alt?.[2] ?? '')
  return saysSomething(text) ? text : ''
}

function withoutTags(html: string): string {
  return html.replace(/<!--[\s\S]*?(?:-->|$)/g, '').replace(/<[^>]*>/g, '')
}

const BADGE = /\b(?:badge|status|build|coverage|logo|icon|avatar|licen[cs]e|version|downloads)\b/i

/** Whether the text is a useful replacement for a picture. File names and badges are not. */
function saysSomething(text: string): boolean {
  if (text.trim().length < 5 || /^https?:|\.(png|jpe?g|gif|svg|webp)$/i.test(text.trim()))
    return false
  return (
    !/^(image|screenshot|figure|picture|photo)\b.{0,4}$/i.test(text) &&
    !(BADGE.test(text) && text.length < 30)
  )
}

/** Turns `&amp;` into `&`. */
function decoded(text: string): string {
  if (!text.includes('&')) return text
  let found = ''
  const parser = new Parser(
    {
      ontext: (part) => {
        found += part
      },
    },
    { decodeEntities: true, xmlMode: false },
  )
  parser.end(text.replaceAll('<', '&lt;'))
  return found.replaceAll('\u00a0', ' ')
}

const YAML_BLOCK = /^---[ \t]*\n([\s\S]{0,50000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)/
const TOML_BLOCK = /^\+\+\+[ \t]*\n([\s\S]{0,50000}?)\n\+\+\+[ \t]*(?:\n|$)/

const FRONT_COLUMNS_MAX = 50
const FACT_CHARS_MAX = 1000
/** Columns that every document has anyway. */
const MARKDOWN_COLUMNS = new Set(['id', 'content', 'title', 'format', 'layout'])

/** Front matter is YAML or TOML. An empty block is part of the text. */
function takeFrontMatter(source: string): {
  readonly body: string
  readonly title: string | null
  readonly columns: Row
} {
  const yaml = YAML_BLOCK.exec(source)
  const toml = yaml === null ? TOML_BLOCK.exec(source) : null
  const found = yaml ?? toml
  const facts = found === null ? null : markdownFacts(found[1] ?? '', yaml !== null)
  if (found === null || facts === null) return { body: source, title: null, columns: {} }
  const columns: Record<string, string | number | boolean | string[]> = {}
  for (const [key, fact] of Object.entries(facts)) {
    const name = key.toLowerCase().replace(/[^a-z0-9_]+/g, '_')
    const value = plainValue(fact)
    const isOwn = MARKDOWN_COLUMNS.has(name) || !/^[a-z_]\w{0,60}$/.test(name)
    if (isOwn || value === null || Object.keys(columns).length >= FRONT_COLUMNS_MAX) continue
    columns[name] = value
  }
  const title = plainValue(Reflect.get(facts, 'title'))
  return {
    body: source.slice(found[0].length).replace(/^\n+/, ''),
    title: typeof title === 'string' && title.trim() !== '' ? title.trim() : null,
    columns,
  }
}

/** null unless names with values. YAML aliases can expand without limit, so not resolved. */
function markdownFacts(block: string, isYaml: boolean): object | null {
  try {
    const facts: unknown = isYaml
      ? parseYaml(block, { maxAliasCount: 0, logLevel: 'silent' })
      : Bun.TOML.parse(block)
    return isObject(facts) ? facts : null
  } catch {
    return null
  }
}

function plainValue(value: unknown): string | number | boolean | string[] | null {
  if (typeof value === 'string') return value.slice(0, FACT_CHARS_MAX)
  if (typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value instanceof Date) return value.toISOString()
  if (!Array.isArray(value)) return null
  const words = value.filter((one) => typeof one === 'string' || typeof one === 'number')
  return words.slice(0, 100).map((one) => String(one).slice(0, FACT_CHARS_MAX))
}
