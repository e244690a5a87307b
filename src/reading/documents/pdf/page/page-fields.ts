import type { Font, Glyph } from './glyph.ts'
import type { PageFrame } from './page-frame.ts'
import type { PdfFile } from './pdf-file.ts'

/** What people have filled in on a page, each where its field stands. */
export function fieldValues(file: PdfFile, page: number, frame: PageFrame): Glyph[] {
  const { form } = file
  if (form === 0) return []
  const { calls } = file.pdfium
  const count = Math.min(calls.FPDFPage_GetAnnotCount(page), FIELDS_MAX)
  const values: Glyph[] = []
  for (let index = 0; index < count; index += 1) {
    const annotation = calls.FPDFPage_GetAnnot(page, index)
    if (annotation === 0) continue
    try {
      if (calls.FPDFAnnot_GetSubtype(annotation) !== WIDGET) continue
      const text = fieldText(file, annotation)
      if (text !== '') values.push(placed(file, annotation, text, frame))
    } finally {
      calls.FPDFPage_CloseAnnot(annotation)
    }
  }
  return values
}

function fieldText({ pdfium, form }: PdfFile, annotation: number): string {
  const { calls } = pdfium
  const type = calls.FPDFAnnot_GetFormFieldType(form, annotation)
  if (type === CHECK_BOX || type === RADIO_BUTTON) {
    return calls.FPDFAnnot_IsChecked(form, annotation) ? '[x]' : ''
  }
  if (type !== COMBO_BOX && type !== LIST_BOX && type !== TEXT_FIELD) return ''
  if ((calls.FPDFAnnot_GetFormFieldFlags(form, annotation) & PASSWORD) !== 0) return ''
  return pdfium
    .utf16((at, bytes) => calls.FPDFAnnot_GetFormFieldValue(form, annotation, at, bytes))
    .replace(/\s+/g, ' ')
    .trim()
}

/** A value stands where its field does, as one wide character. */
function placed({ pdfium }: PdfFile, annotation: number, text: string, frame: PageFrame): Glyph {
  const { calls, scratch } = pdfium
  calls.FPDFAnnot_GetRect(annotation, scratch)
  const [a, b, c, d, e, f] = frame.matrix
  const corner = (x: number, y: number) => [a * x + c * y + e, b * x + d * y + f] as const
  const [left, top] = corner(pdfium.float32(0), pdfium.float32(1))
  const [right, bottom] = corner(pdfium.float32(2), pdfium.float32(3))
  const height = Math.abs(bottom - top)
  const size = Math.min(Math.max(height * 0.7, 4), 10)
  const isOneLine = height < 26
  const x0 = Math.min(left, right)
  return {
    text,
    x0,
    x1: Math.max(left, right, x0 + 1),
    baseline: isOneLine ? Math.max(top, bottom) - height * 0.28 : Math.min(top, bottom) + size,
    size,
    font: FIELD_FONT,
    order: Number.MAX_SAFE_INTEGER,
    isAfterGap: true,
  }
}

const FIELD_FONT: Font = { name: 'field', bold: false, monospace: false }
const FIELDS_MAX = 5000
/** `FPDF_ANNOT_WIDGET`, `FPDF_FORMFIELD_…` */
const WIDGET = 20
const CHECK_BOX = 2
const RADIO_BUTTON = 3
const COMBO_BOX = 4
const LIST_BOX = 5
const TEXT_FIELD = 6
const PASSWORD = 1 << 13
