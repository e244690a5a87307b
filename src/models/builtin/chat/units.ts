import { type Span, sentenceSpans, trimmedSpan } from '../../../core/text/words.ts'
import type { AnswerUnit, Passage, Stretch, StretchPiece, UnitSite } from './answer-unit.ts'
import { MARKUP, plainTitle, type TextBlock, textBlocks } from './text-blocks.ts'

export const QUOTE_CHARS_MAX = 400
/** How many headings a unit's context includes. */
const HEADINGS_TOLD = 2
const LEAD_CHARS_MAX = 200

/** Up to a dash or colon that is not in parentheses. */
const ITEM_NAME = /^(?:\([^()\n]{0,80}\)|[^(\n]|\((?![^()\n]{0,80}\))){1,100}?(?=\s[-–—]\s|:\s|\n)/

/** Matches the start of a sentence that needs the one before it. */
export const POINTS_BACK =
  /^(it|its|this|that|these|those|they|their|he|she|his|her|such|also|however|then|there|here|otherwise|instead|therefore|so|but|and|both|er|sie|es|dies\w*|diese\w*|das)\b/i

/** The units of all passages, in order within each document. */
export function unitsOf(passages: readonly Passage[]): readonly AnswerUnit[] {
  return stretchesOf(passages).flatMap((stretch) => new UnitCutter(stretch).cut())
}

type Kind = UnitSite['kind']

/** Walks through the blocks of a stretch, keeping track of the headings above them. */
class UnitCutter {
  readonly #stretch: Stretch
  readonly #text: string
  readonly #units: AnswerUnit[] = []
  #headings: { readonly level: number; readonly title: string }[] = []
  /** The last sentence before a list, table or code block. */
  #lead: Span | null = null
  #items: Span[] = []
  /** The last item or name. More deeply indented paragraphs below it describe it. */
  #name: { readonly span: Span; readonly indent: number } | null = null

  constructor(stretch: Stretch) {
    this.#stretch = stretch
    this.#text = stretch.text
  }

  cut(): readonly AnswerUnit[] {
    for (const block of textBlocks(this.#text)) {
      if (block.kind !== 'item') this.#endList()
      this.#block(block)
    }
    this.#endList()
    return this.#units
  }

  #block(block: TextBlock): void {
    switch (block.kind) {
      case 'heading':
        this.#enter(block.level, block.title)
        return
      case 'prose':
        if (this.#name !== null && block.indent <= this.#name.indent) this.#name = null
        this.#prose(block)
        return
      case 'item':
        this.#name = { span: block, indent: block.indent }
        this.#items.push({ start: block.start, end: block.end })
        this.#item(block)
        return
      case 'row':
        this.#add('row', block, block, block.header)
        return
      case 'code':
        this.#code(block)
        return
      case 'term':
        this.#term(block, block.description)
    }
  }

  #enter(level: number, title: string): void {
    this.#headings = this.#headings.filter((heading) => heading.level < level)
    this.#headings.push({ level, title })
    this.#lead = null
    this.#name = null
  }

  #prose(block: Span): void {
    const sentences = [...sentenceSpans(this.#text, block)]
    const [only] = sentences
    if (only !== undefined && sentences.length === 1 && isQuestion(this.#textOf(only))) {
      // The text below answers it, so it is a heading without heading markup.
      this.#enter(7, plainTitle(this.#textOf(only)))
      return
    }
    const last = sentences.at(-1) ?? null
    const leads = last !== null && /:[*_"'”’)]*$/.test(this.#textOf(last))
    for (const [index, sentence] of sentences.entries()) {
      if (leads && sentence === last) continue
      const next = sentences[index + 1]
      if (isQuestion(this.#textOf(sentence))) {
        if (next === undefined) continue
        this.#add('sentence', { start: sentence.start, end: next.end }, block)
      } else {
        const isFar =
          this.#name === null || this.#name.span.end - this.#name.span.start > LEAD_CHARS_MAX
        this.#add('sentence', sentence, block, isFar ? null : (this.#name?.span ?? null))
      }
    }
    this.#lead = last
    if (!leads && last !== null && last.end - last.start > LEAD_CHARS_MAX) this.#lead = null
  }

  #item(block: Span): void {
    this.#described(block, this.#leadOfList())
  }

  /** Only a sentence that announces a list introduces it; other sentences precede it by chance. */
  #leadOfList(): Span | null {
    const lead = this.#lead
    return lead !== null && /:[*_"'”’)]*$/.test(this.#textOf(lead)) ? lead : null
  }

  /** Adds an item or option as a whole if short, otherwise each sentence with its name. */
  #described(block: Span, lead: Span | null): void {
    if (block.end - block.start <= QUOTE_CHARS_MAX) {
      this.#add('item', block, block, lead)
      return
    }
    const [first, ...rest] = sentenceSpans(this.#text, block)
    if (first === undefined) return
    this.#add('item', first, block, lead)
    for (const sentence of rest) {
      this.#add('sentence', sentence, block, this.#nameOf(first))
    }
  }

  /** The name of an item that explains it afterwards, such as `` `name` (default: `1`) ``. */
  #nameOf(first: Span): Span {
    const text = this.#textOf(first)
    const end = ITEM_NAME.exec(text)?.[0].length ?? text.length
    return { start: first.start, end: first.start + Math.min(end, LEAD_CHARS_MAX) }
  }

  #term(block: Span, description: Span): void {
    if (block.end - block.start <= QUOTE_CHARS_MAX) {
      this.#add('item', block, block)
      return
    }
    const name = trimmedSpan(this.#text, { start: block.start, end: description.start })
    for (const [index, sentence] of [...sentenceSpans(this.#text, description)].entries()) {
      const start = index === 0 ? name.start : sentence.start
      this.#add('item', { start, end: sentence.end }, block, index === 0 ? null : name)
    }
  }

  /** Adds code as a whole if it is short, otherwise its paragraphs. */
  #code(block: Span): void {
    const lead = this.#lead
    for (const piece of this.#piecesOfCode(block)) {
      this.#add('code', piece, piece, lead)
    }
  }

  #piecesOfCode(block: Span): readonly Span[] {
    if (block.end - block.start <= QUOTE_CHARS_MAX) return [block]
    const pieces: Span[] = []
    let start = block.start
    const paragraphs = /\n[ \t]*\n/g
    const part = this.#text.slice(block.start, block.end)
    for (const gap of [...part.matchAll(paragraphs), null]) {
      const end = gap === null ? block.end : block.start + gap.index
      pieces.push(...this.#fitting({ start, end }))
      start = gap === null ? end : end + gap[0].length
    }
    return pieces
  }

  /** Groups consecutive lines up to the maximum length of a quote. */
  #fitting(span: Span): readonly Span[] {
    const pieces: Span[] = []
    let { start } = span
    while (span.end - start > QUOTE_CHARS_MAX) {
      const at = this.#text.lastIndexOf('\n', start + QUOTE_CHARS_MAX)
      const end = at > start ? at : start + QUOTE_CHARS_MAX
      pieces.push({ start, end })
      start = end
    }
    return [...pieces, { start, end: span.end }]
  }

  /** A whole list that fits into one quote, for questions about all its items. */
  #endList(): void {
    const items = this.#items
    this.#items = []
    const [first] = items
    const lead = this.#leadOfList()
    if (first === undefined || items.length < 2) return
    const start = this.#lineStart(first.start)
    const end = items.findLast((item) => item.end - start <= QUOTE_CHARS_MAX)?.end
    const span = { start, end: end ?? start }
    if (end !== undefined && end > first.end) this.#add('list', span, span, lead)
    this.#lead = null
  }

  #lineStart(at: number): number {
    return trimmedSpan(this.#text, { start: this.#text.lastIndexOf('\n', at) + 1, end: at }).start
  }

  #textOf({ start, end }: Span): string {
    return this.#text.slice(start, end)
  }

  #add(kind: Kind, whole: Span, block: Span, lead: Span | null = null): void {
    const trimmed = trimmedSpan(this.#text, whole)
    const piece = pieceOf(this.#stretch, trimmed)
    const span = {
      start: Math.max(trimmed.start, piece.start),
      end: Math.min(trimmed.end, piece.end),
    }
    const text = this.#textOf(span)
    if (!/[\p{L}\p{N}]/u.test(text)) return
    const titles = this.#headings.map((heading) => heading.title)
    const told = titles.length > 0 ? titles.slice(-HEADINGS_TOLD) : [piece.passage.heading]
    const leadText = lead === null ? '' : plainTitle(this.#textOf(lead).slice(0, LEAD_CHARS_MAX))
    this.#units.push({
      passage: piece.passage,
      text,
      start: span.start - piece.start,
      end: span.end - piece.start,
      setting: [...told, leadText].filter((part) => part !== '').join(': '),
      isFragment: this.#isFragment(kind, span, text),
      site: {
        stretch: this.#stretch,
        span,
        kind,
        lead,
        from: block.start,
        until: block.end,
        heading: titles.at(-1) ?? piece.passage.heading,
      },
    })
  }

  #isFragment(kind: Kind, span: Span, text: string): boolean {
    if (kind === 'code') return false
    const isRest = span.start === 0 && this.#headings.length === 0 && /^\p{Ll}/u.test(text)
    return isRest || !hasThreeWords(text)
  }
}

export function isQuestion(sentence: string): boolean {
  return /[?？][*_"'”’)]*$/.test(sentence)
}

/** In scripts without spaces, two characters count as one word. */
export function hasThreeWords(text: string): boolean {
  const words = text.replace(MARKUP, ' ').match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? []
  const ideographs = text.match(/\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}/gu) ?? []
  return words.length >= 3 || ideographs.length >= 6
}

/** The most white space between two adjacent chunks. */
const GAP_CHARS_MAX = 8

/** Joins passages; the stretch with the best passage comes first. */
function stretchesOf(passages: readonly Passage[]): readonly Stretch[] {
  const documents = new Map<string, Passage[]>()
  for (const passage of passages) {
    const { knowledgeBase, documentId, place, chunkId } = passage
    const key = JSON.stringify([knowledgeBase, documentId, place?.column ?? chunkId])
    const known = documents.get(key)
    if (known === undefined) documents.set(key, [passage])
    else if (known.every((one) => one.chunkId !== passage.chunkId)) known.push(passage)
  }
  return [...documents.values()].flatMap(stretchesOfDocument)
}

function stretchesOfDocument(passages: readonly Passage[]): readonly Stretch[] {
  const inOrder = passages.toSorted((a, b) => (a.place?.start ?? 0) - (b.place?.start ?? 0))
  const stretches: Stretch[] = []
  for (const passage of inOrder) {
    const last = stretches.at(-1)
    const longer = last === undefined ? null : joinedStretch(last, passage)
    if (longer === null) stretches.push(stretchOf(passage))
    else stretches[stretches.length - 1] = longer
  }
  return stretches
}

function stretchOf(passage: Passage): Stretch {
  return { text: passage.text, pieces: [{ passage, start: 0, end: passage.text.length }] }
}

function joinedStretch(stretch: Stretch, passage: Passage): Stretch | null {
  const from = stretch.pieces[0]?.passage.place?.start
  if (from === undefined || passage.place === null) return null
  const start = passage.place.start - from
  const gap = start - stretch.text.length
  if (gap > GAP_CHARS_MAX) return null
  // Overlapping parts must be equal; otherwise the chunks are from two versions of the document.
  const overlap = stretch.text.slice(start)
  if (!passage.text.startsWith(overlap) && !overlap.startsWith(passage.text)) return null
  const rest = passage.text.slice(overlap.length)
  const text = stretch.text + '\n'.repeat(Math.max(0, gap)) + rest
  const piece = { passage, start, end: start + passage.text.length }
  return { text, pieces: [...stretch.pieces, piece] }
}

/** The most relevant chunk that contains the span, or the one that contains most of it. */
export function pieceOf({ pieces }: Stretch, span: Span): StretchPiece {
  const held = (piece: Span) => {
    return Math.min(piece.end, span.end) - Math.max(piece.start, span.start)
  }
  const [best] = pieces.toSorted((a, b) => {
    return held(b) - held(a) || b.passage.relevance - a.passage.relevance
  })
  if (best === undefined) throw new Error('A stretch has no pieces')
  return best
}
