/** How models mark thoughts at the start of a text, if the server does not remove them. */
const THOUGHT_TAGS: readonly (readonly [string, string])[] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  // Gemma and Gemini.
  ['<thought>', '</thought>'],
  // Magistral.
  ['[THINK]', '[/THINK]'],
]

/** White space before a thought; more of it is text. */
const LEAD_CHARS_MAX = 1_000

export interface Said {
  readonly kind: 'text' | 'reasoning'
  readonly text: string
}

/** Removes the thoughts at the start of a text, at any cuts between pieces. */
export class ThoughtSplitter {
  #state: 'beginning' | 'thought' | 'gap' | 'text' = 'beginning'
  #held = ''
  #endMark = ''

  add(piece: string): readonly Said[] {
    this.#held += piece
    const said: Said[] = []
    if (this.#state === 'beginning') this.#begin()
    if (this.#state === 'thought') said.push(...this.#thought())
    if (this.#state === 'gap') {
      // Text between thought and answer belongs to neither.
      this.#held = this.#held.trimStart()
      if (this.#held !== '') this.#state = 'text'
    }
    if (this.#state === 'text' && this.#held !== '') said.push(...this.end())
    return said
  }

  /** Text held back, at the end. */
  end(): readonly Said[] {
    const text = this.#held
    this.#held = ''
    if (text === '') return []
    return [{ kind: this.#state === 'thought' ? 'reasoning' : 'text', text }]
  }

  #begin(): void {
    const start = this.#held.trimStart()
    const mark = THOUGHT_TAGS.find(([opening]) => start.startsWith(opening))
    if (mark !== undefined) {
      this.#state = 'thought'
      this.#endMark = mark[1]
      this.#held = start.slice(mark[0].length)
    } else if (
      this.#held.length > LEAD_CHARS_MAX ||
      !THOUGHT_TAGS.some(([opening]) => opening.startsWith(start))
    ) {
      this.#state = 'text'
    }
  }

  #thought(): readonly Said[] {
    const mark = this.#endMark
    const endIndex = this.#held.indexOf(mark)
    // The mark itself may be cut in two.
    const length = endIndex === -1 ? this.#held.length - partialEnd(this.#held, mark) : endIndex
    const text = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    if (endIndex !== -1) {
      this.#held = this.#held.slice(mark.length)
      this.#state = 'gap'
    }
    return text === '' ? [] : [{ kind: 'reasoning', text }]
  }
}

/** How many characters at the end of a text are a prefix of the mark. */
function partialEnd(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1) {
    if (mark.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}
