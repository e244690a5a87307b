import { gfm } from '@joplin/turndown-plugin-gfm'
import TurndownService from 'turndown'

/** HTML as Markdown with tables. Give it text: on the nodes of another DOM its tables break (turndown 7.2). */
export function markdownOfHtml(html: string): string {
  const turndown = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
  })
  turndown.use(gfm)
  turndown.remove(['script', 'style', 'noscript'])
  return turndown.turndown(html).trim().toWellFormed()
}
