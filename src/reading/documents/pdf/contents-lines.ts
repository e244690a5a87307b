import type { Line } from './page/lines.ts'

/**
 * Lines without those of a table of contents: titles with dots that lead to the number of a page. Late in a book only under
 * such a heading: an index, too, may have dots, and is no repetition.
 */
export function withoutContents(lines: readonly Line[], isLate: boolean): Line[] {
  const dotted = lines.map(({ text, table }) => table === null && LEADERS.test(text))
  if (dotted.filter(Boolean).length < DOTTED_MIN) return [...lines]
  if (isLate && !lines.some(({ text }) => CONTENTS.test(text))) return [...lines]
  const gone = new Set<Line>()
  let [first, last] = [-1, -1]
  for (const [index, line] of lines.entries()) {
    if (dotted[index] !== true) continue
    gone.add(line)
    if (first < 0) first = index
    // Chapters between dotted sections have no dots, but a page's number; long titles take two lines.
    const between = lines.slice(last + 1, index)
    if (last >= 0 && (between.length < UNDOTTED_MAX || between.every(isEntry))) {
      for (const line of between) gone.add(line)
    }
    last = index
  }
  for (let at = first - 1; at >= 0; at -= 1) {
    const line = lines[at]
    if (line === undefined || !(isEntry(line) || CONTENTS.test(line.text))) break
    gone.add(line)
    if (CONTENTS.test(line.text)) break
  }
  for (const line of lines.slice(last + 1)) {
    if (!isEntry(line)) break
    gone.add(line)
  }
  return lines.filter((line) => !gone.has(line))
}

/** A title with its page's number: one without dots. */
function isEntry({ text, table, cells }: Line): boolean {
  return table === null && cells.length >= 2 && text.length < 120 && ENDS_WITH_NUMBER.test(text)
}

const LEADERS =
  /(?:…|[.·‥．](?:\s*[.·‥．]){3,})\s*(?:[\p{N}ivxlc]+(?:[-–.][\p{N}ivxlc]+)*|\p{L})?\s*$/iu
const ENDS_WITH_NUMBER = /\s[\divxlc]+$/i
const CONTENTS =
  /^(table of )?contents$|^inhalt(sverzeichnis)?$|^table des mati[eè]res$|^sommaire$|^[ií]ndice( general)?$|^содержание$|^оглавление$|^目\s*[次录錄]$|^차\s*례$|^목\s*차$|^المحتويات$|^תוכן/iu
const DOTTED_MIN = 3
const UNDOTTED_MAX = 3
