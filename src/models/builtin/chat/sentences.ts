import type { AnswerUnit, Passage } from './answer-unit.ts'

/** The units of a passage in their order. */
export function unitsOf(passage: Passage): readonly AnswerUnit[] {
  let from = 0
  return sentencesOf(passage.text).map(({ text, heading, isFragment }) => {
    const { start, end } = placeOf(text, passage.text, from)
    from = end
    return { passage, text, start, end, setting: heading, isFragment }
  })
}

/** Where a text's words stand in another one that may break its lines elsewhere. */
function placeOf(text: string, whole: string, from: number): { start: number; end: number } {
  const words = text.split(/\s+/)
  let start = -1
  let end = from
  for (const word of words) {
    const at = whole.indexOf(word, end)
    if (at === -1) break
    if (start === -1) start = at
    end = at + word.length
  }
  return { start: start === -1 ? from : start, end }
}

/** One statement of a text, fit to be quoted. */
export interface Sentence {
  /** As it stands in the text, but for white space. */
  readonly text: string
  /** The Markdown heading that it stands under; empty: none. */
  readonly heading: string
  /** Fewer than three words, or the rest of a sentence that begins before the text. */
  readonly isFragment: boolean
}

/**
 * The sentences of plain text or Markdown: an item of a list, a row of a table and a fenced piece
 * of code are one each; headings are not sentences but what the following ones are about.
 */
export function sentencesOf(text: string): readonly Sentence[] {
  const sentences: Sentence[] = []
  let heading = ''
  for (const block of blocksOf(text)) {
    if (block.kind === 'heading') {
      heading = block.text
      continue
    }
    const texts = block.kind === 'code' ? [block.text] : splitAtEnds(block.text)
    for (const one of texts) {
      const trimmed = one.trim()
      if (!/[\p{L}\p{N}]/u.test(trimmed)) continue
      const isRest = sentences.length === 0 && heading === '' && /^\p{Ll}/u.test(trimmed)
      sentences.push({ text: trimmed, heading, isFragment: isRest || !hasThreeWords(trimmed) })
    }
  }
  return sentences
}

const MARKUP = /<[^<>]{0,500}>|!?\[[^[\]]{0,300}\]\([^()\s]{0,500}\)|https?:\S+/g

/** Words of running text; of scripts without spaces two characters are as good as one. */
function hasThreeWords(text: string): boolean {
  const words = text.replace(MARKUP, ' ').match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? []
  const ideographs = text.match(/\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}/gu) ?? []
  return words.length >= 3 || ideographs.length >= 6
}

interface Block {
  readonly kind: 'heading' | 'code' | 'prose'
  readonly text: string
}

const FENCE = /^\s*(```|~~~)/
const HEADING = /^\s{0,3}#{1,6}\s+(.*)$/
const LIST_ITEM = /^\s*([-*+•]|\d{1,3}[.)])\s+/
const TABLE_ROW = /^\s*\|/
/** Under a title or between the head and the rows of a table. */
const RULE = /^[\s|:=*_-]+$/

/** Walks the lines once; lines of prose that belong together are joined by a space. */
function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = []
  const lines = text.split(/\r?\n/)
  let code: string[] | null = startsInCode(lines) ? [] : null
  let prose = ''
  const endProse = () => {
    if (prose !== '') blocks.push({ kind: 'prose', text: prose })
    prose = ''
  }
  const endCode = () => {
    if (code !== null) blocks.push({ kind: 'code', text: code.join('\n') })
    code = null
  }
  for (const line of lines) {
    if (FENCE.test(line)) {
      endProse()
      if (code === null) code = []
      else endCode()
    } else if (code !== null) {
      code.push(line)
    } else {
      const title = HEADING.exec(line)?.[1]
      const isApart = title !== undefined || RULE.test(line) || !continues(prose, line)
      if (isApart) endProse()
      if (title !== undefined) blocks.push({ kind: 'heading', text: title.trim() })
      else if (!RULE.test(line)) prose = prose === '' ? bareItem(line) : `${prose} ${line.trim()}`
    }
  }
  endProse()
  endCode()
  return blocks
}

/**
 * Whether a text was cut out of a document in the middle of fenced code: then its first fence is a
 * closing one. Only opening ones name a language; where that does not tell, the side with more of
 * code's characters is the code.
 */
function startsInCode(lines: readonly string[]): boolean {
  const fences = lines.flatMap((line, index) => (FENCE.test(line) ? [index] : []))
  const names = (index: number | undefined) => /[a-z]/i.test(lines[index ?? -1] ?? '')
  const [first, second] = fences
  if (first === undefined || names(first)) return false
  if (second !== undefined && names(second)) return true
  if (fences.length % 2 === 0) return false
  return codeShare(lines.slice(0, first)) > codeShare(lines.slice(first + 1, second))
}

function codeShare(lines: readonly string[]): number {
  const text = lines.join('')
  return (text.match(/[{}();=<>]/g)?.length ?? 0) / (text.length + 1)
}

function bareItem(line: string): string {
  return line.replace(LIST_ITEM, '').trim()
}

/** A line shorter than this was ended on purpose, not by a margin. */
const WRAPPED_CHARS_MIN = 60

function continues(prose: string, line: string): boolean {
  if (prose === '' || line.trim() === '') return false
  if (LIST_ITEM.test(line) || TABLE_ROW.test(line) || TABLE_ROW.test(prose)) return false
  const isEnded = '.!?:。！？'.includes(prose.at(-1) ?? '')
  const isWrapped = prose.length >= WRAPPED_CHARS_MIN && !isEnded
  return isWrapped || /^\s*\p{Ll}/u.test(line)
}

/** The end of a sentence with the quotes and brackets that close it, and what must follow it. */
const SENTENCE_END = /(?<![.!?…])[.!?…]+["'”’»)\]]*(?=\s+[^\s\p{Ll}])|[。！？｡][」』”’）]*/gu
/** A full stop after one of these, or after one letter, ends no sentence. */
const ABBREVIATION = new RegExp(
  `(?:^|[\\s(])(?:\\p{L}|${[
    'e\\.g|i\\.e|etc|cf|vs|al|approx|no|nr|fig|eq|vol',
    'dept|dr|mr|mrs|ms|prof|st|inc|ltd|co|jr|sr',
  ].join('|')})\\.$`,
  'iu',
)

function splitAtEnds(text: string): readonly string[] {
  const sentences: string[] = []
  let start = 0
  for (const match of text.matchAll(SENTENCE_END)) {
    const end = match.index + match[0].length
    if (match[0] === '.' && ABBREVIATION.test(text.slice(Math.max(start, end - 12), end))) continue
    sentences.push(text.slice(start, end))
    start = end
  }
  sentences.push(text.slice(start))
  return sentences
}
