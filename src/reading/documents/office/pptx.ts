import type { RawDocument, ReadDocument } from '../../../core/domain/ports/reading-ports.ts'
import { oneLine } from '../../../core/short-text.ts'
import { joinedParts, type ReadingNotes, unreadable, wholeDocument } from '../../document-format.ts'
import { calendarText, excelFormat } from '../../tables/workbooks/xlsx.ts'
import {
  attribute,
  child,
  descendants,
  elementsOf,
  textOf,
  type XmlElement,
} from '../../xml-tree.ts'
import { equationText, placedText } from './docx-text.ts'
import { type Block, markdownOfBlocks, titleOfBlocks } from './markdown-blocks.ts'
import { OfficePackage } from './office-package.ts'

export function* readPptx({ bytes }: RawDocument, notes: ReadingNotes): Generator<ReadDocument> {
  const office = new OfficePackage(bytes)
  const main = office.mainPart('ppt/presentation.xml')
  const presentation = child(office.part(main), 'presentation')
  if (presentation === undefined) {
    throw unreadable(`The PPTX has no list of slides (${main})`)
  }
  const related = office.relationships(main)
  const listed = elementsOf(child(presentation, 'sldIdLst')).map((one) => {
    return related.get(relationshipId(one))?.path
  })
  const paths = [...new Set(listed)].filter((path) => path !== undefined)
  const slides = paths.map((path, index) => {
    return blocksOfSlide(office, path, { notes, place: `a picture on slide ${index + 1}` })
  })
  const { content, starts, title } = joinedSlides(slides, notes)
  const properties = office.properties()
  yield wholeDocument({
    content,
    title: properties.title ?? title,
    syntax: 'markdown',
    parts: { unit: 'slide', starts },
    columns: properties.columns,
  })
}

/** Returns `r:id`, not the plain `id`, which is something else. */
function relationshipId(element: XmlElement): string {
  const found = Object.entries(element.attributes).find(([name]) => name.endsWith(':id'))
  return found?.[1] ?? ''
}

function blocksOfSlide(
  office: OfficePackage,
  path: string,
  scanned: { readonly notes: ReadingNotes; readonly place: string },
): readonly Block[] {
  const tree = child(office.part(path), 'sld', 'cSld', 'spTree')
  const related = office.relationships(path)
  const shapes = [...shapesIn(tree)]
  const titles = shapes.filter((shape) => isTitle(shape))
  const rest = shapes.filter((shape) => !isTitle(shape))
  const blocks = [...titles, ...rest].flatMap((shape) => {
    if (shape.name === 'graphicFrame') return frameBlocks(shape, office, related)
    if (shape.name !== 'pic') return shapeBlocks(shape)
    const marks = office.scans(shape, related, scanned)
    return marks.map((text): Block => ({ kind: 'paragraph', text }))
  })
  const notesPath = [...related.values()].find((one) => one.type === 'notesSlide')?.path
  return [...blocks, ...speakerNotes(office, notesPath)]
}

type Relationships = ReturnType<OfficePackage['relationships']>

/** Yields shapes and frames in drawing order, including those inside groups. */
function* shapesIn(tree: XmlElement | undefined): Generator<XmlElement> {
  for (const one of elementsOf(tree)) {
    if (/^(?:sp|graphicFrame|pic)$/.test(one.name)) yield one
    if (one.name === 'grpSp') yield* shapesIn(one)
    if (one.name === 'AlternateContent') {
      yield* shapesIn(child(one, 'Choice') ?? child(one, 'Fallback'))
    }
  }
}

/** Null if it is not a placeholder; '' for one that takes any content. */
function placeholderOf(shape: XmlElement): string | null {
  const placeholder = child(shape, 'nvSpPr', 'nvPr', 'ph')
  return placeholder === undefined ? null : (attribute(placeholder, 'type') ?? '')
}

function isTitle(shape: XmlElement): boolean {
  return /^(title|ctrTitle)$/.test(placeholderOf(shape) ?? '')
}

function paragraphsIn(body: XmlElement | undefined): readonly XmlElement[] {
  return elementsOf(body).filter((one) => one.name === 'p')
}

function shapeBlocks(shape: XmlElement): readonly Block[] {
  const placeholder = placeholderOf(shape)
  if (/^(dt|ftr|sldNum|hdr|sldImg)$/.test(placeholder ?? '')) return []
  const paragraphs = paragraphsIn(child(shape, 'txBody'))
  if (isTitle(shape)) {
    const text = oneLine(paragraphs.map(paragraphText).join(' '))
    return text === '' ? [] : [{ kind: 'heading', level: 1, text }]
  }
  const hasBullets = /^(body|obj)?$/.test(placeholder ?? 'none')
  return paragraphBlocks(paragraphs, hasBullets)
}

/** `hasBullets` says whether paragraphs are list items by default. */
function paragraphBlocks(paragraphs: readonly XmlElement[], hasBullets: boolean): Block[] {
  const counters: number[] = []
  const isList = hasBullets && paragraphs.filter((one) => paragraphText(one) !== '').length > 1
  return paragraphs.map((paragraph): Block => {
    const text = paragraphText(paragraph)
    const properties = child(paragraph, 'pPr')
    const depth = Math.min(
      Math.max(Number.parseInt(attribute(properties, 'lvl') ?? '0', 10) || 0, 0),
      8,
    )
    const numbered = child(properties, 'buAutoNum')
    const isItem =
      child(properties, 'buNone') === undefined &&
      (isList || depth > 0 || child(properties, 'buChar') !== undefined)
    counters.length = Math.min(counters.length, depth + 1)
    if (text === '') return { kind: 'paragraph', text }
    if (numbered === undefined) {
      counters.length = Math.min(counters.length, depth)
      return isItem ? { kind: 'item', depth, marker: '-', text } : { kind: 'paragraph', text }
    }
    const start = Number.parseInt(attribute(numbered, 'startAt') ?? '1', 10) || 1
    const number = (counters[depth] ?? start - 1) + 1
    counters[depth] = number
    return { kind: 'item', depth, marker: `${number}.`, text }
  })
}

function paragraphText(paragraph: XmlElement): string {
  return elementsOf(paragraph).map(inlineText).join('').replaceAll('\u00a0', ' ').trim()
}

function inlineText(element: XmlElement): string {
  if (element.name === 'br') return '\n'
  if (/^oMath(Para)?$/.test(element.name)) return equationText(element)
  if (element.name === 'fld' && /^slidenum/.test(attribute(element, 'type') ?? '')) return ''
  if (element.name === 'r' || element.name === 'fld') {
    const raised = Number.parseInt(attribute(child(element, 'rPr'), 'baseline') ?? '0', 10) || 0
    const place = raised > 0 ? 'superscript' : raised < 0 ? 'subscript' : undefined
    // In a title, a vertical tab is a line break.
    return placedText(textOf(child(element, 't')).replaceAll('\v', '\n'), place)
  }
  if (/^(AlternateContent|Choice|m)$/.test(element.name)) {
    const inner = child(element, 'Choice')
    return (inner === undefined ? elementsOf(element) : [inner]).map(inlineText).join('')
  }
  return ''
}

/** Reads a table, or the words of a diagram or chart, which are stored in separate parts. */
function frameBlocks(frame: XmlElement, office: OfficePackage, related: Relationships): Block[] {
  const data = child(frame, 'graphic', 'graphicData')
  const table = child(data, 'tbl')
  if (table !== undefined) return [tableBlock(table)]
  const diagram = attribute(child(data, 'relIds'), 'dm')
  if (diagram !== undefined) {
    const points = [...descendants(office.part(related.get(diagram)?.path), 'pt')]
    return points.flatMap((point) => {
      const paragraphs = paragraphsIn(child(point, 't'))
      return paragraphBlocks(paragraphs, false).map((block): Block => {
        return 'text' in block ? { kind: 'item', depth: 0, marker: '-', text: block.text } : block
      })
    })
  }
  const chart = child(data, 'chart')
  return chart === undefined
    ? []
    : chartBlocks(office.part(related.get(relationshipId(chart))?.path))
}

function tableBlock(table: XmlElement): Block {
  const rows = elementsOf(table).filter((one) => one.name === 'tr')
  return {
    kind: 'table',
    rows: rows.map((row) => {
      const cells = elementsOf(row).filter((one) => one.name === 'tc')
      return cells.map((cell) => {
        const isCovered = /^(1|true)$/.test(
          attribute(cell, 'hMerge') ?? attribute(cell, 'vMerge') ?? '',
        )
        const paragraphs = paragraphsIn(child(cell, 'txBody'))
        return isCovered ? [] : paragraphBlocks(paragraphs, false)
      })
    }),
  }
}

function speakerNotes(office: OfficePackage, path: string | undefined): readonly Block[] {
  const tree = child(office.part(path), 'notes', 'cSld', 'spTree')
  const bodies = [...shapesIn(tree)].filter((shape) => placeholderOf(shape) === 'body')
  const paragraphs = bodies.map((shape) => paragraphsIn(child(shape, 'txBody')))
  return withNotesMark(paragraphs.flatMap((some) => paragraphBlocks(some, false)))
}

export function withNotesMark(blocks: readonly Block[]): readonly Block[] {
  const filled = blocks.filter((block) => !('text' in block) || block.text.trim() !== '')
  const [first, ...rest] = filled
  if (first === undefined) return []
  if (first.kind !== 'paragraph') return [{ kind: 'paragraph', text: 'Notes:' }, ...filled]
  return [{ kind: 'paragraph', text: `Notes: ${first.text}` }, ...rest]
}

const CHART_ROWS_MAX = 500

/** Writes the numbers of a chart as a table with a row per category and a column per series. */
function chartBlocks(part: XmlElement | undefined): Block[] {
  const chart = child(part, 'chartSpace', 'chart')
  const title = oneLine([...descendants(child(chart, 'title'), 't')].map(textOf).join(''))
  const series = [...descendants(child(chart, 'plotArea'), 'ser')].slice(0, 100)
  const names = series.map((one) => oneLine(chartValues(child(one, 'tx')).join(' ')))
  const categories = categoriesOf(child(series[0], 'cat') ?? child(series[0], 'xVal'))
  const columns = series.map((one) => chartValues(child(one, 'val') ?? child(one, 'yVal')))
  const count = Math.max(0, ...columns.map((values) => values.length))
  const cell = (text: string | undefined): Block[] => [{ kind: 'paragraph', text: text ?? '' }]
  const rows = Array.from({ length: count }, (_, at) => {
    return [cell(categories[at]), ...columns.map((values) => cell(values[at]))]
  })
  const heading: Block[] = title === '' ? [] : [{ kind: 'paragraph', text: title }]
  if (rows.length === 0) return heading
  return [...heading, { kind: 'table', rows: [[[], ...names.map(cell)], ...rows] }]
}

/** `US / CA / SF` if categories have levels, innermost first; an outer label lasts. */
function categoriesOf(element: XmlElement | undefined): readonly string[] {
  const levels = [...descendants(element, 'lvl')].map(chartValues)
  const [inner, ...outer] = levels
  if (inner === undefined) return chartValues(element)
  return inner.map((name, at) => {
    const above = outer.map((names) => names.slice(0, at + 1).findLast((one) => one !== ''))
    return [...above.reverse(), name].filter((one) => one !== undefined && one !== '').join(' / ')
  })
}

/** Returns values at their positions, because points without a value are missing in the file. */
function chartValues(element: XmlElement | undefined): readonly string[] {
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

/** Joins slides to one text and returns where each starts. Warns about slides without text. */
export function joinedSlides(
  slides: readonly (readonly Block[])[],
  notes: ReadingNotes,
): { readonly content: string; readonly starts: readonly number[]; readonly title: string | null } {
  const texts = slides.map(markdownOfBlocks)
  notes.recognize({ pages: slides.length })
  const empty = texts.filter((text) => text === '').length
  if (empty > 0) notes.warn(`${empty} of ${slides.length} slides hold no text`)
  return { ...joinedParts(texts), title: titleOfBlocks(slides.flat()) }
}
