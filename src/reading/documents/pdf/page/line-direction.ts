/**
 * In which direction a line's letters run, as the library goes through them. What runs from right to left it gives in the order
 * of reading, its brackets turned round; ours are turned round where the whole line is. So the codes here are those of the
 * shapes that the page draws.
 */
export class LineDirection {
  readonly #codeOf: (index: number) => number
  /** Of the letters before; null: none yet. */
  #isFromRight: boolean | null = null

  constructor(codeOf: (index: number) => number) {
    this.#codeOf = codeOf
  }

  /** A character that the library has made up: a space, or the end of the line. */
  pass(index: number): void {
    if (isLineEnd(this.#codeOf(index))) this.#isFromRight = null
  }

  codeAt(index: number): number {
    const code = this.#codeOf(index)
    // Letters of Latin text come first: this runs for every character.
    if (code >= 0x41 && code < 0x590) {
      if (BRACKETS.has(code)) return this.#drawn(code, index)
      if (code !== 0x5c && code !== 0x5e && code !== 0x5f && code !== 0x7c)
        this.#isFromRight = false
    } else if (code >= 0x30 && code <= 0x39) this.#isFromRight = false
    else if (isFromRight(code)) this.#isFromRight = true
    else if (code >= 0x3040 && code < 0xfb00) this.#isFromRight = false
    else if (BRACKETS.has(code)) return this.#drawn(code, index)
    return code
  }

  #drawn(code: number, index: number): number {
    this.#isFromRight ??= this.#nextIsFromRight(index)
    return this.#isFromRight ? (BRACKETS.get(code) ?? code) : code
  }

  #nextIsFromRight(index: number): boolean {
    for (let at = index + 1; at < index + LOOKED_AT; at += 1) {
      const code = this.#codeOf(at)
      if (isFromRight(code)) return true
      const isOther = code >= 0x30 && !BRACKETS.has(code)
      if (isOther || isLineEnd(code)) return false
    }
    return false
  }
}

/** Hebrew, Arabic and their kin, without digits, which run from left to right everywhere. */
function isFromRight(code: number): boolean {
  if (code < 0x590 || (code > 0x8ff && code < 0xfb1d)) return false
  if (code > 0x8ff) return code <= 0xfdff || (code >= 0xfe70 && code <= 0xfefc)
  return !(code >= 0x660 && code <= 0x669) && !(code >= 0x6f0 && code <= 0x6f9)
}

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13
}

const BRACKETS: ReadonlyMap<number, number> = new Map(
  ['()', '[]', '{}', '<>', '«»'].flatMap((pair) => {
    const [open, close] = [pair.charCodeAt(0), pair.charCodeAt(1)]
    return [
      [open, close],
      [close, open],
    ] as const
  }),
)
const LOOKED_AT = 20
