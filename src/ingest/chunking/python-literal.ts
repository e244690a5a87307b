import type { RowValue } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'

const TOKEN =
  /\s*(?:([[\](){},:])|('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(None|True|False))\s*/y

const NAMES: Readonly<Record<string, RowValue>> = { None: null, True: true, False: false }
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' }

/** What Python prints of lists, dictionaries, tuples, texts and numbers; undefined: it is none of these. */
export function pythonLiteral(text: string): RowValue | undefined {
  try {
    return new LiteralReader(text).whole()
  } catch (error) {
    if (error instanceof NoLiteral) return undefined
    throw error
  }
}

class NoLiteral extends Error {}

class LiteralReader {
  readonly #text: string
  #at = 0
  #token = ''

  constructor(text: string) {
    this.#text = text
    this.#next()
  }

  whole(): RowValue {
    const value = this.#value(0)
    if (this.#token !== '') throw new NoLiteral()
    return value
  }

  #next(): void {
    if (this.#at >= this.#text.length) {
      this.#token = ''
      return
    }
    TOKEN.lastIndex = this.#at
    const found = TOKEN.exec(this.#text)
    if (found === null) throw new NoLiteral()
    this.#token = found.slice(1).find((part) => part !== undefined) ?? ''
    this.#at = TOKEN.lastIndex
  }

  #take(): string {
    const token = this.#token
    this.#next()
    return token
  }

  #value(depth: number): RowValue {
    if (depth > INGEST_LIMITS.nestingMax) throw new NoLiteral()
    const token = this.#take()
    if (token === '{') return this.#dictionary(depth)
    if (token === '[') return this.#items(']', depth)
    if (token === '(') return this.#items(')', depth)
    if (Object.hasOwn(NAMES, token)) return NAMES[token] ?? null
    if (/^["']/.test(token)) return textOf(token)
    if (/^-?\d/.test(token)) return Number(token)
    throw new NoLiteral()
  }

  #items(end: string, depth: number): RowValue {
    const items: RowValue[] = []
    while (this.#token !== end) {
      items.push(this.#value(depth + 1))
      if (this.#token !== end && this.#take() !== ',') throw new NoLiteral()
    }
    this.#next()
    return items
  }

  #dictionary(depth: number): RowValue {
    const entries: [string, RowValue][] = []
    while (this.#token !== '}') {
      const key = this.#value(depth + 1)
      if (typeof key === 'object' || this.#take() !== ':') throw new NoLiteral()
      entries.push([String(key), this.#value(depth + 1)])
      if (this.#token !== '}' && this.#take() !== ',') throw new NoLiteral()
    }
    this.#next()
    return Object.fromEntries(entries)
  }
}

function textOf(token: string): string {
  return token
    .slice(1, -1)
    .replace(/\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))/g, (_, wide, narrow, char) => {
      const hex = wide ?? narrow
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
      return ESCAPES[char] ?? char
    })
}
