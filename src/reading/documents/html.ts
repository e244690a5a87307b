import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { unreadable, wholeDocument } from '../document-format.ts'
import { pageTree } from '../html/elements.ts'
import { markdownOf } from '../html/html-markdown.ts'
import { removeUnseen, writeFormulas, writeInlineText } from '../html/inline-text.ts'
import { mainContent } from '../html/main-content.ts'
import { factColumns, linksOf, pageFacts, pageTitle } from '../html/page-facts.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { decodeText } from '../text-encoding.ts'

const META_CHARSET_BYTES = 2048

/** Reads the text of a page as Markdown, without the site's navigation. */
export function* readHtml({ bytes, charset, url }: RawDocument): Generator<ReadDocument> {
  if (bytes.byteLength > READING_LIMITS.htmlBytesMax) {
    const limit = `HTML has at most ${READING_LIMITS.htmlBytesMax} bytes`
    throw unreadable(`${limit}, found ${bytes.byteLength}`)
  }
  const document = pageTree(decodeText(bytes, charset ?? declaredCharset(bytes)))
  const facts = {
    title: pageTitle(document),
    columns: factColumns(document),
    links: linksOf(document, url),
    page: pageFacts(document, url),
  }
  writeSeen(document.body)
  const { main, indexLinks } = mainContent(document, facts.title)
  if (indexLinks === null) {
    yield wholeDocument({ ...facts, content: markdownOf(main), syntax: 'markdown' })
    return
  }
  // Leave out the links of an index page, or searches would find it by their names.
  const columns = { ...facts.columns, kind: 'index' }
  yield wholeDocument({
    ...facts,
    columns,
    content: `A list of ${indexLinks} links.`,
    syntax: 'markdown',
  })
}

function declaredCharset(bytes: Uint8Array): string | null {
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, META_CHARSET_BYTES))
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{1,40})/i.exec(begin)?.[1] ?? null
}

export function markdownOfHtml(html: string): string {
  const { body } = pageTree(html)
  writeSeen(body)
  return markdownOf(body)
}

/** Keeps what a browser shows, as plain text if Markdown cannot express it. */
function writeSeen(body: Element): void {
  writeFormulas(body)
  removeUnseen(body)
  writeInlineText(body)
}
