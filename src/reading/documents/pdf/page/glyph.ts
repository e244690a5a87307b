/** One character as it stands on a page, in points, upright. `baseline` grows downwards. */
export interface Glyph {
  readonly text: string
  readonly x0: number
  readonly x1: number
  readonly baseline: number
  /** Height of its type. */
  readonly size: number
  readonly font: Font
  /** Its place among the characters that the page draws. */
  readonly order: number
  /** The library, too, takes the gap before it for a space. */
  readonly isAfterGap: boolean
}

export interface Font {
  readonly name: string
  readonly bold: boolean
  readonly monospace: boolean
}
