import type { Pdfium } from './pdfium.ts'

/** From the page's own space to how it is shown: turned, from its upper left corner, downwards. */
export interface PageFrame {
  readonly width: number
  readonly height: number
  /** x' = a x + c y + e; y' = b x + d y + f */
  readonly matrix: Matrix
}

export type Matrix = readonly [number, number, number, number, number, number]

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
