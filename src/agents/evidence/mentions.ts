/** Where an answer names chunks, and the statement before each name. */

/** One chunk that an answer names. */
export interface Mention {
  readonly chunkId: string
  /** The text since the previous mention. */
  readonly statement: string
}

/** The end of every chunk id: `…:1of3:0to950`. */
const ID_END = /(?<!\d)\d+of\d+:\d+to\d+/g

/** Looked at in one answer. */
const ENDINGS_MAX = 2_000
const MENTIONS_MAX = 200

const STATEMENT_CHARS_MAX = 3_000
/** White space, brackets and a label before an id. */
const BEFORE_CHARS = 40

/** Brackets of every kind, quotation marks, and separators between ids. */
const OPENED = /[[(（【〔［{<‹«"'`“„,;|/^]$/u
/** `chunk_id: …`, `source=…`, in brackets or not. */
const LABELLED =
  /(?:chunk[ _-]?ids?|chunks?|ids?|sources?|quellen?|refs?|references?|citations?|see)["'`]?\s*[:=：]$/iu
const AND = /(?:\]|\)|】|to\d+)\s*(?:and|und|et|y|&)$/iu
const CLOSED = /^\s{0,3}[\])）】〕］}>›»"'`”“,;|/\\†]/u
const ENDED = /^(?:\s|$|[.,;])/u

/** @param seen chunks that the model was shown: only these can be mentioned */
export function mentionsIn(answer: string, seen: ReadonlySet<string>): readonly Mention[] {
  const lengthsByEnd = new Map<string, Set<number>>()
  for (const chunkId of seen) {
    const ending = /\d+of\d+:\d+to\d+$/.exec(chunkId)?.[0] ?? ''
    lengthsByEnd.set(ending, (lengthsByEnd.get(ending) ?? new Set()).add(chunkId.length))
  }
  const places: { chunkId: string; start: number; end: number }[] = []
  let looked = 0
  for (const { 0: ending, index } of answer.matchAll(ID_END)) {
    looked += 1
    if (looked > ENDINGS_MAX || places.length >= MENTIONS_MAX) break
    const end = index + ending.length
    // The longest match: a shorter id may be its end.
    const chunkId = [...(lengthsByEnd.get(ending) ?? [])]
      .map((length) => answer.slice(Math.max(0, end - length), end))
      .filter((id) => seen.has(id) && isNamedAt(answer, end - id.length, end))
      .reduce((longest, id) => (id.length > longest.length ? id : longest), '')
    if (chunkId !== '') places.push({ chunkId, start: end - chunkId.length, end })
  }
  return places.map((place, index) => {
    return { chunkId: place.chunkId, statement: statementBefore(index, places, answer) }
  })
}

function isNamedAt(answer: string, start: number, end: number): boolean {
  const before = answer.slice(Math.max(0, start - BEFORE_CHARS), start).trimEnd()
  const after = answer.slice(end, end + 4)
  if (LABELLED.test(before)) return CLOSED.test(after) || ENDED.test(after)
  if (AND.test(before)) return CLOSED.test(after) || ENDED.test(after)
  return OPENED.test(before) && CLOSED.test(after)
}

/**
 * Consecutive mentions belong to the same statement; a mention at the start of a sentence belongs to the text after it.
 */
function statementBefore(
  index: number,
  places: readonly { readonly start: number; readonly end: number }[],
  answer: string,
): string {
  const place = places[index] ?? { start: 0, end: 0 }
  let from = places[index - 1]?.end ?? 0
  for (let earlier = index - 1; earlier >= 0; earlier -= 1) {
    const next = places[earlier + 1]?.start ?? 0
    if (hasWords(answer.slice(from, next), 1)) break
    from = places[earlier - 1]?.end ?? 0
  }
  const before = answer.slice(Math.max(from, place.start - STATEMENT_CHARS_MAX), place.start)
  if (hasWords(before, 3)) return before
  const until = places[index + 1]?.start ?? answer.length
  const after = answer.slice(place.end, Math.min(until, place.end + STATEMENT_CHARS_MAX))
  return `${before} ${after.split(/\n\s*\n/)[0] ?? ''}`
}

function hasWords(text: string, count: number): boolean {
  const words = text.match(
    /\p{L}[\p{L}\p{M}]+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Thai}]/gu,
  )
  const spoken = (words ?? []).filter(
    (word) => !/^(?:chunk|id|ids|and|und|source|sources)$/i.test(word),
  )
  return spoken.length >= count
}
