import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { TokenCounter } from '../../core/domain/ports/model-ports.ts'
import { isIdeograph, WordPiece } from './word-piece.ts'

/** How many words' token counts are cached; the cache is cleared when full. */
const REMEMBERED_WORDS_MAX = 50_000
/** In code units. A longer word has more than 100 characters, so it is one unknown token. */
const COUNTED_WORD_CHARS_MAX = 200

const KIND = { unknown: 0, word: 1, space: 2, single: 3 } as const

/** Twenty times faster than `WordPiece`. Special names count by letters: an upper bound. */
class WordPieceCounter implements TokenCounter {
  readonly #wordPiece: WordPiece
  readonly #counts = new Map<string, number>()
  /** The kind of each code unit, see `KIND`. */
  readonly #kinds = new Uint8Array(0x10000)

  constructor(wordPiece: WordPiece) {
    this.#wordPiece = wordPiece
  }

  count(text: string): number {
    let tokens = 0
    for (let at = 0; at < text.length; ) {
      const end = this.#wordEnd(text, at, text.length)
      tokens += this.#tokensOf(text, at, end)
      at = end
    }
    return tokens
  }

  fit(text: string, start: number, end: number, tokensMax: number): number {
    let tokens = 0
    for (let at = start; at < end; ) {
      const wordEnd = this.#wordEnd(text, at, end)
      tokens += this.#tokensOf(text, at, wordEnd)
      if (tokens > tokensMax) return at
      at = wordEnd
    }
    return end
  }

  /** The end of the word, punctuation mark or white space at `at`. */
  #wordEnd(text: string, at: number, limit: number): number {
    const kind = this.#kindAt(text, at)
    let end = at + widthAt(text, at)
    if (kind === KIND.single) return Math.min(end, limit)
    while (end < limit) {
      const known = this.#kinds[text.charCodeAt(end)]
      if (known === kind) end += 1
      else if (known !== KIND.unknown || this.#kindAt(text, end) !== kind) break
      else end += widthAt(text, end)
    }
    return Math.min(end, limit)
  }

  #tokensOf(text: string, start: number, end: number): number {
    if (this.#kindAt(text, start) === KIND.space) return 0
    if (end - start > COUNTED_WORD_CHARS_MAX) return 1
    const word = text.slice(start, end)
    const known = this.#counts.get(word)
    if (known !== undefined) return known
    if (this.#counts.size >= REMEMBERED_WORDS_MAX) this.#counts.clear()
    // Without the two special tokens.
    const tokens = this.#wordPiece.encode(word, Number.POSITIVE_INFINITY).length - 2
    this.#counts.set(word, tokens)
    return tokens
  }

  #kindAt(text: string, at: number): number {
    const code = text.charCodeAt(at)
    const known = this.#kinds[code] ?? KIND.unknown
    if (known !== KIND.unknown) return known
    if ((code & 0xf800) === 0xd800) return charKind(String.fromCodePoint(text.codePointAt(at) ?? 0))
    const kind = charKind(text.charAt(at))
    this.#kinds[code] = kind
    return kind
  }
}

/** The number of code units of the character at this position. */
function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
}

/** Characters that WordPiece removes, such as soft hyphens, do not split a word. */
function charKind(char: string): number {
  if (/[\t\n\r]/.test(char)) return KIND.space
  if (/[\uFFFD\p{Cc}\p{Cf}\p{Co}\p{Cs}]/u.test(char)) return KIND.word
  if (/\p{White_Space}/u.test(char)) return KIND.space
  return /[!-/:-@[-`{-~]|\p{P}/u.test(char) || isIdeograph(char) ? KIND.single : KIND.word
}

/** The first call reads the vocabulary, which takes about 15 ms. */
export function builtinTokenCounter(): () => TokenCounter {
  const path = '../../../assets/all-MiniLM-L6-v2-int8/vocab.txt'
  const vocabulary = () => readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8')
  let counter: WordPieceCounter | undefined
  return () => {
    counter ??= new WordPieceCounter(new WordPiece(vocabulary()))
    return counter
  }
}
