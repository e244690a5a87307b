/** Larger files are not looked through again for a mistake. */
const LOOKED_AT_BYTES = 64 * 1024 * 1024

const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|NaN|-?Infinity/y
const STRING = /"(?:[^"\\\n]|\\.)*"/y
const SPACE = /[ \t\r\n]*/y

/** Where JSON is not JSON, by line and column from 1; null: nothing was found. Values may follow each other. */
export async function jsonMistake(path: string): Promise<string | null> {
  const file = Bun.file(path)
  if (file.size > LOOKED_AT_BYTES) return null
  const text = (await file.text()).replace(/^\ufeff/, '')
  const mistake = new JsonWalk(text).mistake()
  if (mistake === null) return null
  const before = text.slice(0, mistake.at)
  const line = before.split('\n').length
  const column = mistake.at - before.lastIndexOf('\n')
  const found =
    mistake.at >= text.length ? 'the end' : JSON.stringify(text.slice(mistake.at, mistake.at + 1))
  return `line ${line}, column ${column}: expected ${mistake.expected}, found ${found}`
}

type Expected = 'a value' | 'a name in quotes' | '":"' | '"," or "]"' | '"," or "}"'

class JsonWalk {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  mistake(): { at: number; expected: string } | null {
    const open: ('[' | '{')[] = []
    let expected: Expected = 'a value'
    /** A list or object that has just begun may end at once. */
    let isFirst = false
    for (;;) {
      this.#skip(SPACE)
      if (this.#at >= this.#text.length) {
        return open.length === 0 ? null : { at: this.#at, expected }
      }
      const sign = this.#text.charAt(this.#at)
      const container = open.at(-1)
      const closes = container === '[' ? ']' : '}'
      const mayClose = isFirst || expected.startsWith('","')
      if (container !== undefined && sign === closes && mayClose) {
        this.#at += 1
        open.pop()
        isFirst = false
        expected = after(open.at(-1))
      } else if (expected === 'a value') {
        isFirst = false
        if (sign === '[' || sign === '{') {
          this.#at += 1
          open.push(sign)
          isFirst = true
          expected = sign === '[' ? 'a value' : 'a name in quotes'
        } else if (this.#skip(sign === '"' ? STRING : LITERAL)) expected = after(container)
        else return { at: this.#at, expected }
      } else if (expected === 'a name in quotes') {
        isFirst = false
        if (!this.#skip(STRING)) return { at: this.#at, expected }
        expected = '":"'
      } else if (sign === (expected === '":"' ? ':' : ',')) {
        this.#at += 1
        const isName: boolean = expected !== '":"' && container === '{'
        expected = isName ? 'a name in quotes' : 'a value'
      } else return { at: this.#at, expected }
    }
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found === null) return false
    this.#at += found[0].length
    return true
  }
}

function after(container: '[' | '{' | undefined): Expected {
  if (container === undefined) return 'a value'
  return container === '[' ? '"," or "]"' : '"," or "}"'
}
