import type TurndownService from 'turndown'

/** Cells that one `colspan` may stand for. */
const SPAN_MAX = 100

const BLOCKS = 'table, pre, ul, ol, blockquote, h1, h2, h3, h4, h5, h6'

/**
 * Tables as GitHub's Markdown writes them; a table that only lays out a page becomes its text. Our own because the
 * plugin's takes the third power of the number of rows (1.0.68: 3 000 rows in 27 s).
 */
export function markdownTables(turndown: TurndownService): void {
  const known = new WeakMap<Element, boolean>()
  const isData = (element: Element): boolean => {
    const table = tableOf(element)
    if (table === null) return false
    const answer = known.get(table) ?? holdsData(table)
    known.set(table, answer)
    return answer
  }
  turndown.addRule('tableCell', {
    filter: ['th', 'td'],
    replacement: (content, node) => {
      if (!isElement(node) || !isData(node)) return `\n\n${content}\n\n`
      const text = content
        .trim()
        .replace(/\s*\n\s*/g, ' ')
        .replaceAll('|', '\\|')
      return `| ${text} ${'|  '.repeat(spanOf(node) - 1)}`
    },
  })
  turndown.addRule('tableRow', {
    filter: 'tr',
    replacement: (content, node) => {
      if (!isElement(node) || !isData(node)) return content
      const line = `${content.trimEnd()} |\n`
      return isFirstRow(node) ? `${line}${'| --- '.repeat(columnCount(node))}|\n` : line
    },
  })
  turndown.addRule('tableSection', {
    filter: ['thead', 'tbody', 'tfoot'],
    replacement: (content) => content,
  })
  turndown.addRule('tableCaption', {
    filter: 'caption',
    replacement: (content) => `${content.trim()}\n\n`,
  })
  turndown.addRule('table', {
    filter: 'table',
    replacement: (content) => `\n\n${content.trim()}\n\n`,
  })
}

function isElement(node: unknown): node is Element {
  return typeof node === 'object' && node !== null && 'getAttribute' in node
}

/** turndown's own DOM has no `closest`. */
function tableOf(element: Element): Element | null {
  let at: Element | null = element
  while (at !== null && at.nodeName !== 'TABLE') at = at.parentElement
  return at
}

/** More than one column, and nothing in it that a line cannot hold. Found nothing: turndown's DOM says undefined. */
function holdsData(table: Element): boolean {
  const hasBlocks = Boolean(table.querySelector(BLOCKS))
  return !hasBlocks && Boolean(table.querySelector('tr > * + *'))
}

function isFirstRow(row: Element): boolean {
  if (row.previousElementSibling?.nodeName === 'TR') return false
  const section = row.parentElement
  if (section === null || section.nodeName === 'TABLE') return true
  return !/^(THEAD|TBODY|TFOOT)$/.test(section.previousElementSibling?.nodeName ?? '')
}

function columnCount(row: Element): number {
  let count = 0
  for (let cell = row.firstElementChild; cell !== null; cell = cell.nextElementSibling) {
    count += spanOf(cell)
  }
  return count
}

function spanOf(cell: Element): number {
  const span = Number(cell.getAttribute('colspan') ?? 1)
  return Number.isInteger(span) ? Math.min(Math.max(span, 1), SPAN_MAX) : 1
}
