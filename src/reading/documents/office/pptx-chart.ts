import { calendarText, excelFormat } from '../../tables/workbooks/excel-dates.ts'
import {
  attribute,
  child,
  descendants,
  elementsOf,
  textOf,
  type XmlElement,
} from '../../xml-tree.ts'
import { type Block, oneLine } from './markdown-blocks.ts'

const CHART_ROWS_MAX = 500

/** The numbers of a chart as a table: a row for each category, a column for each series. */
export function chartBlocks(part: XmlElement | undefined): Block[] {
  const chart = child(part, 'chartSpace', 'chart')
  const title = oneLine([...descendants(child(chart, 'title'), 't')].map(textOf).join(''))
  const series = [...descendants(child(chart, 'plotArea'), 'ser')].slice(0, 100)
  const names = series.map((one) => oneLine(valuesOf(child(one, 'tx')).join(' ')))
  const categories = categoriesOf(child(series[0], 'cat') ?? child(series[0], 'xVal'))
  const columns = series.map((one) => valuesOf(child(one, 'val') ?? child(one, 'yVal')))
  const count = Math.max(0, ...columns.map((values) => values.length))
  const cell = (text: string | undefined): Block[] => [{ kind: 'paragraph', text: text ?? '' }]
  const rows = Array.from({ length: count }, (_, at) => {
    return [cell(categories[at]), ...columns.map((values) => cell(values[at]))]
  })
  const heading: Block[] = title === '' ? [] : [{ kind: 'paragraph', text: title }]
  if (rows.length === 0) return heading
  return [...heading, { kind: 'table', rows: [[[], ...names.map(cell)], ...rows] }]
}

/** `US / CA / SF` where categories have levels: the innermost comes first in the file, an outer one holds on. */
function categoriesOf(element: XmlElement | undefined): readonly string[] {
  const levels = [...descendants(element, 'lvl')].map(valuesOf)
  const [inner, ...outer] = levels
  if (inner === undefined) return valuesOf(element)
  return inner.map((name, at) => {
    const above = outer.map((names) => names.slice(0, at + 1).findLast((one) => one !== ''))
    return [...above.reverse(), name].filter((one) => one !== undefined && one !== '').join(' / ')
  })
}

/** Each at its place: points without a value are not in the file. */
function valuesOf(element: XmlElement | undefined): readonly string[] {
  const values: string[] = []
  const dates = hasDates(element)
  let next = 0
  for (const point of descendants(element, 'pt')) {
    const sent = attribute(point, 'idx')
    const at = sent === undefined ? next : Number(sent)
    if (!Number.isInteger(at) || at < 0 || at >= CHART_ROWS_MAX) continue
    while (values.length < at) values.push('')
    const text = oneLine(textOf(child(point, 'v')))
    const isSerial = dates && text !== '' && Number.isFinite(Number(text))
    values[at] = (isSerial ? dayOf(Number(text)) : null) ?? text
    next = at + 1
  }
  return values
}

function hasDates(element: XmlElement | undefined): boolean {
  const [cache] = elementsOf(element)
    .flatMap((one) => elementsOf(one))
    .filter((one) => one.name === 'numCache')
  const code = cache === undefined ? '' : textOf(child(cache, 'formatCode') ?? cache)
  const format = excelFormat(0, code)
  return format === 'date' || format === 'timestamp'
}

function dayOf(serial: number): string | null {
  return calendarText(serial, false)?.replace(/ 00:00:00$/, '') ?? null
}
