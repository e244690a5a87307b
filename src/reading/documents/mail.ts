import type { Address, Attachment, Email } from 'postal-mime'
import PostalMime from 'postal-mime'
import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { oneLine } from '../../core/short-text.ts'
import { type ReadingNotes, unreadable } from '../document-format.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { decodeText } from '../text-encoding.ts'
import { markdownOfHtml } from './html.ts'

export async function* readEml(
  { bytes }: RawDocument,
  notes: ReadingNotes,
): AsyncGenerator<ReadDocument> {
  const email = await parsedMail(bytes)
  if (email.headers.length === 0) {
    throw unreadable('The file is not an email: it does not start with a header')
  }
  const message = readMessage(email)
  notes.recognize({ messages: 1 })
  warnOfAttachments(email.attachments.filter(isAttached).length, notes)
  yield { ...message, id: null }
}

export async function* readMbox(
  { bytes }: RawDocument,
  notes: ReadingNotes,
): AsyncGenerator<ReadDocument> {
  const known = new Set<string>()
  let count = 0
  let attached = 0
  let empty = 0
  for (const part of messagesIn(bytes)) {
    count += 1
    const email = await parsedMail(part)
    attached += email.attachments.filter(isAttached).length
    const message = readMessage(email)
    if (message.content.trim() === '') {
      empty += 1
      continue
    }
    const id = message.id === null || known.has(message.id) ? `${count}` : message.id
    known.add(id)
    yield { ...message, id }
  }
  notes.recognize({ messages: count })
  if (empty > 0) notes.warn(`${empty} of ${count} messages hold no text and are left out`)
  warnOfAttachments(attached, notes)
}

function warnOfAttachments(count: number, notes: ReadingNotes): void {
  if (count === 1) notes.warn('1 attachment is not read; its name is in `attachments`')
  if (count > 1) notes.warn(`${count} attachments are not read; their names are in \`attachments\``)
}

async function parsedMail(bytes: Uint8Array): Promise<Email> {
  try {
    return await PostalMime.parse(bytes, {
      maxNestingDepth: READING_LIMITS.mailDepthMax,
      maxHeadersSize: READING_LIMITS.mailHeaderBytesMax,
    })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw unreadable(`The mail could not be read: ${reason}`, cause)
  }
}

function readMessage(email: Email): ReadDocument {
  const { content, syntax } = bodyOf(email)
  const attached = email.attachments.filter(isAttached)
  const columns: Record<string, string | string[]> = {}
  const set = (name: string, value: string | undefined) => {
    if (value !== undefined && value !== '') columns[name] = value
  }
  set('from', addresses(email.from === undefined ? [] : [email.from]))
  set('to', addresses(email.to))
  set('cc', addresses(email.cc))
  set('date', email.date)
  set('message_id', bareId(email.messageId))
  set('in_reply_to', bareId(email.inReplyTo))
  if (attached.length > 0) {
    columns.attachments = attached.map((one) => one.filename ?? one.mimeType)
  }
  return {
    id: bareId(email.messageId) || null,
    title: oneLine(email.subject ?? '') || null,
    content,
    syntax,
    parts: null,
    columns,
    links: [],
  }
}

/** Turns `<a@b.test>` into `a@b.test`. */
function bareId(id: string | undefined): string {
  return (id ?? '').trim().replace(/^<|>$/g, '').slice(0, 500)
}

function addresses(list: readonly Address[] | undefined): string {
  return (list ?? [])
    .flatMap((one) => one.group ?? [one])
    .map((one) => (one.name ? `${one.name} <${one.address}>` : (one.address ?? '')))
    .join(', ')
}

/** If the text part is shorter than this share of the HTML part, it may only point to the HTML. */
const TEXT_PART_MIN = 0.2

function bodyOf(email: Email): Pick<ReadDocument, 'content' | 'syntax'> {
  const texts = email.attachments.filter(isTextPart).map(({ content }) => {
    return typeof content === 'string' ? content : decodeText(new Uint8Array(content), null)
  })
  const text = plainText([email.text ?? '', ...texts].join('\n\n'))
  if (email.html === undefined || email.html.trim() === '') return { content: text, syntax: 'text' }
  const isWhole = text.trim() !== '' && text.length > 2000
  if (isWhole) return { content: text, syntax: 'text' }
  const markdown = markdownOfHtml(email.html)
  if (text.trim() !== '' && text.length >= markdown.length * TEXT_PART_MIN) {
    return { content: text, syntax: 'text' }
  }
  return { content: markdown, syntax: 'markdown' }
}

function plainText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
    .replace(/[ \t]+$/gm, '')
    .trim()
    .toWellFormed()
}

/**
 * Whether it is text without a file name: of type `text`, or an unknown type such as `text/x-note`.
 */
function isTextPart({ filename, mimeType, disposition }: Attachment): boolean {
  return !filename && disposition !== 'attachment' && /^text(\/x-[\w.+-]+)?$/i.test(mimeType)
}

/** Inline pictures and signatures do not count as attachments. */
function isAttached(attachment: Attachment): boolean {
  if (isTextPart(attachment)) return false
  const isPicture = attachment.related === true && attachment.mimeType.startsWith('image/')
  return !isPicture && !/^application\/(pgp|pkcs7)-(signature|encrypted)$/.test(attachment.mimeType)
}

const NEWLINE = 0x0a
const FROM = new TextEncoder().encode('From ')

/** Yields the messages of a mailbox without separator lines. `>From` becomes `From` again. */
function* messagesIn(bytes: Uint8Array): Generator<Uint8Array> {
  let start = -1
  let at = 0
  while (at < bytes.length) {
    const end = lineEnd(bytes, at)
    if (beginsMessage(bytes, at, end)) {
      if (start !== -1) yield unquoted(bytes.subarray(start, at))
      start = end
    }
    at = end
  }
  if (start !== -1) yield unquoted(bytes.subarray(start))
}

/** Returns the position after the line feed. */
function lineEnd(bytes: Uint8Array, at: number): number {
  const end = bytes.indexOf(NEWLINE, at)
  return end === -1 ? bytes.length : end + 1
}

/** `From somebody@example.org Thu Jan  1 00:00:00 1970`, after an empty line. */
function beginsMessage(bytes: Uint8Array, at: number, end: number): boolean {
  if (!beginsWith(bytes, at, FROM) || !isAfterBlank(bytes, at)) return false
  const line = latin1(bytes.subarray(at, Math.min(end, at + 300)))
  if (!/^From .*\d/.test(line)) return false
  const next = latin1(bytes.subarray(end, Math.min(lineEnd(bytes, end), end + 300)))
  return /^(>From |[!-9;-~]+[ \t]*:)/.test(next)
}

function isAfterBlank(bytes: Uint8Array, at: number): boolean {
  if (at === 0) return true
  const before = bytes[at - 2] === 0x0d ? at - 3 : at - 2
  return before < 0 || bytes[before] === NEWLINE
}

function beginsWith(bytes: Uint8Array, at: number, begin: Uint8Array): boolean {
  return begin.every((byte, index) => bytes[at + index] === byte)
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes)
}

/** Removes one `>` before each `From ` at the start of a line. */
function unquoted(message: Uint8Array): Uint8Array {
  const text = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  if (!text.includes('\n>From ') && !text.includes('\n>>From ')) return message
  return Buffer.from(text.toString('latin1').replace(/^>(>*From )/gm, '$1'), 'latin1')
}
