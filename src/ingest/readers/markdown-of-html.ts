import { highlightedCodeBlock, strikethrough, taskListItems } from '@joplin/turndown-plugin-gfm'
import TurndownService from 'turndown'
import { markdownTables } from './markdown-tables.ts'

/** HTML as Markdown with tables. Give it text: on the nodes of another DOM its tables break (turndown 7.2). */
export function markdownOfHtml(html: string): string {
  const turndown = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
  })
  turndown.use([highlightedCodeBlock, strikethrough, taskListItems, markdownTables])
  turndown.remove(['script', 'style', 'noscript'])
  return turndown.turndown(html).trim().toWellFormed()
}
