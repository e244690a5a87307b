import { attribute, child, elementsOf, type XmlElement } from '../../xml-tree.ts'
import type { Numbering } from './docx-styles.ts'

interface ListLevel {
  readonly format: string
  /** `%1.%2`: the numbers of the levels. */
  readonly pattern: string
  readonly start: number
  readonly style: string | undefined
}

/** The numbers and bullets that Word counts by itself: they stand nowhere in the text. */
export class DocxNumbering {
  readonly #abstracts: ReadonlyMap<string, XmlElement>
  readonly #lists: ReadonlyMap<string, XmlElement>
  readonly #levels = new Map<string, readonly (ListLevel | undefined)[]>()
  /** By abstract list: lists made from one go on counting. */
  readonly #counters = new Map<string, number[]>()
  readonly #restarted = new Set<string>()

  constructor(numbering: XmlElement | undefined) {
    const all = elementsOf(child(numbering, 'numbering'))
    const byId = (name: string, key: string) => {
      const found = all.filter((one) => one.name === name)
      return new Map(found.map((one) => [attribute(one, key) ?? '', one]))
    }
    this.#abstracts = byId('abstractNum', 'abstractNumId')
    this.#lists = byId('num', 'numId')
  }

  /** Counts one paragraph. null: it has neither number nor bullet. */
  next(numbering: Numbering, styleId: string | undefined): Marked | null {
    const levels = this.#levelsOf(numbering.list)
    const styled = levels.findIndex((one) => one?.style !== undefined && one.style === styleId)
    const depth = numbering.level ?? Math.max(styled, 0)
    const level = levels[depth]
    if (level === undefined) return null
    const counters = this.#countersOf(numbering.list, depth)
    counters[depth] = (counters[depth] ?? level.start - 1) + 1
    counters.length = depth + 1
    if (level.format === 'none') return null
    if (level.format === 'bullet') return { depth, marker: '-', isBullet: true }
    const marker = level.pattern.replace(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1
      const of = levels[at]
      return formatted(counters[at] ?? of?.start ?? 1, of?.format ?? 'decimal')
    })
    return marker.trim() === '' ? null : { depth, marker: marker.trim(), isBullet: false }
  }

  #countersOf(list: string, depth: number): number[] {
    const abstract = attribute(child(this.#lists.get(list), 'abstractNumId'), 'val') ?? list
    const counters = this.#counters.get(abstract) ?? []
    this.#counters.set(abstract, counters)
    const override = elementsOf(this.#lists.get(list)).find((one) => {
      return one.name === 'lvlOverride' && attribute(one, 'ilvl') === String(depth)
    })
    const start = attribute(child(override, 'startOverride'), 'val')
    const key = `${list}:${depth}`
    if (start !== undefined && !this.#restarted.has(key)) {
      this.#restarted.add(key)
      counters[depth] = (Number.parseInt(start, 10) || 0) - 1
    }
    return counters
  }

  #levelsOf(list: string): readonly (ListLevel | undefined)[] {
    const known = this.#levels.get(list)
    if (known !== undefined) return known
    const number = this.#lists.get(list)
    const abstract = this.#linked(attribute(child(number, 'abstractNumId'), 'val') ?? '')
    const levels: (ListLevel | undefined)[] = []
    const overrides = elementsOf(number).flatMap((one) => elementsOf(one))
    for (const one of [...elementsOf(abstract), ...overrides]) {
      if (one.name !== 'lvl') continue
      const at = Number.parseInt(attribute(one, 'ilvl') ?? '', 10)
      if (at >= 0 && at < 9) levels[at] = listLevel(one)
    }
    this.#levels.set(list, levels)
    return levels
  }

  /** A list may only name a style that has the levels. */
  #linked(id: string): XmlElement | undefined {
    const abstract = this.#abstracts.get(id)
    const link = attribute(child(abstract, 'numStyleLink'), 'val')
    if (link === undefined) return abstract
    const target = [...this.#abstracts.values()].find((one) => {
      return attribute(child(one, 'styleLink'), 'val') === link
    })
    return target ?? abstract
  }
}

export interface Marked {
  readonly depth: number
  readonly marker: string
  readonly isBullet: boolean
}

function listLevel(element: XmlElement): ListLevel {
  const value = (name: string) => attribute(child(element, name), 'val')
  return {
    format: value('numFmt') ?? 'decimal',
    pattern: value('lvlText') ?? '',
    start: Number.parseInt(value('start') ?? '1', 10) || 0,
    style: value('pStyle'),
  }
}

const ROMAN: readonly (readonly [number, string])[] = [
  [1000, 'm'],
  [900, 'cm'],
  [500, 'd'],
  [400, 'cd'],
  [100, 'c'],
  [90, 'xc'],
  [50, 'l'],
  [40, 'xl'],
  [10, 'x'],
  [9, 'ix'],
  [5, 'v'],
  [4, 'iv'],
  [1, 'i'],
]

/** A number as lists write it: `3`, `c`, `III`. */
export function formatted(number: number, format: string): string {
  if (number < 1 || number > 3999) return String(number)
  if (format === 'lowerLetter') return letters(number)
  if (format === 'upperLetter') return letters(number).toUpperCase()
  if (format === 'lowerRoman') return roman(number)
  if (format === 'upperRoman') return roman(number).toUpperCase()
  return format === 'decimalZero' ? String(number).padStart(2, '0') : String(number)
}

/** Word goes on with `aa`, `bb`. */
function letters(number: number): string {
  const letter = String.fromCharCode(97 + ((number - 1) % 26))
  return letter.repeat(Math.min(Math.ceil(number / 26), 10))
}

function roman(number: number): string {
  let rest = number
  let written = ''
  for (const [value, sign] of ROMAN) {
    for (; rest >= value; rest -= value) written += sign
  }
  return written
}
