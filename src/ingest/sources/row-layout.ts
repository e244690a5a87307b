/** The column `layout` of a document's row: how its text is laid out, as JSON. Chunking follows it. */

import {
  type Row,
  type RowValue,
  shownValue,
  type TextLayout,
  type TextParts,
  type TextSyntax,
} from '../../core/domain/document.ts'
import { isObject } from '../../core/json.ts'

export const LAYOUT_COLUMN = 'layout'

const SYNTAXES: readonly TextSyntax[] = ['text', 'markdown', 'code']
const UNITS: readonly TextParts['unit'][] = ['page', 'slide', 'chapter', 'cell']

/** `{"syntax": "markdown", "parts": {"unit": "page", "starts": [0, 812]}}`; the title has a column of its own. */
export function layoutValue({ syntax, parts }: Omit<TextLayout, 'title'>): RowValue {
  return { syntax, parts: parts === null ? null : { unit: parts.unit, starts: [...parts.starts] } }
}

/** null: the row has no such column, or one that means something else. */
export function layoutIn(row: Row): TextLayout | null {
  const value = shownValue(row[LAYOUT_COLUMN] ?? null)
  if (!isObject(value) || Object.keys(value).some((key) => key !== 'syntax' && key !== 'parts')) {
    return null
  }
  const syntax = SYNTAXES.find((one) => one === value.syntax)
  const parts = partsIn(value.parts ?? null)
  if (syntax === undefined || parts === undefined) return null
  const { title } = row
  return { title: typeof title === 'string' && title !== '' ? title : null, syntax, parts }
}

/** undefined: not what we write. */
function partsIn(value: RowValue): TextParts | null | undefined {
  if (value === null) return null
  if (!isObject(value)) return undefined
  const unit = UNITS.find((one) => one === value.unit)
  const { starts } = value
  if (unit === undefined || !isList(starts)) return undefined
  const offsets = starts.filter((start): start is number => Number.isSafeInteger(start))
  const isRising = offsets.every((start, index) => start >= (offsets[index - 1] ?? 0))
  return isRising && offsets.length === starts.length ? { unit, starts: offsets } : undefined
}

function isList(value: RowValue | undefined): value is readonly RowValue[] {
  return Array.isArray(value)
}
