/** A longer word is one unknown token (the reference's `max_input_chars_per_word`). */
const WORD_CHARS_MAX = 100
/** How many words' tokens are cached; the cache is cleared when full. */
const REMEMBERED_WORDS_MAX = 20_000

/**
 * BERT's uncased WordPiece: clean the text, put spaces around CJK characters, strip accents, lower
 * the case, split at white space and punctuation, then take the longest matches from the
 * vocabulary. Returns the same ids as Hugging Face's `tokenizers` for the same vocabulary. Source:
 * Devlin et al. 2018 (arXiv 1810.04805), and `BertNormalizer`, `BertPreTokenizer`, `WordPiece` in
 * that library.
 */
export class WordPiece {
  readonly #ids: ReadonlyMap<string, number>
  readonly #special: {
    readonly unknown: number
    readonly start: number
    readonly end: number
  }
  readonly #continuations: ReadonlySet<number>
  readonly #remembered = new Map<string, readonly number[]>()

  /**
   * @param vocabulary the content of `vocab.txt`: one token per line, whose id is the line's index
   */
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

  /** Returns `[CLS] … [SEP]`, at most `tokensMax` ids including these two; the rest is cut off. */
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

  /** Sequences of about equal length that start at words. A word has at most 100 tokens. */
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
    // A character has at most two code units, so such a word is certainly too long.
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
  /** The index after the piece. */
  readonly end: number
}

/** The name of a special token in a text is read as that token, as in the reference. */
const SPECIAL_NAMES = /(\[(?:UNK|CLS|SEP|PAD|MASK)\])/

function* markedWordsOf(text: string): Generator<string> {
  // `split` with a capturing group returns plain text and special names in turn.
  for (const [index, part] of text.split(SPECIAL_NAMES).entries()) {
    if (index % 2 === 1) yield part
    else yield* splitWords(part)
  }
}

/** How much is normalised at a time: `encode` rarely needs all of a long text. */
const STRETCH_CHARS = 4096

/** The words of a text after normalisation; punctuation and CJK characters are words. */
function* splitWords(text: string): Generator<string> {
  let word = ''
  for (const stretch of stretchesOf(text)) {
    for (const char of normalised(stretch)) {
      const isSeparate = isPunctuation(char)
      if (!isSeparate && !isSpace(char)) {
        // One character more than allowed is enough to detect a word that is too long.
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

/** Splits only before a space or an unmarked letter, so that accents stay with their letters. */
function* stretchesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + STRETCH_CHARS, text.length)
    while (end < text.length && text.charCodeAt(end) >= 0x80) end += 1
    yield text.slice(start, end)
    start = end
  }
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
  // Character by character, because the reference implementation has no rule for a final sigma.
  return Array.from(bare, (char) => char.toLowerCase()).join('')
}

function isDropped(char: string): boolean {
  if (char === '\t' || char === '\n' || char === '\r') return false
  // Unassigned code points stay, as in the reference implementation, and become an unknown token.
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
