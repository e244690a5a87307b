/** Words longer than this are one unknown token (`max_input_chars_per_word` of the reference). */
const WORD_CHARS_MAX = 100
/** Words with known tokens; the cache is cleared when full. */
const REMEMBERED_WORDS_MAX = 20_000

/**
 * BERT's uncased WordPiece: clean text, space out CJK, strip accents, lower case, split at white
 * space and punctuation, then longest match first from the vocabulary. Gives the ids of Hugging
 * Face's `tokenizers` for the same vocabulary.
 * Source: Devlin et al. 2018 (arXiv 1810.04805) and `BertNormalizer`, `BertPreTokenizer`,
 * `WordPiece` there.
 */
export class WordPiece {
  readonly #ids: ReadonlyMap<string, number>
  readonly #special: {
    readonly unknown: number
    readonly start: number
    readonly end: number
  }
  /** Ids of tokens that continue a word. */
  readonly #continuations: ReadonlySet<number>
  readonly #remembered = new Map<string, readonly number[]>()

  /** @param vocabulary `vocab.txt`: one token a line, its id is the line's index. */
  constructor(vocabulary: string) {
    const lines = vocabulary.trimEnd().split(/\r?\n/)
    this.#ids = new Map(lines.map((token, index) => [token, index]))
    this.#continuations = new Set(
      lines.flatMap((token, index) => (token.startsWith('##') ? [index] : [])),
    )
    this.#special = {
      unknown: this.#required('[UNK]'),
      start: this.#required('[CLS]'),
      end: this.#required('[SEP]'),
    }
  }

  /** `[CLS] … [SEP]`, at most `tokensMax` ids with both; what does not fit is cut off. */
  encode(text: string, tokensMax: number): readonly number[] {
    const ids = [this.#special.start]
    for (const word of markedWordsOf(text)) {
      if (ids.length >= tokensMax - 1) break
      ids.push(...this.#word(word))
    }
    ids.length = Math.min(ids.length, tokensMax - 1)
    ids.push(this.#special.end)
    return ids
  }

  /**
   * At most `tokensMax` tokens of a text, as sequences of about equal length that start at words: `[CLS] … [SEP]` with at
   * most `partTokensMax` between. A word has at most 100 tokens, which must be less than half of a part.
   */
  encodeInParts(
    text: string,
    tokensMax: number,
    partTokensMax: number,
  ): readonly (readonly number[])[] {
    const ids = this.encode(text, tokensMax + 2)
    if (ids.length - 2 <= partTokensMax) return [ids]
    const { start, end } = this.#special
    const parts: (readonly number[])[] = []
    for (let from = 1; from < ids.length - 1; ) {
      const left = ids.length - 1 - from
      const partCount = Math.ceil(left / partTokensMax)
      let to = from + Math.ceil(left / partCount)
      while (to < ids.length - 1 && this.#continuations.has(ids[to] ?? 0)) to -= 1
      parts.push([start, ...ids.slice(from, to), end])
      from = to
    }
    return parts
  }

  #required(token: string): number {
    const id = this.#ids.get(token)
    if (id === undefined) throw new Error(`The vocabulary has no ${token}`)
    return id
  }

  #word(word: string): readonly number[] {
    const known = this.#remembered.get(word)
    if (known !== undefined) return known
    if (this.#remembered.size >= REMEMBERED_WORDS_MAX) this.#remembered.clear()
    const ids = this.#pieces(word)
    if (word.length <= WORD_CHARS_MAX) this.#remembered.set(word, ids)
    return ids
  }

  #pieces(word: string): readonly number[] {
    const unknown = [this.#special.unknown]
    // A character is at most two code units: longer than this is too long without counting.
    if (word.length > 2 * WORD_CHARS_MAX) return unknown
    const chars = [...word]
    if (chars.length > WORD_CHARS_MAX) return unknown
    const ids: number[] = []
    for (let start = 0; start < chars.length; ) {
      const piece = this.#longest(chars, start)
      if (piece === null) return unknown
      ids.push(piece.id)
      start = piece.end
    }
    return ids
  }

  #longest(chars: readonly string[], start: number): Piece | null {
    const prefix = start === 0 ? '' : '##'
    for (let end = chars.length; end > start; end -= 1) {
      const id = this.#ids.get(prefix + chars.slice(start, end).join(''))
      if (id !== undefined) return { id, end }
    }
    return null
  }
}

interface Piece {
  readonly id: number
  /** Index of the first character after the piece. */
  readonly end: number
}

/** Names of special tokens are read as those tokens if a text contains them, as in the reference. */
const SPECIAL_NAMES = /(\[(?:UNK|CLS|SEP|PAD|MASK)\])/

function* markedWordsOf(text: string): Generator<string> {
  // `split` with a group gives plain text and special names by turns.
  for (const [index, part] of text.split(SPECIAL_NAMES).entries()) {
    if (index % 2 === 1) yield part
    else yield* splitWords(part)
  }
}

/**
 * Characters normalised at once: `encode` stops early, so the whole of a long text is never needed.
 */
const STRETCH_CHARS = 4096

/**
 * The words of a text after normalisation; punctuation marks and CJK characters are separate words.
 */
function* splitWords(text: string): Generator<string> {
  let word = ''
  for (const stretch of stretchesOf(text)) {
    for (const char of normalised(stretch)) {
      const isSeparate = isPunctuation(char)
      if (!isSeparate && !isSpace(char)) {
        // One character over the limit is enough to detect a word that is too long.
        if (word.length <= 2 * WORD_CHARS_MAX) word += char
        continue
      }
      if (word !== '') yield word
      word = ''
      if (isSeparate) yield char
    }
  }
  if (word !== '') yield word
}

/**
 * Cuts only before a space or a letter without marks, so that no character is parted from its
 * accents.
 */
function* stretchesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + STRETCH_CHARS, text.length)
    while (end < text.length && !isAsciiAt(text, end)) end += 1
    yield text.slice(start, end)
    start = end
  }
}

function isAsciiAt(text: string, index: number): boolean {
  return text.charCodeAt(index) < 0x80
}

const PLAIN_ASCII = /^[\t\n\r -~]*$/

function normalised(text: string): string {
  if (PLAIN_ASCII.test(text)) return text.toLowerCase()
  let cleaned = ''
  for (const char of text) {
    if (isDropped(char)) continue
    if (isSpace(char)) cleaned += ' '
    else cleaned += isIdeograph(char) ? ` ${char} ` : char
  }
  const bare = cleaned.normalize('NFD').replace(/\p{Mn}/gu, '')
  // Character by character: the reference has no rule for a sigma at the end of a word.
  return Array.from(bare, (char) => char.toLowerCase()).join('')
}

function isDropped(char: string): boolean {
  if (char === '\t' || char === '\n' || char === '\r') return false
  // Code points without a character stay, as in the reference; they end as an unknown token.
  return char === '\uFFFD' || /[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/u.test(char)
}

function isSpace(char: string): boolean {
  return /\p{White_Space}/u.test(char)
}

function isPunctuation(char: string): boolean {
  return /[!-/:-@[-`{-~]|\p{P}/u.test(char)
}

const IDEOGRAPHS: readonly (readonly [number, number])[] = [
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xf900, 0xfaff],
  [0x20000, 0x2a6df],
  [0x2a700, 0x2b73f],
  [0x2b740, 0x2b81f],
  [0x2b820, 0x2ceaf],
  [0x2f800, 0x2fa1f],
]

export function isIdeograph(char: string): boolean {
  const code = char.codePointAt(0) ?? 0
  return IDEOGRAPHS.some(([first, last]) => code >= first && code <= last)
}
