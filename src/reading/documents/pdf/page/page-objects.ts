import type { Pdfium } from './pdf-file.ts'

/** What a page draws besides characters. */
export interface Drawn {
  readonly rules: readonly Rule[]
  readonly imageCount: number
}

/** A straight line or an edge of a box, horizontal or vertical, with y growing downwards. */
export interface Rule {
  readonly x0: number
  readonly y0: number
  readonly x1: number
  readonly y1: number
}

/** Finds lines and boxes, and counts pictures without decoding them. */
export function drawnObjects(pdfium: Pdfium, page: number, frame: PageFrame): Drawn {
  const reading = new ObjectReading(pdfium)
  const { calls } = pdfium
  const count = calls.FPDFPage_CountObjects(page)
  for (let index = 0; index < count && reading.goesOn; index += 1) {
    reading.visit(calls.FPDFPage_GetObject(page, index), frame.matrix, 0)
  }
  return { rules: reading.rules, imageCount: reading.imageCount }
}

class ObjectReading {
  readonly rules: Rule[] = []
  imageCount = 0
  readonly #pdfium: Pdfium
  #visited = 0

  constructor(pdfium: Pdfium) {
    this.#pdfium = pdfium
  }

  get goesOn(): boolean {
    return this.#visited < OBJECTS_MAX
  }

  visit(object: number, outer: Matrix, depth: number): void {
    this.#visited += 1
    const { calls } = this.#pdfium
    const type = calls.FPDFPageObj_GetType(object)
    if (type === PATH) this.#visitPath(object, outer)
    else if (type === IMAGE) this.imageCount += 1
    else if (type === FORM && depth < FORM_DEPTH_MAX) this.#visitForm(object, outer, depth)
  }

  #visitForm(form: number, outer: Matrix, depth: number): void {
    const { calls } = this.#pdfium
    const matrix = this.#matrixOf(form, outer)
    const count = calls.FPDFFormObj_CountObjects(form)
    for (let index = 0; index < count && this.goesOn; index += 1) {
      this.visit(calls.FPDFFormObj_GetObject(form, index), matrix, depth + 1)
    }
  }

  #visitPath(path: number, outer: Matrix): void {
    const { calls } = this.#pdfium
    const count = calls.FPDFPath_CountSegments(path)
    if (count < 2 || count > SEGMENTS_MAX) return
    const matrix = this.#matrixOf(path, outer)
    const lines = this.#straightLines(path, count, matrix)
    if (lines === null) return
    const box = boxOf(lines)
    // A thin box is a line, however it is drawn.
    if (box.y1 - box.y0 <= RULE_THICKNESS_MAX || box.x1 - box.x0 <= RULE_THICKNESS_MAX) {
      if (lengthOf(box) >= RULE_LENGTH_MIN) this.rules.push(middle(box))
      return
    }
    if (!this.#isStroked(path)) return
    this.rules.push(...lines.filter(isRule))
  }

  /** Null if it has curves. */
  #straightLines(path: number, count: number, [a, b, c, d, e, f]: Matrix): Rule[] | null {
    const { calls, scratch } = this.#pdfium
    const lines: Rule[] = []
    let [x, y, startX, startY] = [0, 0, 0, 0]
    for (let index = 0; index < count; index += 1) {
      const segment = calls.FPDFPath_GetPathSegment(path, index)
      const type = calls.FPDFPathSegment_GetType(segment)
      if (type === BEZIER) return null
      calls.FPDFPathSegment_GetPoint(segment, scratch, scratch + 4)
      const [px, py] = [this.#pdfium.float32(0), this.#pdfium.float32(1)]
      const [nextX, nextY] = [a * px + c * py + e, b * px + d * py + f]
      if (type === LINE_TO) lines.push(line(x, y, nextX, nextY))
      else [startX, startY] = [nextX, nextY]
      if (calls.FPDFPathSegment_GetClose(segment)) lines.push(line(nextX, nextY, startX, startY))
      ;[x, y] = [nextX, nextY]
    }
    return lines.length === 0 ? null : lines
  }

  #isStroked(path: number): boolean {
    const { calls, scratch } = this.#pdfium
    return calls.FPDFPath_GetDrawMode(path, scratch, scratch + 4) && this.#pdfium.int32(1) !== 0
  }

  #matrixOf(object: number, [a, b, c, d, e, f]: Matrix): Matrix {
    const { calls, scratch } = this.#pdfium
    if (!calls.FPDFPageObj_GetMatrix(object, scratch)) return [a, b, c, d, e, f]
    const at = (index: number) => this.#pdfium.float32(index)
    const [a2, b2, c2, d2, e2, f2] = [at(0), at(1), at(2), at(3), at(4), at(5)]
    return [
      a * a2 + c * b2,
      b * a2 + d * b2,
      a * c2 + c * d2,
      b * c2 + d * d2,
      a * e2 + c * f2 + e,
      b * e2 + d * f2 + f,
    ]
  }
}

function line(x0: number, y0: number, x1: number, y1: number): Rule {
  return {
    x0: Math.min(x0, x1),
    y0: Math.min(y0, y1),
    x1: Math.max(x0, x1),
    y1: Math.max(y0, y1),
  }
}

function boxOf(lines: readonly Rule[]): Rule {
  return {
    x0: Math.min(...lines.map(({ x0 }) => x0)),
    y0: Math.min(...lines.map(({ y0 }) => y0)),
    x1: Math.max(...lines.map(({ x1 }) => x1)),
    y1: Math.max(...lines.map(({ y1 }) => y1)),
  }
}

function lengthOf({ x0, y0, x1, y1 }: Rule): number {
  return Math.max(x1 - x0, y1 - y0)
}

/** Returns the centre line of a thin box. */
function middle({ x0, y0, x1, y1 }: Rule): Rule {
  if (x1 - x0 >= y1 - y0) return { x0, y0: (y0 + y1) / 2, x1, y1: (y0 + y1) / 2 }
  return { x0: (x0 + x1) / 2, y0, x1: (x0 + x1) / 2, y1 }
}

function isRule(rule: Rule): boolean {
  const isStraight = rule.x1 - rule.x0 < 1 || rule.y1 - rule.y0 < 1
  return isStraight && lengthOf(rule) >= RULE_LENGTH_MIN
}

/** Examine at most this many objects per page. */
const OBJECTS_MAX = 20_000
const SEGMENTS_MAX = 400
const FORM_DEPTH_MAX = 4
/** Boxes thinner than this are lines. */
const RULE_THICKNESS_MAX = 3
const RULE_LENGTH_MIN = 6

/** `FPDF_PAGEOBJ_…` and `FPDF_SEGMENT_…` */
const PATH = 2
const IMAGE = 3
const FORM = 5
const LINE_TO = 0
const BEZIER = 1

/**
 * Converts a page's coordinates to those shown: rotated, with the origin in the upper left corner.
 */
export interface PageFrame {
  readonly width: number
  readonly height: number
  /** x' = a x + c y + e; y' = b x + d y + f */
  readonly matrix: Matrix
}

type Matrix = readonly [number, number, number, number, number, number]

export function pageFrame(pdfium: Pdfium, page: number): PageFrame {
  const { calls, scratch } = pdfium
  calls.FPDF_GetPageBoundingBox(page, scratch)
  const at = (index: number) => pdfium.float32(index)
  const [left, top, right, bottom] = [at(0), at(1), at(2), at(3)] as const
  const [width, height] = [right - left, top - bottom]
  switch (calls.FPDFPage_GetRotation(page)) {
    case 1:
      return { width: height, height: width, matrix: [0, 1, 1, 0, -bottom, -left] }
    case 2:
      return { width, height, matrix: [-1, 0, 0, 1, right, -bottom] }
    case 3:
      return { width: height, height: width, matrix: [0, -1, -1, 0, top, right] }
    default:
      return { width, height, matrix: [1, 0, 0, -1, -left, top] }
  }
}
