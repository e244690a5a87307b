import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { joinedParts, type ReadingNotes, unreadable, wholeDocument } from '../document-format.ts'
import { decodeText } from '../text-encoding.ts'
import { cleanMarkdown } from './markdown.ts'
import { fence } from './office/markdown-blocks.ts'

/** Longer output of a cell is data rather than text. */
const OUTPUT_CHARS_MAX = 2000
const CELLS_MAX = 20_000

/** Texts unchanged, code and output in fences, without pictures. */
export function* readNotebook(
  { bytes, charset }: RawDocument,
  notes: ReadingNotes,
): Generator<ReadDocument> {
  const notebook = parsed(decodeText(bytes, charset))
  const cells = cellsOf(notebook)
  if (cells.length > CELLS_MAX) {
    const limit = `A notebook has at most ${CELLS_MAX} cells`
    throw unreadable(`${limit}, found ${cells.length}`)
  }
  const language = languageOf(notebook)
  let shortened = 0
  const shorten = (output: string) => {
    if (output.length <= OUTPUT_CHARS_MAX) return output
    shortened += 1
    return `${output.slice(0, OUTPUT_CHARS_MAX)}…`
  }
  const { content, starts } = joinedParts(
    cells.map((cell) => markdownOfCell(cell, language, shorten)),
  )
  if (shortened > 0) {
    const kept = `the first ${OUTPUT_CHARS_MAX} characters of each are kept`
    notes.warn(`${shortened} outputs of the notebook are long: ${kept}`)
  }
  notes.recognize({ pages: cells.length, ...(language === '' ? {} : { language }) })
  yield wholeDocument({
    content,
    title: textIn(notebook, 'metadata', 'title') || firstHeading(cells),
    syntax: 'markdown',
    parts: { unit: 'cell', starts },
    columns: language === '' ? {} : { language },
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw unreadable(`The notebook is not valid JSON: ${reason}`, cause)
  }
}

function valueIn(value: unknown, ...path: readonly string[]): unknown {
  let at = value
  for (const key of path) {
    at = typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined
  }
  return at
}

/** Texts are stored as one string or as a list of lines. */
function textIn(value: unknown, ...path: readonly string[]): string {
  const found = valueIn(value, ...path)
  if (typeof found === 'string') return found.replaceAll('\r\n', '\n')
  if (!Array.isArray(found)) return ''
  return found
    .filter((line) => typeof line === 'string')
    .join('')
    .replaceAll('\r\n', '\n')
}

function listIn(value: unknown, key: string): readonly unknown[] {
  const found = valueIn(value, key)
  return Array.isArray(found) ? found : []
}

function firstHeading(cells: readonly unknown[]): string | null {
  for (const cell of cells) {
    const source = textIn(cell, 'source')
    const isText = textIn(cell, 'cell_type') === 'markdown' && /^[ ]{0,3}(#|=|-)/m.test(source)
    const heading = isText ? cleanMarkdown(source).firstHeading : null
    if (heading !== null) return heading
  }
  return null
}

/** Before version 4 of the format, which is from 2014, cells were inside worksheets. */
function cellsOf(notebook: unknown): readonly unknown[] {
  if (Array.isArray(valueIn(notebook, 'cells'))) return listIn(notebook, 'cells')
  throw unreadable('The notebook has no cells; if it is very old, save it with a current Jupyter')
}

function languageOf(notebook: unknown): string {
  const named =
    textIn(notebook, 'metadata', 'language_info', 'name') ||
    textIn(notebook, 'metadata', 'kernelspec', 'language') ||
    /^[a-z]+/.exec(textIn(notebook, 'metadata', 'kernelspec', 'name'))?.[0] ||
    ''
  return /^[\w+#.-]{1,40}$/.test(named) ? named.toLowerCase() : ''
}

function markdownOfCell(
  cell: unknown,
  language: string,
  shorten: (output: string) => string,
): string {
  const type = textIn(cell, 'cell_type')
  const source = textIn(cell, 'source')
  if (type !== 'code') return type === 'raw' ? source.trim() : cleanMarkdown(source).content
  const outputs = listIn(cell, 'outputs').map((output) => fence(shorten(outputText(output)), ''))
  return [fence(source, language), ...outputs].filter((part) => part !== '').join('\n\n')
}

/** Escape sequences for colours and cursor movements. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with the control character ESC
const TERMINAL_CODES = /\u001b\[[\d;?]*[A-Za-z]/g

function outputText(output: unknown): string {
  const type = textIn(output, 'output_type')
  const error = `${textIn(output, 'ename')}: ${textIn(output, 'evalue')}`
  const text =
    type === 'error' ? error : textIn(output, 'text') || textIn(output, 'data', 'text/plain')
  // Placeholders for pictures and widgets are not text.
  const isStandIn = /^\s*\[?<[\w.]+[^\n]*>\]?\s*$/.test(text) || /^\s*(Figure|Image)\b/.test(text)
  return isStandIn ? '' : text.replace(TERMINAL_CODES, '').trim()
}
