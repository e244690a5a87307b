import type { TextLayout, TextParts } from '../../core/domain/document.ts'
import { oneLine } from '../../core/short-text.ts'
import {
  chunkLines,
  chunkText,
  fits,
  limitsBelow,
  type SpanLimits,
  shifted,
  type TextPiece,
  type TextSpan,
  trimmedSpan,
} from './chunk-text.ts'
import { headingText, type MarkdownBlock, markdownBlocks } from './markdown-structure.ts'
import { firstBoundary } from './text-boundary.ts'

/** Up to the next heading. The first section may have no heading. */
interface Section {
  readonly start: number
  readonly end: number
  readonly above: readonly string[]
  /** Like `above`, plus the section's own heading. */
  readonly headings: readonly string[]
  readonly blocks: readonly MarkdownBlock[]
  readonly hasBody: boolean
  /** The index of the section's slide or chapter. */
  readonly part: number
}

/** Sections under a heading are joined if one is smaller than this share of the chunk size. */
const SMALL_SHARE = 0.4

/** Returns the size limits for content below these headings. */
export type LimitsUnder = (headings: readonly string[]) => SpanLimits

/**
 * Each heading starts a new chunk with its section. A heading without text of its own joins the
 * next section, and small sections under one heading are combined. A section that is too long is
 * split between its blocks: text like any text, tables between rows with the header repeated, and
 * code between lines if it does not fit.
 * @param apart slides or chapters, each of which starts a new chunk unless only headings come
 * before it
 */
export function* chunkMarkdown(
  text: string,
  limitsUnder: LimitsUnder,
  apart: TextParts | null = null,
): Generator<TextPiece> {
  let before: Section | null = null
  let group: Section | null = null
  for (const section of sectionsOf(text, apart)) {
    if (group === null) group = section
    else if (belongsTogether(text, group, section, limitsUnder)) group = joinedSpans(group, section)
    else {
      if (before !== null) yield* sectionPieces(text, before, limitsUnder)
      before = group
      group = section
    }
  }
  if (group === null) return
  if (before !== null && !group.hasBody) {
    const whole = joinedSpans(before, group)
    if (fits(text, whole.start, whole.end, limitsUnder(whole.headings))) {
      yield* sectionPieces(text, whole, limitsUnder)
      return
    }
    yield* sectionPieces(text, before, limitsUnder)
    yield* headingWithTail(text, before, group, limitsUnder)
    return
  }
  if (before !== null) yield* sectionPieces(text, before, limitsUnder)
  yield* sectionPieces(text, group, limitsUnder)
}

/** Yields a heading at the end of the text together with the end of the text before it. */
function* headingWithTail(
  text: string,
  before: Section,
  group: Section,
  limitsUnder: LimitsUnder,
): Generator<TextPiece> {
  const limits = limitsUnder(before.headings)
  const earliest = Math.max(before.start, group.start - limits.chunkOverlapChars)
  const start = firstBoundary(text, earliest, group.start) ?? group.start
  const tail = { ...group, start, above: before.headings }
  if (fits(text, start, group.end, limits)) yield* sectionPieces(text, tail, limitsUnder)
  else yield* sectionPieces(text, group, limitsUnder)
}

function* sectionsOf(text: string, apart: TextParts | null): Generator<Section> {
  const starts = apart?.starts ?? []
  let part = 0
  const path: { readonly level: number; readonly name: string }[] = []
  let blocks: MarkdownBlock[] = []
  let above: readonly string[] = []
  const names = () => path.map(({ name }) => name).filter((name) => name !== '')
  const section = (): Section | null => {
    const [first, last] = [blocks[0], blocks.at(-1)]
    if (first === undefined || last === undefined) return null
    const hasBody = blocks.some(({ kind, start, end }) => {
      return kind !== 'heading' && trimmedSpan(text, { startChar: start, endChar: end }) !== null
    })
    return { start: first.start, end: last.end, above, headings: names(), blocks, hasBody, part }
  }
  for (const block of markdownBlocks(text)) {
    if ((starts[part] ?? Number.POSITIVE_INFINITY) <= block.start) {
      const done = section()
      if (done !== null) yield done
      blocks = []
      while ((starts[part] ?? Number.POSITIVE_INFINITY) <= block.start) part += 1
      // A chapter's headings may also cover the next file; a slide's headings end with the slide.
      if (apart?.unit === 'slide') path.length = 0
      above = names()
    }
    if (block.kind === 'heading') {
      const done = section()
      if (done !== null) yield done
      blocks = []
      while ((path.at(-1)?.level ?? 0) >= block.level) path.pop()
      above = names()
      path.push({ level: block.level, name: headingText(text, block) })
    }
    blocks.push(block)
  }
  const done = section()
  if (done !== null) yield done
}

function belongsTogether(
  text: string,
  group: Section,
  section: Section,
  limitsUnder: LimitsUnder,
): boolean {
  if (!group.hasBody) return true
  if (group.part !== section.part) return false
  // The section is neither below the first one nor on its level.
  if (sharedLength(group.above, section.above) < group.above.length) return false
  const limits = limitsUnder(group.headings)
  const small = limits.chunkSizeChars * SMALL_SHARE
  if (group.end - group.start > small && section.end - section.start > small) return false
  const span = trimmedSpan(text, { startChar: group.start, endChar: section.end })
  return span !== null && fits(text, span.startChar, span.endChar, limits)
}

function sharedLength(first: readonly string[], second: readonly string[]): number {
  let length = 0
  while (length < first.length && first[length] === second[length]) length += 1
  return length
}

/** Combines two sections. The result has the headings that both share. */
function joinedSpans(group: Section, section: Section): Section {
  const shared = group.headings.slice(0, sharedLength(group.headings, section.headings))
  return {
    start: group.start,
    end: section.end,
    above: group.above,
    headings: group.hasBody ? shared : section.headings,
    blocks: [...group.blocks, ...section.blocks],
    hasBody: group.hasBody || section.hasBody,
    part: section.part,
  }
}

function* sectionPieces(
  text: string,
  section: Section,
  limitsUnder: LimitsUnder,
): Generator<TextPiece> {
  const { above, headings, start } = section
  const spans = sectionSpans(text, section, limitsUnder(headings))
  for (const { startChar, endChar, repeated } of spans) {
    yield { startChar, endChar, above: startChar === start ? above : headings, headings, repeated }
  }
}

type RepeatingSpan = TextSpan & { readonly repeated: string }

function* sectionSpans(
  text: string,
  section: Section,
  limits: SpanLimits,
): Generator<RepeatingSpan> {
  const whole = trimmedSpan(text, { startChar: section.start, endChar: section.end })
  if (whole === null) return
  if (fits(text, whole.startChar, whole.endChar, limits)) {
    yield { ...whole, repeated: '' }
    return
  }
  const { blocks } = section
  let open = new OpenSpan(section.start)
  for (let index = 0; index < blocks.length; index += 1) {
    const block = blocks[index]
    if (block === undefined) break
    if (open.takes(text, block, limits)) continue
    if (open.hasBody && !(open.isText && isText(block))) {
      yield* open.spans(text)
      open = new OpenSpan(block.start)
      if (open.takes(text, block, limits)) continue
    }
    if (isText(block)) {
      let end = block.end
      while (blocks[index + 1]?.kind === 'text') {
        index += 1
        end = blocks[index]?.end ?? end
      }
      const spans = [...shifted(chunkText(text.slice(open.start, end), limits), open.start)]
      for (const span of spans.slice(0, -1)) yield { ...span, repeated: '' }
      open = new OpenSpan(spans.at(-1)?.startChar ?? end, end, true)
      continue
    }
    yield* markdownLines(text, { ...block, start: open.start }, limits)
    open = new OpenSpan(block.end)
  }
  yield* open.spans(text)
}

function isText({ kind }: MarkdownBlock): boolean {
  return kind === 'text' || kind === 'heading'
}

/** A span that can still take further blocks. */
class OpenSpan {
  readonly start: number
  #end: number
  #hasBody: boolean
  #isText = true

  constructor(start: number, end = start, hasBody = false) {
    this.start = start
    this.#end = end
    this.#hasBody = hasBody
  }

  get hasBody(): boolean {
    return this.#hasBody
  }

  /** Whether it may be cut anywhere. */
  get isText(): boolean {
    return this.#isText
  }

  takes(text: string, block: MarkdownBlock, limits: SpanLimits): boolean {
    const span = trimmedSpan(text, { startChar: this.start, endChar: block.end })
    if (span !== null && !fits(text, span.startChar, span.endChar, limits)) return false
    this.#end = block.end
    if (block.kind !== 'heading') this.#hasBody = true
    if (!isText(block)) this.#isText = false
    return true
  }

  *spans(text: string): Generator<RepeatingSpan> {
    const span = trimmedSpan(text, { startChar: this.start, endChar: this.#end })
    if (span !== null) yield { ...span, repeated: '' }
  }
}

/** The share of the embedded text that a table header may take. */
const HEADER_SHARE = 0.34

function* markdownLines(
  text: string,
  { kind, start, end, rowsStart }: MarkdownBlock,
  limits: SpanLimits,
): Generator<RepeatingSpan> {
  const header = kind === 'table' ? tableHeader(text, { start, end: rowsStart }, limits) : ''
  const below = limitsBelow(limits, header)
  const limitsAt = (startChar: number) => (startChar < rowsStart ? limits : below)
  for (const span of chunkLines(text, { startChar: start, endChar: end }, limitsAt)) {
    yield { ...span, repeated: kind === 'table' && span.startChar >= rowsStart ? header : '' }
  }
}

/** Returns the line above the ruler, truncated if it is long. */
function tableHeader(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  limits: SpanLimits,
): string {
  const ruler = text.lastIndexOf('\n', end - 2)
  const line = ruler <= start ? start : text.lastIndexOf('\n', ruler - 1) + 1
  const header = text.slice(Math.max(line, start), ruler === -1 ? end : ruler)
  const charsMax = Math.floor(limits.chunkSizeChars * HEADER_SHARE)
  const { tokens } = limits
  const last = Math.min(header.length, charsMax)
  const tokensMax = Math.floor((tokens?.tokensAtOnce ?? 0) * HEADER_SHARE)
  const fit = tokens === null ? last : tokens.counter.fit(header, 0, last, tokensMax)
  return header.slice(0, fit).trim()
}

export const HEADING_JOINT = ' > '

/** The share of the model's input that title and headings may take. */
const CONTEXT_SHARE = 0.25
const CONTEXT_CHARS_MAX = 400

/** The text embedded before a chunk: title, headings above, repeated lines. */
export class ChunkContext {
  readonly #title: string
  readonly #limits: SpanLimits
  readonly #known = new Map<string, string>()
  readonly #limitsBelow = new Map<string, SpanLimits>()

  constructor(layout: Pick<TextLayout, 'title'> | undefined, limits: SpanLimits) {
    this.#title = oneLine(layout?.title ?? '')
    this.#limits = limits
  }

  /** Returns the size limits for content below these headings. */
  readonly limitsUnder: LimitsUnder = (headings) => {
    const context = this.#path(headings)
    const known = this.#limitsBelow.get(context)
    if (known !== undefined) return known
    const below = limitsBelow(this.#limits, context)
    this.#limitsBelow.set(context, below)
    return below
  }

  of({ above, repeated }: Pick<TextPiece, 'above' | 'repeated'>): string {
    return [this.#path(above), repeated].filter((part) => part !== '').join('\n')
  }

  #path(headings: readonly string[]): string {
    const key = headings.join('\n')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const path = this.#shortened(headings)
    this.#known.set(key, path)
    return path
  }

  /** Keeps the title and the innermost headings, which say more than those in between. */
  #shortened(headings: readonly string[]): string {
    const own =
      headings[0]?.toLowerCase() === this.#title.toLowerCase() ? headings.slice(1) : headings
    for (let skipped = 0; skipped < own.length; skipped += 1) {
      const path = this.#joined(own.slice(skipped))
      if (this.#cut(path) === path) return path
    }
    const last = own.at(-1)
    return this.#cut(this.#joined(last === undefined ? [] : [last]))
  }

  #joined(headings: readonly string[]): string {
    return [this.#title, headings.join(HEADING_JOINT)].filter((part) => part !== '').join('\n')
  }

  #cut(path: string): string {
    const last = Math.min(path.length, CONTEXT_CHARS_MAX)
    const { tokens } = this.#limits
    if (tokens === null) return path.slice(0, last).toWellFormed()
    const tokensMax = Math.floor(tokens.tokensAtOnce * CONTEXT_SHARE)
    return path
      .slice(0, tokens.counter.fit(path, 0, last, tokensMax))
      .trimEnd()
      .toWellFormed()
  }
}
