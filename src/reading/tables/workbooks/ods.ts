import { unreadable } from '../../document-format.ts'
import { descendants } from '../../xml-tree.ts'
import type { SheetTable } from './sheet-table.ts'
import type { SheetPart } from './xlsx.ts'
import type { ZipParts } from './zip-parts.ts'

const CONTENT = 'content.xml'
const MANIFEST = 'META-INF/manifest.xml'
/** A cell repeated more often is formatting for the rest of the sheet, not a value. */
const REPEATED_MAX = 1_048_576

type Attributes = Readonly<Record<string, string>>

export async function odsSheets(parts: ZipParts): Promise<readonly SheetPart[]> {
  await refuseLocked(parts)
  const hiddenStyles = new Set<string>()
  const found: { name: string; style: string }[] = []
  let style = ''
  let depth = 0
  await parts.parse(CONTENT, {
    open: (name, attributes) => {
      if (name === 'style') style = attributes['style:name'] ?? ''
      if (name === 'table-properties' && attributes['table:display'] === 'false')
        hiddenStyles.add(style)
      if (name !== 'table') return
      depth += 1
      if (depth === 1) {
        found.push({
          name: attributes['table:name'] ?? '',
          style: attributes['table:style-name'] ?? '',
        })
      }
    },
    text: () => {},
    close: (name) => {
      if (name === 'table') depth -= 1
    },
  })
  return found.map((sheet, index) => ({
    name: sheet.name,
    isHidden: hiddenStyles.has(sheet.style),
    read: (table) => parts.parse(CONTENT, new OdsSheet(index, table)),
  }))
}

/** Refuses password-protected parts, which would look empty. */
async function refuseLocked(parts: ZipParts): Promise<void> {
  const [locked] = descendants(await parts.tree(MANIFEST), 'encryption-data')
  if (locked !== undefined) {
    throw unreadable('The file is locked by a password; save it without one')
  }
}

interface OdsCell {
  readonly column: number
  readonly type: 'number' | 'boolean' | 'date' | 'timestamp' | 'time' | 'text'
  readonly text: string
}

class OdsSheet {
  readonly #wanted: number
  readonly #table: SheetTable
  #index = -1
  #depth = 0
  #row = 0
  #rowRepeat = 1
  #column = 0
  #cellRepeat = 1
  #attributes: Attributes = {}
  #isCell = false
  #skipped = 0
  #paragraphs = 0
  #isParagraph = false
  #text = ''
  #cells: OdsCell[] = []

  constructor(wanted: number, table: SheetTable) {
    this.#wanted = wanted
    this.#table = table
  }

  isDone(): boolean {
    return this.#index > this.#wanted
  }

  open(name: string, attributes: Attributes): void {
    if (name === 'table') {
      this.#depth += 1
      if (this.#depth === 1) this.#index += 1
      return
    }
    if (this.#index !== this.#wanted || this.#depth !== 1) return
    if (name === 'table-row') {
      this.#rowRepeat = repeated(attributes['table:number-rows-repeated'])
      this.#column = 0
      this.#cells = []
    } else if (name === 'table-cell' || name === 'covered-table-cell') {
      this.#cellRepeat = repeated(attributes['table:number-columns-repeated'])
      this.#attributes = attributes
      this.#isCell = true
      this.#text = ''
      this.#paragraphs = 0
    } else if (!this.#isCell) return
    else if (name === 'annotation' || name === 'shapes') this.#skipped += 1
    else if (this.#skipped > 0) return
    else if (name === 'p') {
      if (this.#paragraphs > 0) this.#text += '\n'
      this.#paragraphs += 1
      this.#isParagraph = true
    } else if (name === 's')
      this.#text += ' '.repeat(Math.min(repeated(attributes['text:c']), 1000))
    else if (name === 'tab') this.#text += '\t'
    else if (name === 'line-break') this.#text += '\n'
  }

  text(piece: string): void {
    // White space between paragraphs only formats the XML.
    if (this.#isCell && this.#skipped === 0 && this.#isParagraph) this.#text += piece
  }

  close(name: string): void {
    if (name === 'table') this.#depth -= 1
    if (this.#index !== this.#wanted || this.#depth !== 1) return
    if (name === 'p' && this.#skipped === 0) this.#isParagraph = false
    if (name === 'annotation' || name === 'shapes') this.#skipped -= 1
    if (name === 'table-cell' || name === 'covered-table-cell') this.#endCell()
    if (name === 'table-row') this.#endRow()
  }

  #endCell(): void {
    this.#isCell = false
    const attributes = this.#attributes
    const [type, text] = cellValue(attributes, this.#text)
    const isError = attributes['calcext:value-type'] === 'error'
    if (isError || /^(#(N\/A|REF!|VALUE!|DIV\/0!|NAME\?|NUM!|NULL!)|Err:\d+)$/.test(text))
      this.#table.errorCount += 1
    else if (text !== '') {
      // Formats are repeated to the end of the sheet, but values only as often as they occur.
      for (let index = 0; index < this.#cellRepeat; index += 1) {
        this.#cells.push({ column: this.#column + index, type, text })
        if (this.#cells.length > 20_000) break
      }
    }
    const columns = Number(attributes['table:number-columns-spanned'] ?? 1)
    const rows = Number(attributes['table:number-rows-spanned'] ?? 1)
    if (columns > 1 || rows > 1) {
      this.#table.merge({
        firstRow: this.#row,
        lastRow: this.#row + rows - 1,
        firstColumn: this.#column,
        lastColumn: this.#column + columns - 1,
      })
    }
    this.#column += this.#cellRepeat
  }

  #endRow(): void {
    if (this.#cells.length > 0) {
      for (let index = 0; index < this.#rowRepeat; index += 1) {
        this.#table.startRow(this.#row + index)
        for (const { column, type, text } of this.#cells) this.#table.cell(column, type, text)
        this.#table.endRow()
      }
    }
    this.#row += this.#rowRepeat
  }
}

function repeated(count: string | undefined): number {
  const number = Number(count ?? 1)
  return Number.isInteger(number) && number > 0 ? Math.min(number, REPEATED_MAX) : 1
}

function cellValue(attributes: Attributes, shown: string): [OdsCell['type'], string] {
  const value = attributes['office:value'] ?? ''
  switch (attributes['office:value-type']) {
    case 'float':
    case 'percentage':
    case 'currency': {
      const number = Number(value)
      if (value === '' || !Number.isFinite(number)) return ['text', shown]
      return ['number', Number.isSafeInteger(number) ? String(number) : value]
    }
    case 'boolean':
      return ['boolean', attributes['office:boolean-value'] === 'true' ? 'true' : 'false']
    case 'date': {
      const date = attributes['office:date-value'] ?? ''
      if (/^\d{4}-\d{2}-\d{2}$/.test(date)) return ['date', date]
      const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?$/.test(date)
      return isMoment ? ['timestamp', date.replace('T', ' ')] : ['text', shown]
    }
    case 'time':
      return timeOf(attributes['office:time-value'] ?? '', shown)
    default:
      return ['text', attributes['office:string-value'] ?? shown]
  }
}

/** Converts `PT12H30M00S`. */
function timeOf(value: string, shown: string): [OdsCell['type'], string] {
  const found = /^PT(\d+)H(\d+)M(\d+)([.,]\d+)?S$/.exec(value)
  if (found === null) return ['text', shown]
  const [, hours = '', minutes = '', seconds = '', fraction = ''] = found
  const rest = /[1-9]/.test(fraction) ? fraction.replace(',', '.') : ''
  const text = `${hours.padStart(2, '0')}:${minutes.padStart(2, '0')}:${seconds.padStart(2, '0')}${rest}`
  return [Number(hours) < 24 ? 'time' : 'text', text]
}
