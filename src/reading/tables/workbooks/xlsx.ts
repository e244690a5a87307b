import { DAY_MS } from '../../../core/time.ts'
import { attribute, child, elementsOf, type XmlElement } from '../../xml-tree.ts'
import type { CellType, SheetTable } from './sheet-table.ts'
import { damaged, type ZipParts } from './zip-parts.ts'

export interface SheetPart {
  readonly name: string
  readonly isHidden: boolean
  read(table: SheetTable): Promise<void>
}

const STRINGS_CHARS_MAX = 200_000_000

export async function xlsxSheets(parts: ZipParts): Promise<readonly SheetPart[]> {
  const workbookPath = await mainPart(parts)
  const folder = workbookPath.slice(0, workbookPath.lastIndexOf('/') + 1)
  const relations = await relationsOf(parts, workbookPath)
  const workbook = child(await parts.tree(workbookPath), 'workbook')
  const is1904 = /^(1|true|on)$/.test(attribute(child(workbook, 'workbookPr'), 'date1904') ?? '')
  const partOf = (target: string) => (target.startsWith('/') ? target.slice(1) : folder + target)
  const typed = (type: string) => [...relations.values()].find((one) => one.type.endsWith(type))
  const stringsTarget = typed('/sharedStrings')?.target
  const formats = formatsOf(await parts.tree(partOf(typed('/styles')?.target ?? '')))
  let strings: Promise<readonly string[]> | null = null
  return elementsOf(child(workbook, 'sheets')).flatMap(({ attributes }): SheetPart[] => {
    const id = Object.entries(attributes).find(([key]) => key.endsWith(':id'))?.[1] ?? ''
    const relation = relations.get(id)
    // Charts have sheets of their own. Skip them.
    if (relation === undefined || !relation.type.endsWith('/worksheet')) return []
    const read = async (table: SheetTable): Promise<void> => {
      strings ??=
        stringsTarget === undefined || !parts.has(partOf(stringsTarget))
          ? Promise.resolve([])
          : stringsOf(parts, partOf(stringsTarget))
      await readSheet(
        parts,
        partOf(relation.target),
        { strings: await strings, formats, is1904 },
        table,
      )
    }
    const { name = '', state = 'visible' } = attributes
    return [{ name, isHidden: state !== 'visible', read }]
  })
}

interface Relation {
  readonly type: string
  readonly target: string
}

async function mainPart(parts: ZipParts): Promise<string> {
  const relations = await relationsOf(parts, '')
  const main = [...relations.values()].find(({ type }) => type.endsWith('/officeDocument'))
  const path = main?.target.replace(/^\//, '') ?? 'xl/workbook.xml'
  if (!parts.has(path)) throw damaged('it has no workbook inside')
  return path
}

async function relationsOf(parts: ZipParts, path: string): Promise<ReadonlyMap<string, Relation>> {
  const slash = path.lastIndexOf('/') + 1
  const part = `${path.slice(0, slash)}_rels/${path.slice(slash)}.rels`
  const relations = elementsOf(child(await parts.tree(part), 'Relationships'))
  return new Map(
    relations.map(({ attributes: { Id = '', Type = '', Target = '' } }) => {
      return [Id, { type: Type, target: Target }]
    }),
  )
}

function formatsOf(styles: XmlElement | undefined): readonly NumberFormat[] {
  const sheet = child(styles, 'styleSheet')
  const codes = new Map(
    elementsOf(child(sheet, 'numFmts')).map(({ attributes }) => {
      return [Number(attributes.numFmtId), attributes.formatCode ?? '']
    }),
  )
  return elementsOf(child(sheet, 'cellXfs')).map(({ attributes }) => {
    const id = Number(attributes.numFmtId ?? 0)
    return excelFormat(id, codes.get(id))
  })
}

/** Returns texts that cells refer to. Runs of one text are joined, without Japanese readings. */
async function stringsOf(parts: ZipParts, path: string): Promise<readonly string[]> {
  const strings: string[] = []
  let text = ''
  let isText = false
  let isReading = false
  let size = 0
  await parts.parse(path, {
    open: (name) => {
      if (name === 'si') text = ''
      else if (name === 'rPh') isReading = true
      else if (name === 't') isText = !isReading
    },
    text: (piece) => {
      if (isText) text += piece
    },
    close: (name) => {
      if (name === 't') isText = false
      else if (name === 'rPh') isReading = false
      else if (name === 'si') {
        size += text.length
        if (size > STRINGS_CHARS_MAX) throw damaged(`it has more than ${STRINGS_CHARS_MAX} letters`)
        strings.push(unescaped(text))
      }
    },
  })
  return strings
}

/** Excel writes characters that XML cannot contain as `_x000D_`. */
function unescaped(text: string): string {
  if (!text.includes('_x')) return text
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

interface Workbook {
  readonly strings: readonly string[]
  readonly formats: readonly NumberFormat[]
  readonly is1904: boolean
}

async function readSheet(
  parts: ZipParts,
  path: string,
  workbook: Workbook,
  table: SheetTable,
): Promise<void> {
  let row = -1
  let column = -1
  let type = 'n'
  let style = 0
  let value = ''
  let isValue = false
  let isReading = false
  let isFormula = false
  await parts.parse(path, {
    open: (name, attributes) => {
      if (name === 'row') {
        row = attributes.r === undefined ? row + 1 : Number(attributes.r) - 1
        column = -1
        table.startRow(row)
      } else if (name === 'c') {
        const reference = attributes.r
        column = reference === undefined ? column + 1 : sheetColumn(reference)
        type = attributes.t ?? 'n'
        style = Number(attributes.s ?? 0)
        value = ''
        isFormula = false
      } else if (name === 'f') isFormula = true
      else if (name === 'v') isValue = true
      else if (name === 'rPh') isReading = true
      else if (name === 't') isValue = !isReading
      else if (name === 'mergeCell') merge(table, attributes.ref ?? '')
    },
    text: (piece) => {
      if (isValue) value += piece
    },
    close: (name) => {
      if (name === 'v' || name === 't') isValue = false
      else if (name === 'rPh') isReading = false
      else if (name === 'c') {
        // An empty text is a value, which programs write as `str`.
        if (isFormula && value === '' && type !== 'str') table.unsolvedCount += 1
        setCell(table, column, { type, style, value }, workbook)
      } else if (name === 'row') table.endRow()
    },
  })
}

function setCell(
  table: SheetTable,
  column: number,
  { type, style, value }: { type: string; style: number; value: string },
  { strings, formats, is1904 }: Workbook,
): void {
  if (type === 'e') table.errorCount += 1
  else if (value === '') return
  else if (type === 's') table.cell(column, 'text', strings[Number(value)] ?? '')
  else if (type === 'b')
    table.cell(column, 'boolean', value === '1' || value === 'true' ? 'true' : 'false')
  else if (type === 'str' || type === 'inlineStr') table.cell(column, 'text', unescaped(value))
  else if (type === 'd') isoCell(table, column, value)
  else {
    const [kind, text] = numberCell(value, formats[style] ?? 'number', is1904)
    table.cell(column, kind, text)
  }
}

function isoCell(table: SheetTable, column: number, value: string): void {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(value)
  const isMoment = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z?$/.test(value)
  const text = value.replace('T', ' ').replace('Z', '')
  table.cell(column, isDay ? 'date' : isMoment ? 'timestamp' : 'text', text)
}

function numberCell(value: string, format: NumberFormat, is1904: boolean): [CellType, string] {
  const number = Number(value)
  if (!Number.isFinite(number)) return ['text', value]
  if (format === 'number') return ['number', plainNumber(value, number)]
  if (format === 'duration') return ['text', clockText(number)]
  if (format === 'time' && number >= 0 && number < 1) return ['time', clockText(number)]
  const day = calendarText(number, is1904)
  if (day === null) return ['number', plainNumber(value, number)]
  if (format === 'date' && Number.isInteger(number)) return ['date', day.slice(0, 10)]
  return ['timestamp', day]
}

/** Writes whole numbers without a fraction or exponent. */
function plainNumber(value: string, number: number): string {
  return Number.isSafeInteger(number) ? String(number) : value.trim()
}

/** Converts `BC12` to 54. */
function sheetColumn(reference: string): number {
  let column = 0
  for (let index = 0; index < reference.length; index += 1) {
    const code = reference.charCodeAt(index) & ~0x20
    if (code < 65 || code > 90) break
    column = column * 26 + code - 64
  }
  return column - 1
}

function merge(table: SheetTable, reference: string): void {
  const found = /^\$?([A-Z]+)\$?(\d+):\$?([A-Z]+)\$?(\d+)$/i.exec(reference)
  if (found === null) return
  const [, from = '', top = '', to = '', bottom = ''] = found
  table.merge({
    firstRow: Number(top) - 1,
    lastRow: Number(bottom) - 1,
    firstColumn: sheetColumn(from),
    lastColumn: sheetColumn(to),
  })
}

/** What a cell's number means. */
type NumberFormat = 'number' | 'date' | 'timestamp' | 'time' | 'duration'

/** By the number of a built-in format, or the code of one of the workbook's own. */
export function excelFormat(id: number, code: string | undefined): NumberFormat {
  if (code !== undefined) return formatOfCode(code)
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id === 36 || (id >= 50 && id <= 58)) {
    return 'date'
  }
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || id === 45 || id === 47) return 'time'
  if (id === 22) return 'timestamp'
  return id === 46 ? 'duration' : 'number'
}

function formatOfCode(code: string): NumberFormat {
  // The first of up to four sections, without texts, colours and conditions.
  const [section = ''] = code.split(';')
  if (/\[(h+|m+|s+)\]/i.test(section)) return 'duration'
  const plain = section.replace(/"[^"]*"|\\.|_.|\*.|\[[^\]]*\]/g, '')
  const hasDay = /[dy年月日]/i.test(plain) || /mmm/i.test(plain)
  const hasClock = /[hs]/i.test(plain)
  if (/general|standard/i.test(plain)) return 'number'
  if (/^\s*m+\s*$/i.test(plain)) return 'date'
  if (hasDay) return hasClock ? 'timestamp' : 'date'
  if (hasClock) return 'time'
  return 'number'
}

const LAST_DAY = 2_958_466

/** For example `2026-01-31 12:00:00`; null before 1900 or after 9999. Excel has 1900-02-29. */
export function calendarText(serial: number, is1904: boolean): string | null {
  if (serial < 0 || serial >= LAST_DAY - (is1904 ? 1462 : 0)) return null
  const start = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, serial < 60 ? 31 : 30)
  const text = new Date(start + Math.round(serial * DAY_MS)).toISOString()
  return text
    .slice(0, 23)
    .replace('T', ' ')
    .replace(/\.000$/, '')
}

/** Writes one and a half days and a quarter of an hour as `36:15:00`. */
function clockText(days: number): string {
  const total = Math.round(Math.abs(days) * DAY_MS)
  const [hours, minutes, seconds, rest] = [
    Math.floor(total / 3_600_000),
    Math.floor(total / 60_000) % 60,
    Math.floor(total / 1000) % 60,
    total % 1000,
  ]
  const clock = [hours, minutes, seconds].map((part) => String(part).padStart(2, '0')).join(':')
  const fraction = rest === 0 ? '' : `.${String(rest).padStart(3, '0')}`
  return `${days < 0 ? '-' : ''}${clock}${fraction}`
}
