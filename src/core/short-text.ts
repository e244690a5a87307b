/** Texts as they fit into one line of a message or a title. */

/** White space, line ends included, becomes single spaces. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** @param charsMax code units kept of a longer text, before "…" */
export function shortened(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()}…`
}
