import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { wholeDocument } from '../document-format.ts'
import { decodeText } from '../text-encoding.ts'
import { fence } from './office/markdown-blocks.ts'

/** Headings and listings become Markdown, links their text. The rest is unchanged. */
interface Markup {
  /** Returns the heading that starts in this line, or null. */
  heading(
    lines: readonly string[],
    at: number,
  ): {
    readonly level: number
    readonly text: string
    readonly lines: number
  } | null
  remark?(lines: readonly string[], at: number): number
  /** Returns the listing that starts in this line, or null. */
  listing(lines: readonly string[], at: number): Listing | null
  /** Returns a line with links as text; null for a comment or a setting. */
  text(line: string): string | null
  title(source: string): string | undefined
}

interface Listing {
  /** Text before it in its first line. */
  readonly before?: string
  readonly language: string
  readonly code: string
  readonly lines: number
}

function* read({ bytes, charset }: RawDocument, markup: Markup): Generator<ReadDocument> {
  const source = decodeText(bytes, charset)
  const lines = source.split('\n')
  const written: string[] = []
  let first: string | null = null
  for (let at = 0; at < lines.length; ) {
    const remark = markup.remark?.(lines, at) ?? 0
    if (remark > 0) {
      at += remark
      continue
    }
    const listing = markup.listing(lines, at)
    const heading = listing === null ? markup.heading(lines, at) : null
    if (listing !== null) {
      const before = markup.text(listing.before ?? '') ?? ''
      written.push(before, '', fence(listing.code, listing.language), '')
    } else if (heading !== null) {
      first ??= heading.text
      const level = Math.min(Math.max(heading.level, 1), 6)
      written.push('', `${'#'.repeat(level)} ${markup.text(heading.text) ?? heading.text}`, '')
    } else {
      const text = markup.text(lines[at] ?? '')
      if (text !== null) written.push(text.trimEnd())
    }
    at += listing?.lines ?? heading?.lines ?? 1
  }
  const content = written
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  const title = markup.title(source)?.trim() || first
  yield wholeDocument({ content, title, syntax: 'markdown' })
}

/** Returns the lines of a listing up to its end; null if it has no end and so is not a listing. */
function until(
  lines: readonly string[],
  at: number,
  isEnd: (line: string) => boolean,
): Pick<Listing, 'code' | 'lines'> | null {
  const end = lines.findIndex((line, index) => index > at && isEnd(line))
  if (end === -1) return null
  return { code: lines.slice(at + 1, end).join('\n'), lines: end - at + 1 }
}

const ASCIIDOC: Markup = {
  heading(lines, at) {
    const found = /^(={1,6}|#{1,6})[ \t]+(\S.*)$/.exec(lines[at] ?? '')
    return found === null ? null : { level: found[1]?.length ?? 1, text: found[2] ?? '', lines: 1 }
  },
  listing(lines, at) {
    const named = /^\[(?:source|,)\W*([\w+#-]*)[^\]]*\]$/.exec(lines[at] ?? '')
    const open = named === null ? at : at + 1
    const mark = lines[open] ?? ''
    if (!/^(-{4,}|\.{4,}|```)[\w+#-]*$/.test(mark)) return null
    const end = mark.startsWith('```') ? '```' : mark
    const found = until(lines, open, (line) => line.trimEnd() === end)
    if (found === null) return null
    const language = named?.[1] ?? /^```([\w+#-]+)/.exec(mark)?.[1] ?? ''
    return { ...found, language, lines: found.lines + open - at }
  },
  text(line) {
    if (
      /^\/\/(?!\/)|^:!?[\w-]+!?:(?:[ \t]|$)|^\[[^\]\n]*\]$|^(?:={4,}|\*{4,}|_{4,}|-{2})$/.test(line)
    )
      return null
    return line
      .replace(/(?:link:|xref:)[^\s[\]]{1,500}\[([^\]]{0,500})\]/g, '$1')
      .replace(/(?:https?|ftp|mailto):[^\s[\]]{1,500}\[([^\]]{1,500})\]/g, '$1')
      .replace(/<<[^,>]{1,200},([^>]{1,200})>>/g, '$1')
      .replace(/image::?[^\s[\]]{1,500}\[([^\]]{0,500})\]/g, '$1')
  },
  title: () => undefined,
}

const ADORNMENT = /^([!-/:-@[-`{-~])\1{2,}[ \t]*$/

/** The levels of headings follow the order in which a text first uses their underlines. */
function rst(): Markup {
  const known: string[] = []
  const levelOf = (kind: string) => {
    if (!known.includes(kind)) known.push(kind)
    return known.indexOf(kind) + 1
  }
  return {
    heading(lines, at) {
      const [first = '', second = '', third = ''] = lines.slice(at, at + 3)
      const isOver = ADORNMENT.test(first) && third.trimEnd() === first.trimEnd()
      if (isOver && second.trim() !== '' && !ADORNMENT.test(second)) {
        return { level: levelOf(`${first[0]}${first[0]}`), text: second.trim(), lines: 3 }
      }
      const isUnder = ADORNMENT.test(second) && second.trimEnd().length >= Math.min(first.length, 4)
      const isText =
        /^\S/.test(first) && !ADORNMENT.test(first) && (lines[at - 1] ?? '').trim() === ''
      return isUnder && isText
        ? { level: levelOf(second[0] ?? ''), text: first.trim(), lines: 2 }
        : null
    },
    listing: rstListing,
    remark: rstRemark,
    text(line) {
      if (/^[ \t]*\.\. _[^:\n]{1,200}:/.test(line)) return null
      return outsideLiterals(line, (text) => text.replace(/\\([*`_|\\])/g, '$1'))
        .replace(/:[\w:+-]{1,60}:`([^`<]{1,500}?)[ \t]*(?:<[^`>]{1,500}>)?`/g, '$1')
        .replace(/`([^`<]{1,500}?)[ \t]+<[^`>]{1,500}>`__?/g, '$1')
        .replace(/`([^`<>]{1,500})`__?(?!\w)/g, '$1')
    },
    title: () => undefined,
  }
}

function outsideLiterals(line: string, change: (text: string) => string): string {
  if (!line.includes('\\')) return line
  return line
    .split(/(``[^`]{1,500}``)/)
    .map((piece, index) => (index % 2 === 1 ? piece : change(piece)))
    .join('')
}

/** Two dots with indented lines, but not a directive, target, footnote or citation. */
function rstRemark(lines: readonly string[], at: number): number {
  const line = lines[at] ?? ''
  const marked = /^[ \t]*\.\.(?:[ \t]+(\S.*))?$/.exec(line)
  if (marked === null) return 0
  const what = marked[1] ?? ''
  const isPicture = /^(?:\|[^|]{1,200}\|[ \t]+)?(?:image|figure)::/.test(what)
  if (!isPicture && /^(?:[_[]|(?:\|[^|]{1,200}\|[ \t]+)?[\w:+.-]+::)/.test(what)) return 0
  const indent = indentOf(line)
  const belongs = isPicture
    ? (one: string) => indentOf(one) > indent && /^[ \t]*:[\w-]+:/.test(one)
    : (one: string) => isWithin(one, indent)
  // Two dots alone above an empty line only end the previous block.
  if (what === '' && (lines[at + 1] ?? '').trim() === '') return 1
  let end = at + 1
  while (end < lines.length && belongs(lines[end] ?? '')) end += 1
  return end - at
}

/** Recognizes a directive with code, or the block after a line that ends with two colons. */
function rstListing(lines: readonly string[], at: number): Listing | null {
  const line = lines[at] ?? ''
  const named = /^[ \t]*\.\. (?:code-block|code|sourcecode|highlight)::[ \t]*([\w+#-]*)/.exec(line)
  const isPlain = named === null && /::[ \t]*$/.test(line) && !/^[ \t]*\.\. /.test(line)
  if (named === null && !isPlain) return null
  const indent = indentOf(line)
  let end = at + 1
  while (end < lines.length && isWithin(lines[end] ?? '', indent)) end += 1
  let begin = at + 1
  while (named !== null && begin < end && /^[ \t]*:[\w-]+:/.test(lines[begin] ?? '')) begin += 1
  const body = lines.slice(begin, end)
  const margin = body.reduce((least, one) => {
    return one.trim() === '' ? least : Math.min(least, indentOf(one))
  }, Number.POSITIVE_INFINITY)
  if (margin === Number.POSITIVE_INFINITY) return null
  return {
    before: isPlain ? line.replace(/(^|\s)::[ \t]*$/, '').replace(/::[ \t]*$/, ':') : '',
    language: named?.[1] ?? '',
    code: body.map((one) => one.slice(margin)).join('\n'),
    lines: end - at,
  }
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

function isWithin(line: string, indent: number): boolean {
  return line.trim() === '' || indentOf(line) > indent
}

const ORG: Markup = {
  heading(lines, at) {
    const found = /^(\*{1,9})[ \t]+(\S.*?)(?:[ \t]+:[\w@:]+:)?[ \t]*$/.exec(lines[at] ?? '')
    return found === null ? null : { level: found[1]?.length ?? 1, text: found[2] ?? '', lines: 1 }
  },
  listing(lines, at) {
    const named = /^[ \t]*#\+begin_(src|example)[ \t]*([\w+#-]*)/i.exec(lines[at] ?? '')
    if (named === null) return null
    const end = new RegExp(`^[ \\t]*#\\+end_${named[1]}`, 'i')
    const found = until(lines, at, (line) => end.test(line))
    return found === null ? null : { ...found, language: named[2] ?? '' }
  },
  text(line) {
    if (
      /^[ \t]*(?:#\+\w+:?|#[ \t]|:[\w-]+:[ \t]*$)/.test(line) &&
      !/^[ \t]*#\+(title|caption):/i.test(line)
    )
      return null
    return line
      .replace(/^[ \t]*#\+(?:title|caption):[ \t]*/i, '')
      .replace(/\[\[[^[\]]{1,1000}\]\[([^[\]]{1,1000})\]\]/g, '$1')
  },
  title: (source) => /^#\+title:[ \t]*([^\n]{1,500})/im.exec(source)?.[1],
}

const LATEX_LEVELS = new Map([
  ['part', 1],
  ['chapter', 1],
  ['section', 2],
  ['subsection', 3],
  ['subsubsection', 4],
  ['paragraph', 5],
])

const LATEX: Markup = {
  heading(lines, at) {
    const found =
      /^[ \t]*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]{0,500}\])?\{((?:[^{}]|\{[^{}]{0,200}\}){1,500})\}/.exec(
        lines[at] ?? '',
      )
    if (found === null) return null
    return { level: LATEX_LEVELS.get(found[1] ?? '') ?? 1, text: found[2] ?? '', lines: 1 }
  },
  listing(lines, at) {
    const named =
      /^[ \t]*\\begin\{(verbatim|lstlisting|minted)\}(?:\[[^\]]{0,500}\])?(?:\{(\w+)\})?/.exec(
        lines[at] ?? '',
      )
    if (named === null) return null
    const found = until(lines, at, (line) => line.includes(`\\end{${named[1]}}`))
    return found === null ? null : { ...found, language: named[2] ?? '' }
  },
  text(line) {
    if (/^[ \t]*%/.test(line)) return null
    return line
      .replace(/(?<!\\)%.*$/, '')
      .replace(
        /\\(?:textbf|textit|emph|texttt|underline|textsc|textrm|textsf)\{([^{}]{0,2000})\}/g,
        '$1',
      )
      .replace(/\\href\{[^{}]{0,1000}\}\{([^{}]{0,1000})\}/g, '$1')
      .replace(/\\label\{[^{}]{0,500}\}/g, '')
      .replace(/\\([%&_#$])/g, '$1')
      .replaceAll('~', ' ')
  },
  title: (source) => /\\title(?:\[[^\]]{0,500}\])?\{([^{}]{1,500})\}/.exec(source)?.[1],
}

export const readAsciidoc = (raw: RawDocument) => read(raw, ASCIIDOC)
export const readRst = (raw: RawDocument) => read(raw, rst())
export const readOrg = (raw: RawDocument) => read(raw, ORG)
export const readLatex = (raw: RawDocument) => read(raw, LATEX)
