import { AppError, type ErrorCode } from '../../core/errors.ts'

/** Why a page did not become a document. A crawl counts pages by `reason`. */
export class PageError extends AppError {
  readonly reason: string

  /** @param reason a few words without the address, for example `answered 404` */
  constructor(reason: string, message: string) {
    super('crawl_failed', message)
    this.reason = reason
  }
}

/** Failures of a single page, which do not end the crawl. */
const REASONS: Partial<Record<ErrorCode, string>> = {
  crawl_failed: 'gave an incomplete answer',
  address_refused: 'had an address that is not allowed',
  file_unreadable: 'could not be read',
}

export function isOfPage(error: unknown): error is AppError {
  return error instanceof AppError && REASONS[error.code] !== undefined
}

/** The reader of an answer does not know its address. */
export function ofAddress(error: unknown, url: string): unknown {
  if (!(error instanceof AppError) || error.code !== 'file_unreadable') return error
  return new AppError('file_unreadable', `${url}: ${error.message}`, { cause: error })
}

interface LeftOut {
  count: number
  readonly shown: string[]
}

const SHOWN_PER_REASON = 3
const REASONS_MAX = 12
const NOTES_MAX = 10
const ADDRESS_CHARS_MAX = 300

export class LeftOutPages {
  /** Whether the crawl ended at its limit before it had asked for all addresses. */
  isCut = false
  readonly #pages = new Map<string, LeftOut>()
  readonly #links = new Map<string, LeftOut>()
  readonly #notes: string[] = []
  #moreNotes = 0

  /** @param shown the address, or a message that contains it */
  addPage(reason: string, shown: string): void {
    count(this.#pages, reason, shown)
  }

  addFailure(error: AppError, address: string): void {
    if (error instanceof PageError) this.addPage(error.reason, address)
    else this.addPage(REASONS[error.code] ?? error.code, error.message)
  }

  addLink(reason: string, address: string): void {
    count(this.#links, reason, address)
  }

  /** Adds a sentence about the stored pages or the crawl. */
  note(sentence: string): void {
    if (this.#notes.length < NOTES_MAX) this.#notes.push(cut(sentence))
    else this.#moreNotes += 1
  }

  warnings(): readonly string[] {
    const more = this.#moreNotes === 0 ? [] : [`${this.#moreNotes} further remarks about pages`]
    return [
      ...countedPages(this.#pages, 'page was not stored', 'pages were not stored'),
      ...countedPages(this.#links, 'link was not followed', 'links were not followed'),
      ...this.#notes,
      ...more,
    ]
  }
}

function count(groups: Map<string, LeftOut>, reason: string, shown: string): void {
  const known = groups.has(reason) || groups.size < REASONS_MAX ? reason : 'other reasons'
  const group = groups.get(known) ?? { count: 0, shown: [] }
  groups.set(known, group)
  group.count += 1
  if (group.shown.length < SHOWN_PER_REASON) group.shown.push(cut(shown))
}

function countedPages(
  groups: ReadonlyMap<string, LeftOut>,
  one: string,
  many: string,
): readonly string[] {
  const sum = [...groups.values()].reduce((total, group) => total + group.count, 0)
  if (sum === 0) return []
  const reasons = [...groups]
    .toSorted(([one, left], [other, right]) => right.count - left.count || (one < other ? -1 : 1))
    .map(([reason, group]) => {
      const rest = group.count > group.shown.length ? ', …' : ''
      return `${group.count} ${reason} (${group.shown.join(', ')}${rest})`
    })
  return [`${sum} ${sum === 1 ? one : many}: ${reasons.join('; ')}`]
}

function cut(text: string): string {
  const chars = Array.from(text.slice(0, 2 * ADDRESS_CHARS_MAX))
  return chars.length > ADDRESS_CHARS_MAX ? `${chars.slice(0, ADDRESS_CHARS_MAX).join('')}…` : text
}
