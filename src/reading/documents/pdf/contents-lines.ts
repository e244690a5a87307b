import type { Line } from './lines.ts'

/** Lines without those of a table of contents: titles with dots that lead to the number of a page. */
export function withoutContents(lines: readonly Line[]): Line[] {
  const dotted = lines.map(({ text, table }) => table === null && LEADERS.test(text))
  if (dotted.filter(Boolean).length < DOTTED_MIN) return [...lines]
  const gone = new Set<Line>()
  let [first, last] = [-1, -1]
  for (const [index, line] of lines.entries()) {
    if (dotted[index] !== true) continue
    gone.add(line)
    if (first < 0) first = index
    // Chapters between dotted sections have no dots, but a page's number; long titles take two lines.
    if (last >= 0 && index - last <= UNDOTTED_MAX) {
      for (const between of lines.slice(last + 1, index)) gone.add(between)
    }
    last = index
  }
  for (const line of lines.slice(Math.max(first - UNDOTTED_MAX, 0), first)) {
    if (ENDS_WITH_NUMBER.test(line.text) || CONTENTS.test(line.text)) gone.add(line)
  }
  for (const line of lines.slice(last + 1, last + 1 + UNDOTTED_MAX)) {
    if (!ENDS_WITH_NUMBER.test(line.text)) break
    gone.add(line)
  }
  return lines.filter((line) => !gone.has(line))
}

const LEADERS =
  /(?:…|[.·‥．](?:\s*[.·‥．]){3,})\s*(?:[\p{N}ivxlc]+(?:[-–.][\p{N}ivxlc]+)*|\p{L})?\s*$/iu
const ENDS_WITH_NUMBER = /\s[\divxlc]+$/i
const CONTENTS =
  /^(table of )?contents$|^inhalt(sverzeichnis)?$|^table des mati[eè]res$|^sommaire$|^[ií]ndice( general)?$|^содержание$|^оглавление$|^目\s*[次录錄]$|^차\s*례$|^목\s*차$|^المحتويات$|^תוכן/iu
const DOTTED_MIN = 3
const UNDOTTED_MAX = 3
