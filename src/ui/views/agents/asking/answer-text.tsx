/** Shows a model's answer as HTML, with numbered marks that link to its sources. */

import { micromark } from 'micromark'
import { gfmTable, gfmTableHtml } from 'micromark-extension-gfm-table'
import { useMemo } from 'preact/hooks'
import type { Citation } from '../../../../core/domain/agents/completion-event.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { tellDone, tellFailed } from '../../../shell/notices.tsx'

export function AnswerText(props: {
  readonly text: string
  readonly citations: readonly Citation[]
}) {
  const { text, citations } = props
  // Sources arrive at the end, but the ids already have the same numbers before.
  const ids = citations.length === 0 ? citedIds(text) : chunkIds(citations)
  const markOf = useMemo(() => {
    return (id: string) => markHtml(id, ids, citations)
  }, [ids.join('\n'), citations])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: it listens for the buttons in it
    <div class="list agents-answer" dir="auto" onClick={copyCode}>
      {partsOf(withoutIds(text, citations)).map((part, index) => (
        <Part key={index} text={part} markOf={markOf} />
      ))}
    </div>
  )
}

/** How answers of the built-in model start. */
const OPENING = /^(This is what I found|I found nothing relevant to this question) in mindsdb\./

/** Nor the default project: the source below shows the title. */
function withoutIds(text: string, citations: readonly Citation[]): string {
  const opened = text.replace(OPENING, '$1 in ')
  return citations.reduce((now, { document_id: id }) => now.replaceAll(`— ${id} [`, '— ['), opened)
}

export function chunkIds(citations: readonly Citation[]): readonly string[] {
  return [...new Set(citations.map(({ chunk_id }) => chunk_id))]
}

interface PartProps {
  readonly text: string
  readonly markOf: (id: string) => string
}

function Part({ text, markOf }: PartProps) {
  const html = useMemo(() => ({ __html: answerHtml(text, markOf) }), [text, markOf])
  // Safe, because answerHtml escapes all tags in the text.
  return <div class="stack" dangerouslySetInnerHTML={html} />
}

async function copyCode({ target }: MouseEvent): Promise<void> {
  const button = target instanceof Element ? target.closest('.agents-code > button') : null
  if (button === null) return
  try {
    await navigator.clipboard.writeText(button.nextElementSibling?.textContent ?? '')
    tellDone('Copied')
  } catch (error) {
    tellFailed(error)
  }
}

function markHtml(id: string, ids: readonly string[], citations: readonly Citation[]): string {
  const index = ids.indexOf(id)
  if (index < 0) return ''
  const citation = citations.find(({ chunk_id }) => chunk_id === id)
  if (citation === undefined) return `<span class="badge accent">${index + 1}</span>`
  const href = escaped(addressOfCitation(citation))
  const title = escaped(`“${citation.text}”`)
  const label = `Source ${index + 1}`
  return `<a class="badge accent" href="${href}" aria-label="${label}" title="${title}">${index + 1}</a>`
}

/** The column is part of the chunk id: `3:content:1of1:0to67`. */
const CHUNK_ID = /:([^:]+):\d+of\d+:\d+to\d+$/

export function addressOfCitation(citation: Citation): string {
  const { knowledge_base, document_id: documentId, chunk_id: chunkId, start, end } = citation
  const [project = '', ...rest] = knowledge_base.split('.')
  const name = rest.join('.')
  if (start === null || end === null) return addressOf.document(project, name, documentId)
  const column = CHUNK_ID.exec(chunkId)?.[1]
  return addressOf.chunk(project, name, { documentId, start, end, column, chunkId })
}

// Converts a model's Markdown to safe HTML: no tags, images or scripts, and only links to web
// addresses. Pure functions.

const MARKDOWN = {
  // Tags are shown as text. An image would tell its server who is reading the answer.
  extensions: [gfmTable(), { disable: { null: ['htmlFlow', 'htmlText', 'labelStartImage'] } }],
  htmlExtensions: [gfmTableHtml()],
}

/** Matches a chunk id in brackets, such as `[sencha:content:1of1:0to67]`. */
const CITED = /\[([^\][\n]{1,300}:\d+of\d+:\d+to\d+)\]/g
/** Private-use characters, which answers never contain. They survive Markdown. */
const MARK = /\ue000(\d+)\ue001/g
const ADDRESS = /https?:\/\/[^\s<>"'`|)\]\ue000]{1,2000}/g
/** Matches deep nesting, because micromark's time grows with the square of the depth. */
const DEEP_QUOTE = /^(?:[ \t]*>){100}/m

/** The ids that an answer cites, in the order of their numbers. */
export function citedIds(text: string): readonly string[] {
  return [...new Set([...text.matchAll(CITED)].map(([, id = '']) => id))]
}

/** @param markOf returns the HTML of the citation mark for an id */
export function answerHtml(text: string, markOf: (id: string) => string): string {
  if (DEEP_QUOTE.test(text)) return `<p>${escaped(text)}</p>`
  const ids: string[] = []
  const marked = text.replace(/[\ue000\ue001]/g, '').replace(CITED, (_, id: string) => {
    return `\ue000${ids.push(id) - 1}\ue001`
  })
  const idOf = (index: string) => ids[Number(index)] ?? ''
  let isCode = false
  let isLink = false
  // micromark escapes `<` and `>` everywhere else, so these are its own tags.
  const parts = micromark(marked, MARKDOWN).split(/(<[^>]*>)/)
  return parts
    .map((part) => {
      if (part.startsWith('<')) {
        if (/^<\/?code/.test(part)) isCode = !part.startsWith('</')
        if (part === '</a>' && !isLink) return ''
        if (/^<\/?a\b/.test(part)) isLink = part.startsWith('<a href="http')
        return tagOf(part)
      }
      if (isCode) return part.replace(MARK, (_, index) => escaped(`[${idOf(index)}]`))
      const linked = isLink ? part : part.replace(ADDRESS, linkOf)
      return linked.replace(MARK, (_, index) => markOf(idOf(index)))
    })
    .join('')
}

const TAGS: readonly (readonly [RegExp, string])[] = [
  // All headings become level 3, below the view's title and the question.
  [/^<(\/?)h[1-6]/, '<$1h3'],
  [
    /^<a href="(https?:[^"]*)".*$/,
    '<a href="$1" target="_blank" rel="noopener noreferrer nofollow">',
  ],
  [/^<a (?!href="https?:).*$/, ''],
  [/^<table>/, '<div class="agents-wide" tabindex="0"><table>'],
  [/^<\/table>/, '</table></div>'],
  [
    /^<pre>/,
    '<div class="agents-code"><button type="button" class="button small">Copy the code</button><pre tabindex="0" dir="ltr">',
  ],
  [/^<\/pre>/, '</pre></div>'],
  [/^<(p|li|th|td|h3)\b/, '<$1 dir="auto"'],
]

function tagOf(tag: string): string {
  return TAGS.reduce((now, [pattern, other]) => now.replace(pattern, other), tag)
}

function linkOf(address: string): string {
  const [href = '', end = ''] = address.split(/((?:[.,;:!?]|&quot;|&gt;)+)$/)
  return `<a href="${href}" target="_blank" rel="noopener noreferrer nofollow">${href}</a>${end}`
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`)
}

/** While the answer grows, only the last part changes. */
export function partsOf(text: string): readonly string[] {
  const parts = ['']
  let fence: string | undefined
  for (const line of text.split(/(?<=\n)/)) {
    const [mark] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? []
    if (mark !== undefined && (fence === undefined || line.startsWith(fence))) {
      fence = fence === undefined ? mark : undefined
    }
    const before = parts.at(-1) ?? ''
    const isNew = fence === undefined && /\n\s*\n$/.test(before) && /^\p{L}/u.test(line)
    if (isNew) parts.push(line)
    else parts[parts.length - 1] = before + line
  }
  return parts
}
